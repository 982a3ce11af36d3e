package webtest

import (
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/demo"
	"github.com/kairosd/kairosd/internal/domain"
)

// Demo is a demonstration without processes. Tests set its state.
type Demo struct {
	mu    sync.Mutex
	state demo.State
}

// Set changes the state.
func (d *Demo) Set(s demo.State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state = s
}

// DemoInDoubt returns the state of a demonstration with an in-doubt payment.
func DemoInDoubt() demo.State {
	at := time.Now().Add(-time.Minute)
	return demo.State{Phase: demo.InDoubt, By: "marta", Began: at, Notes: []demo.Note{
		{At: at, Text: domain.Messagef("Process %d is killed with SIGKILL. The answer of the ledger is lost.", 4711)},
		{At: at.Add(time.Second), Text: domain.Verbatim(Hostile)},
	}, Payments: []demo.Payment{{Receipt: "r-1", Amount: 240, Key: "k1", Calls: 1}}}
}

// State returns the current state.
func (d *Demo) State() demo.State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state
}

// Begin starts a demonstration. Only Set advances it.
func (d *Demo) Begin(by string, idempotent bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state.Active() {
		return domain.Errorf(domain.CodeConflict, "a demonstration is in progress, started by %s", d.state.By)
	}
	d.state = demo.State{Phase: demo.Paying, By: by, Idempotent: idempotent, Began: time.Now()}
	return nil
}

// Answer completes a demonstration in doubt, or stops any other.
func (d *Demo) Answer(a demo.Answer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a != demo.Stop && d.state.Phase != demo.InDoubt {
		return domain.Errorf(domain.CodeConflict, "no payment is in doubt")
	}
	d.state.Phase, d.state.Answer, d.state.Ended = demo.Completed, a, time.Now()
	return nil
}
