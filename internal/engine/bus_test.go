package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
)

func TestEventsHaveNoGap(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry().Handle("echo", walk.EffectIdempotent, echo))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	v := e.Save(chainOf(20, "echo"))
	before := e.Begin(v, `{"x": 1}`)
	live, err := e.Subscribe(ctx, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for range 5 {
		ids = append(ids, e.Begin(v, `{"x": 1}`).ID)
	}
	want := map[string]bool{before.ID: true}
	for _, id := range ids {
		want[id] = true
	}
	last, completed := int64(0), map[string]int{}
	for ev := range live {
		if ev.Seq > 0 {
			if ev.Seq != last && ev.Seq != last+1 {
				t.Fatalf("event %d follows %d", ev.Seq, last)
			}
			last = ev.Seq
			if ev.ID != fmt.Sprintf("%s-%d.%d", e.Generation(), ev.Seq, ev.Index) {
				t.Fatalf("id %q of event %d", ev.ID, ev.Seq)
			}
		}
		if ev.Type == "node_completed" {
			completed[ev.Run]++
		}
		if ev.Type == "run_status" && ev.Data["status"] == "completed" {
			delete(want, ev.Run)
			if len(want) == 0 {
				break
			}
		}
	}
	for id, n := range completed {
		if n != 20 {
			t.Errorf("%d node_completed events of run %s, want 20", n, id)
		}
	}
	// Replayed events equal the live events of one run.
	replay, err := e.Subscribe(ctx, 0, ids[0])
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ev := range replay {
		if ev.Run != ids[0] {
			t.Fatalf("an event of run %q", ev.Run)
		}
		if ev.Type == "node_completed" {
			if n++; n == 20 {
				break
			}
		}
	}
}

func TestASlowListenerIsDisconnected(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	slow, err := e.Subscribe(t.Context(), -1, "")
	if err != nil {
		t.Fatal(err)
	}
	run := e.Run(chainOf(3000, "set"), `{"x": 1}`)
	e.Until(run.ID, domain.RunCompleted, "")
	var last domain.Event
	n := 0
	for ev := range slow {
		last = ev
		n++
	}
	if last.Type != "reset" || n >= 3000 {
		t.Errorf("after %d events the last one is %q, want reset", n, last.Type)
	}
}

func TestAnUnknownPositionResets(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	events, err := e.Subscribe(t.Context(), 1_000_000, "")
	if err != nil {
		t.Fatal(err)
	}
	if ev := <-events; ev.Type != "reset" {
		t.Errorf("got %q, want reset", ev.Type)
	}
}

func TestLogsAndProgress(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(
		t,
		enginetest.NewRegistry().Handle("chatty", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
			c.Log("info", "hello")
			c.Progress(1, 2, "half")
			for range 5000 {
				c.Log("debug", "a line that is repeated until the cap is reached, and then some more")
			}
			return engine.Result{}, nil
		}),
	)
	events, err := e.Subscribe(t.Context(), -1, "")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 1)
	go func() {
		for ev := range events {
			if ev.Type == "node_progress" {
				seen <- ev.Run
				return
			}
		}
		seen <- ""
	}()
	run := e.Settle(e.Run(`{nodes: {a: {type: chatty}}}`, "").ID)
	select {
	case got := <-seen:
		if got != run.ID {
			t.Errorf("progress of run %q", got)
		}
	case <-time.After(time.Minute):
		t.Error("no progress event")
	}
	rows, err := e.Store.Journal(t.Context(), run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	log := string(rows[len(rows)-1].Log)
	if len(log) < 1000 || len(log) > 200_000 {
		t.Errorf("the stored log has %d bytes", len(log))
	}
}

func TestSubstepsRunOnce(t *testing.T) {
	t.Parallel()
	calls := map[int]int{}
	fail := true
	h := stepping(func(_ context.Context, c *engine.Call) (engine.Result, error) {
		sum := 0
		for n := 1; n <= 3; n++ {
			if n == 3 && fail {
				panic("the process dies here")
			}
			if _, err := c.Substep(n, "tool", fmt.Sprint("digest", n), walk.EffectIdempotent, func() (any, domain.Usage, error) {
				calls[n]++
				return n, domain.Usage{InputTokens: 1}, nil
			}); err != nil {
				return engine.Result{}, err
			}
			sum += n
		}
		return engine.Result{Output: sum}, nil
	})
	reg := enginetest.NewRegistry()
	reg.Add("agentic", walk.EffectUnsafe, h)
	e := enginetest.Open(t, reg)
	run := e.Settle(e.Run(`{nodes: {a: {type: agentic}}}`, "").ID)
	// The handler is stepped and no substep was in flight, so the panic is a plain failure and not
	// a doubt.
	if run.Status != domain.RunFailed || run.Usage.InputTokens != 2 {
		t.Fatalf("got %s %s usage %+v\n%s", run.Status, run.WaitReason, run.Usage, e.Journal(run.ID))
	}
	fail = false
	if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	if r := e.Until(run.ID, domain.RunCompleted, ""); string(r.Output) != "6" {
		t.Errorf("got %s", r.Output)
	}
}

type stepping engine.HandlerFunc

func (s stepping) Handle(ctx context.Context, c *engine.Call) (engine.Result, error) {
	return s(ctx, c)
}
func (stepping) Stepped() bool { return true }
