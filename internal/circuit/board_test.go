package circuit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

var (
	errDown = errors.New("connection refused by secret-host")
	mail    = circuit.ID{Subject: "tool:http", Part: "mail.example"}
	crm     = circuit.ID{Subject: "tool:crm.find"}
)

// call makes a call with the given outcome, and reports whether it was permitted.
func call(b *circuit.Board, id circuit.ID, v circuit.Verdict) *circuit.Refusal {
	pass, refusal := b.Enter(id, circuit.Settings{})
	if refusal == nil {
		b.Leave(pass, v, errDown)
	}
	return refusal
}

func fail(b *circuit.Board, id circuit.ID, times int) {
	for range times {
		call(b, id, circuit.Unwell)
	}
}

// A circuit opens automatically, reports since when, why, and until when, and closes after a
// successful call. Other circuits stay closed.
func TestBoardReportsEachCircuit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := circuit.NewBoard(func(s []byte) []byte { return []byte(strings.ReplaceAll(string(s), "secret", "••••")) })
		fail(b, mail, 4)
		if got := b.Of("tool:http"); len(got) != 1 || got[0].State != domain.CircuitClosed || got[0].FailuresInRow != 4 {
			t.Errorf("before it opens: %+v", got)
		}
		fail(b, mail, 1)
		opened := time.Now()
		time.Sleep(18 * time.Second)
		r := call(b, mail, circuit.Well)
		if r == nil || r.Wait != 12*time.Second {
			t.Fatalf("while it is open: %+v", r)
		}
		if f := r.Failure("tool_circuit_open", "mail.example (http)"); f.RetryAfter != 12*time.Second || !f.NoEffect || f.Permanent ||
			f.Message != "circuit of mail.example (http) is open after repeated failures; the call was not made. Last error: "+
				"connection refused by ••••-host" {
			t.Errorf("%+v", f)
		}
		c := b.Circuit(mail)
		if c.State != domain.CircuitOpen || !c.Since.Equal(opened) || !c.OpenUntil.Equal(opened.Add(30*time.Second)) ||
			c.FailuresInRow != 5 ||
			c.LastError != "connection refused by ••••-host" ||
			!c.LastErrorAt.Equal(opened) {
			t.Errorf("%+v", c)
		}
		if call(b, circuit.ID{Subject: "tool:http", Part: "other.example"}, circuit.Well) != nil || call(b, crm, circuit.Well) != nil {
			t.Error("other circuits are open too")
		}
		time.Sleep(12 * time.Second)
		call(b, mail, circuit.Unwell) // the trial fails
		if c := b.Circuit(mail); c.State != domain.CircuitOpen || !c.Since.Equal(opened) ||
			!c.OpenUntil.Equal(time.Now().Add(time.Minute)) {
			t.Errorf("after a trial: %+v", c)
		}
		if got := b.Counts(); len(got) != 1 ||
			got[0] != (domain.CircuitCount{Kind: "tool", Name: "http", Open: 1, Opened: 2, RefusedCalls: 1}) {
			t.Errorf("counts: %+v", got)
		}
		time.Sleep(time.Minute)
		if r := call(b, mail, circuit.Well); r != nil {
			t.Fatalf("half open: %+v", r)
		}
		if got := b.Of("tool:http"); len(got) != 0 {
			t.Errorf("closed: %+v", got)
		}
		fail(b, mail, 4)
		call(b, mail, circuit.Silent)
		call(b, mail, circuit.Well)
		fail(b, mail, 4)
		if c := b.Circuit(mail); c.State != domain.CircuitClosed {
			t.Errorf("failures that are not in a row open it: %+v", c)
		}
	})
}

// Hosts come from plans and models: their number is limited, an open circuit is never dropped for
// another, and an unused one is dropped after a day.
func TestBoardIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := circuit.NewBoard(nil)
		fail(b, mail, 5)
		for i := range 2000 {
			fail(b, circuit.ID{Subject: "tool:http", Part: fmt.Sprintf("host-%d.example", i)}, 1)
		}
		got := b.Of("tool:http")
		if len(got) != 256 || got[0].Part != mail.Part {
			t.Errorf("%d circuits are remembered, %s first", len(got), got[0].Part)
		}
		for i := range 2000 {
			fail(b, circuit.ID{Subject: "tool:http", Part: fmt.Sprintf("host-%d.example", i)}, 5)
		}
		if got = b.Of("tool:http"); len(got) != 256 || b.Circuit(mail).State != domain.CircuitOpen {
			t.Errorf("%d circuits are remembered, the first is %s", len(got), b.Circuit(mail).State)
		}
		if r := call(b, circuit.ID{Subject: "tool:http", Part: "one-more.example"}, circuit.Unwell); r != nil {
			t.Error("a call is refused for want of room")
		}
		time.Sleep(25 * time.Hour)
		if got := b.Of("tool:http"); len(got) != 0 {
			t.Errorf("a day later: %d", len(got))
		}
	})
}

// Settings of -1 keep a circuit closed after any number of failures.
func TestADisabledCircuit(t *testing.T) {
	t.Parallel()
	b := circuit.NewBoard(nil)
	off := circuit.Settings{Failures: -1}
	for range 50 {
		pass, refusal := b.Enter(crm, off)
		if refusal != nil {
			t.Fatal("refused")
		}
		b.Leave(pass, circuit.Unwell, errDown)
	}
}

// A restart loses nothing: an open circuit permits one trial, and the number of consecutive
// failures continues.
func TestCircuitsSurviveARestart(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	begin := func() (*circuit.Board, func()) {
		t.Helper()
		b := circuit.NewBoard(nil)
		stop, err := b.Keep(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		return b, stop
	}
	b, stop := begin()
	fail(b, mail, 5)
	fail(b, circuit.ID{Subject: "provider:one"}, 4)
	want := b.Circuit(mail)
	stop()

	b, stop = begin()
	if c := b.Circuit(mail); c.State != domain.CircuitHalfOpen || !c.Since.Equal(want.Since) || c.LastError != want.LastError ||
		c.FailuresInRow != 5 {
		t.Errorf("after a restart: %+v, before %+v", c, want)
	}
	if r := call(b, mail, circuit.Well); r != nil || b.Circuit(mail).State != domain.CircuitClosed {
		t.Errorf("the first call after a restart: %+v", r)
	}
	fail(b, circuit.ID{Subject: "provider:one"}, 1)
	if c := b.Circuit(circuit.ID{Subject: "provider:one"}); c.State != domain.CircuitOpen || c.FailuresInRow != 5 {
		t.Errorf("the fifth failure in a row, the first after a restart: %+v", c)
	}
	stop()
}

// Closing is durable and clears the failures. Calls that had begun before do not undo it, and
// other circuits do not change. A close that is not stored has no effect.
func TestCircuitsAreClosed(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	b := circuit.NewBoard(nil)
	other := circuit.ID{Subject: "tool:http", Part: "other.example"}
	var opened []domain.Circuit
	closing := func(part string) {
		t.Helper()
		if err := b.Close("tool:http", part, func(left []domain.StoredCircuit, was []domain.Circuit) error {
			opened = was
			return s.SetCircuits(t.Context(), left)
		}); err != nil {
			t.Fatal(err)
		}
	}
	stored := func() int {
		t.Helper()
		list, err := s.Circuits(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	closing(mail.Part)
	if len(opened) != 0 {
		t.Errorf("closed already: %+v", opened)
	}
	slow, _ := b.Enter(mail, circuit.Settings{})
	fail(b, mail, 5)
	fail(b, other, 5)
	fail(b, crm, 5)
	broken := errors.New("no disk")
	if err := b.Close("tool:http", "", func([]domain.StoredCircuit, []domain.Circuit) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if b.Circuit(mail).State != domain.CircuitOpen {
		t.Error("it is closed although nothing was stored")
	}
	closing(mail.Part)
	if len(opened) != 1 || opened[0].Part != mail.Part || opened[0].FailuresInRow != 5 || stored() != 2 {
		t.Errorf("closed one: %+v, %d are stored", opened, stored())
	}
	b.Leave(slow, circuit.Unwell, errDown)
	if c := b.Circuit(mail); c.State != domain.CircuitClosed || c.FailuresInRow != 1 {
		t.Errorf("after it was closed: %+v", c)
	}
	if b.Circuit(other).State != domain.CircuitOpen {
		t.Error("the circuit of another host is closed too")
	}
	closing("")
	if len(opened) != 1 || opened[0].Part != other.Part || len(b.Of("tool:http")) != 0 || stored() != 1 {
		t.Errorf("closed all: %+v, %d are stored", opened, stored())
	}
	if b.Circuit(crm).State != domain.CircuitOpen {
		t.Error("the circuit of another tool is closed too")
	}
	closing("")
	if len(opened) != 0 {
		t.Errorf("closed twice: %+v", opened)
	}
}

// A nil board permits every call.
func TestNoBoard(t *testing.T) {
	t.Parallel()
	var b *circuit.Board
	fail(b, mail, 10)
	if call(b, mail, circuit.Well) != nil || b.Circuit(mail).State != domain.CircuitClosed || b.Of("tool:http") != nil ||
		b.Counts() != nil {
		t.Error("it refuses calls, or knows of some")
	}
}
