package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

const shop = `
id: shop
nodes:
  pay: {wait: {event: "paid.${input.order}", key: eu, timeout: 2d}}
  out: {type: set, input: {amount: "${output.pay.data.amount}", event: "${output.pay.event}"}}
edges: [{from: pay, to: out}]`

// waits returns a run when it waits for a signal.
func waits(e *enginetest.Engine, run string) domain.Run {
	return e.Until(run, domain.RunWaiting, domain.WaitSignal)
}

// storeSignal stores a signal, as an operation does.
func storeSignal(t *testing.T, s *store.Store, x domain.Signal) (domain.Signal, error) {
	t.Helper()
	x.ID, x.Source, x.Actor, x.CreatedAt = domain.NewID(), "api", "ada", time.Now()
	if x.ExpiresAt.IsZero() {
		x.ExpiresAt = x.CreatedAt.Add(time.Hour)
	}
	if x.Data == nil {
		x.Data = domain.RawJSON(`{"amount": 12}`)
	}
	_, _, err := s.Do(store.Operation{Name: "send", Action: "signal.send", By: enginetest.Operator, At: x.CreatedAt},
		func(tx *store.Tx) (string, error) { return x.ID, tx.Incoming().Send(x) })
	return x, err
}

// sendSignal stores a signal and matches it.
func sendSignal(t *testing.T, e *enginetest.Engine, x domain.Signal) domain.Signal {
	t.Helper()
	x, err := storeSignal(t, e.Store, x)
	if err != nil {
		t.Fatal(err)
	}
	e.SignalStored(t.Context(), x.Name, x.Key)
	if x, err = e.Store.Signal(t.Context(), x.ID); err != nil {
		t.Fatal(err)
	}
	return x
}

// A signal ends the wait of the step with its name and key. The row of the step names the signal.
func TestASignalEndsAWait(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	run := waits(e, e.Run(shop, `{"order": 42}`).ID)
	if run.Status != domain.RunWaiting || run.WaitReason != domain.WaitSignal || run.Headline != "pay waits for the signal paid.42" ||
		run.DueAt.IsZero() {
		t.Fatalf("%s %s %q due %s", run.Status, run.WaitReason, run.Headline, run.DueAt)
	}
	for _, other := range []domain.Signal{{Name: "paid.42"}, {Name: "paid.42", Key: "us"}, {Name: "paid.4", Key: "eu"}} {
		if s := sendSignal(t, e, other); s.Status != domain.SignalWaiting {
			t.Errorf("%s %q: %s", other.Name, other.Key, s.Status)
		}
	}
	s := sendSignal(t, e, domain.Signal{Name: "paid.42", Key: "eu"})
	if s.Status != domain.SignalMatched || len(s.Matches) != 1 || s.Matches[0].Run != run.ID || s.Matches[0].Node != "pay" {
		t.Errorf("%s %+v", s.Status, s.Matches)
	}
	r := e.Until(run.ID, domain.RunCompleted, "")
	if string(r.Output) != `{"amount":12,"event":"paid.42"}` {
		t.Errorf("output %s", r.Output)
	}
	rows, err := e.Store.Journal(t.Context(), run.ID, 0)
	if i := slices.IndexFunc(rows, func(x domain.Entry) bool { return x.Final && x.Node == "pay" }); err != nil || i < 0 ||
		rows[i].Ref != s.ID || rows[i].Actor != "ada" {
		t.Errorf("%v %+v", err, rows)
	}
	if _, waits, err := e.Store.Matchable(t.Context(), "paid.42", "eu", 10); err != nil || len(waits) != 0 {
		t.Errorf("waits that are left: %+v %v", waits, err)
	}
}

// An early signal ends the first wait that begins, and no other.
func TestAnEarlySignalIsKept(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	early := sendSignal(t, e, domain.Signal{Name: "paid.1", Key: "eu"})
	v := e.Save(shop)
	first := e.Until(e.Begin(v, `{"order": 1}`).ID, domain.RunCompleted, "")
	waits(e, e.Begin(v, `{"order": 1}`).ID)
	if s, err := e.Store.Signal(t.Context(), early.ID); err != nil || len(s.Matches) != 1 || s.Matches[0].Run != first.ID {
		t.Errorf("%+v %v", s.Matches, err)
	}
}

// A signal for all ends every wait, and each step gets it once.
func TestASignalForAll(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	v := e.Save(`
id: loop
start: a
nodes:
  a: {wait: {event: closed}, max_visits: 3}
  b: {type: noop, max_visits: 3}
edges: [{from: a, to: b}, {from: b, to: a}]`)
	early := sendSignal(t, e, domain.Signal{Name: "closed", All: true, Data: domain.RawJSON(`1`)})
	var ids []string
	for range 3 {
		ids = append(ids, e.Begin(v, "").ID)
	}
	iterations := func(n int64) {
		t.Helper()
		for _, id := range ids {
			if _, err := e.WaitFor(t.Context(), id, func(r domain.Run) bool {
				return r.WaitReason == domain.WaitSignal && r.Steps == 2*n
			}); err != nil {
				t.Fatalf("%v\n%s", err, e.Journal(id))
			}
		}
	}
	iterations(1)
	late := sendSignal(t, e, domain.Signal{Name: "closed", All: true, Data: domain.RawJSON(`2`)})
	iterations(2)
	for _, s := range []domain.Signal{early, late} {
		s, err := e.Store.Signal(t.Context(), s.ID)
		var got []string
		for _, m := range s.Matches {
			got = append(got, m.Run)
		}
		slices.Sort(got)
		slices.Sort(ids)
		if err != nil || !slices.Equal(got, ids) {
			t.Errorf("%s ended waits of %v, want %v (%v)", s.Data, got, ids, err)
		}
	}
}

// A signal and a wait that meet while the engine is stopped are matched at the next start. A wait that
// ended the same way before is not ended again.
func TestSignalsSurviveARestart(t *testing.T) {
	t.Parallel()
	s, reg := storetest.Open(t), enginetest.NewRegistry()
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	v := e.Save(shop)
	waiting := waits(e, e.Begin(v, `{"order": 7}`).ID)
	done := waits(e, e.Begin(v, `{"order": 8}`).ID)
	sendSignal(t, e, domain.Signal{Name: "paid.8", Key: "eu"})
	e.Until(done.ID, domain.RunCompleted, "")
	e.Close()
	for _, name := range []string{"paid.7", "paid.8"} {
		if _, err := storeSignal(t, s, domain.Signal{Name: name, Key: "eu"}); err != nil {
			t.Fatal(err)
		}
	}
	e = enginetest.OpenOn(t, s, reg, engine.Options{})
	if r := e.Until(waiting.ID, domain.RunCompleted, ""); string(r.Output) != `{"amount":12,"event":"paid.7"}` {
		t.Errorf("output %s", r.Output)
	}
	list, err := s.Signals(t.Context(), domain.SignalFilter{Status: domain.SignalWaiting})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != "paid.8" {
		t.Errorf("%+v %v", list.Items, err)
	}
}

// E05: many signals and many waits: each signal ends one wait, and none is lost.
func TestManySignalsAndWaits(t *testing.T) {
	t.Parallel()
	const n = 40
	e := enginetest.Open(t, enginetest.NewRegistry())
	v := e.Save(`{id: many, nodes: {a: {wait: {event: go}}}}`)
	var work sync.WaitGroup
	ids := make([]string, n)
	for i := range n {
		ids[i] = e.Begin(v, "").ID
		work.Go(func() { sendSignal(t, e, domain.Signal{Name: "go", Data: domain.RawJSON(fmt.Sprint(i))}) })
	}
	work.Wait()
	seen := map[string]bool{}
	for _, id := range ids {
		var out struct{ Data json.Number }
		if err := json.Unmarshal(e.Until(id, domain.RunCompleted, "").Output, &out); err != nil || seen[out.Data.String()] {
			t.Errorf("%s came twice, or %v", out.Data, err)
		}
		seen[out.Data.String()] = true
	}
}

// E01: a timeout fails the step, or completes it with on_timeout: continue. A cancelled run waits no more. A
// paused run keeps its wait.
func TestAWaitForASignalEndsOtherwise(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	r := e.Settle(e.Run(`{nodes: {a: {wait: {event: never, timeout: 1ms}}}}`, "").ID)
	if r.Status != domain.RunFailed || r.Error.Code != "timeout" || r.Headline != "a failed: the signal never did not arrive in time" {
		t.Errorf("%s %+v %q", r.Status, r.Error, r.Headline)
	}
	r = e.Settle(e.Run(`{nodes: {a: {wait: {event: never, timeout: 1ms, on_timeout: continue}}}}`, "").ID)
	if string(r.Output) != `{"data":null,"event":"never","key":"","timedOut":true}` {
		t.Errorf("%s %s", r.Status, r.Output)
	}
	r = e.Settle(e.Run(`{nodes: {a: {wait: {event: "${input}"}}}}`, `" x"`).ID)
	if r.Status != domain.RunFailed || r.Error.Code != "invalid_input" {
		t.Errorf("%s %+v", r.Status, r.Error)
	}
	r = waits(e, e.Run(`{nodes: {a: {wait: {event: never}}}}`, "").ID)
	if _, err := e.Do(r.ID, domain.ActionCancel); err != nil {
		t.Fatal(err)
	}
	if s := sendSignal(t, e, domain.Signal{Name: "never"}); s.Status != domain.SignalWaiting {
		t.Errorf("a cancelled run took it: %+v", s.Matches)
	}
}

// E03: early signals are limited in number, and a signal that ends a wait is not early.
func TestTheQuotaOfEarlySignals(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long under the race detector")
	}
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	big := domain.RawJSON(`"` + string(letters(domain.MaxSignalData-100)) + `"`)
	var err error
	stored := 0
	for i := 0; err == nil && i < domain.MaxEarlyBytes/len(big)+2; i++ {
		if _, err = storeSignal(t, e.Store, domain.Signal{Name: "early", Data: big}); err == nil {
			stored++
		}
	}
	if domain.CodeOf(err) != domain.CodeTooMany || stored != domain.MaxEarlyBytes/(len(big)+len("early")) {
		t.Fatalf("%d stored: %v", stored, err)
	}
	run := waits(e, e.Run(`{nodes: {a: {wait: {event: late}}}}`, "").ID)
	if s := sendSignal(t, e, domain.Signal{Name: "late", Data: big}); s.Status != domain.SignalMatched {
		t.Errorf("%s", s.Status)
	}
	e.Until(run.ID, domain.RunCompleted, "")
}

func letters(n int) []byte { return slices.Repeat([]byte("x"), n) }

// A signal that expires is unmatched. It ends no wait, and is deleted later.
func TestAnExpiredSignal(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	s := sendSignal(t, e, domain.Signal{Name: "gone", ExpiresAt: time.Now().Add(-time.Second)})
	if s.Status != domain.SignalUnmatched {
		t.Errorf("%s", s.Status)
	}
	waits(e, e.Run(`{nodes: {a: {wait: {event: gone}}}}`, "").ID)
	if err := e.Store.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list, err := e.Store.Signals(t.Context(), domain.SignalFilter{Status: domain.SignalUnmatched}); err != nil || len(list.Items) != 1 {
		t.Errorf("%+v %v", list.Items, err)
	}
}
