package runstate

import (
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
)

// handle settles what was in flight when the daemon crashed.
func (ev *Recover) handle(m *Machine) error {
	m.loaded, m.announced = m.State.Seq, ev.Announced
	ev.settle(m)
	if !m.ended {
		cancelLosers(m) // the daemon crashed before it cancelled them, or the run is a fork
	}
	m.recovered = m.State.Seq
	return nil
}

func (ev *Recover) settle(m *Machine) {
	if m.ended {
		return
	}
	if m.Run.Status != domain.RunRunning {
		ev.settleInFlight(m, *Interrupted("the database was restored to a time at which it was active"), "restore")
		return
	}
	m.runningSince = m.env.Monotonic
	armDeadline(m)
	_ = (&Silence{}).handle(m) // the silent attempt has ended
	if m.State.CleanStop {
		return
	}
	var nodes []StepRef
	for _, w := range m.State.OpenSteps() {
		if !w.Waiting() {
			nodes = append(nodes, StepRef{Node: m.Program.Nodes[w.Node].ID, Visit: w.Visit, Item: w.Item})
		}
	}
	crashes := m.Run.Crashes + 1
	m.Run.Crashes = crashes
	m.addActionRow(RunActionDecision{Action: RunActionCrash, Nodes: nodes}, domain.System.Name, "kairosd crashed")
	m.patch().Crashes = &crashes
	ev.settleInFlight(m, *Interrupted("kairosd crashed while it ran"), "crash")
	quarantineCrashing(m, "kairosd")
	if m.State.Cancelled {
		cancelOpen(m)
	}
}

// settleInFlight settles attempts that no process runs, according to their side-effect class.
func (ev *Recover) settleInFlight(m *Machine, lost domain.Failure, reason string) {
	for _, w := range m.State.OpenSteps() {
		if !w.InFlight() {
			continue
		}
		settleLost(m, w, ev.Stepped[w.Node], lost, reason)
	}
}

// settleLost settles an attempt that no process runs any more.
func settleLost(m *Machine, w *Step, stepped bool, lost domain.Failure, reason string) {
	f := &lost // each step has its own failure
	fill := func(e *domain.Entry) { e.Attempt, e.Effect, e.StartedAt = w.Attempt, string(w.Effect), w.StartedAt }
	switch LostOutcome(w, stepped, isCancelled(m, w)) {
	case OutcomeInDoubt:
		m.attemptContinues(w, domain.NodeInDoubt, f, reason, fill)
		if isCancelled(m, w) {
			m.final(w, domain.NodeCancelled, nil, nil, fill)
		}
	case OutcomeCancelled:
		m.final(w, domain.NodeCancelled, nil, f, fill)
	default:
		m.attemptContinues(w, domain.NodePending, f, reason, fill)
		m.queue.push(w.StepKey)
	}
}

// quarantineCrashing quarantines a run whose steps crash their program repeatedly.
func quarantineCrashing(m *Machine, program string) {
	for _, w := range m.State.OpenSteps() {
		if w.Crashes >= m.env.Options.QuarantineAfter && !m.State.Quarantined {
			m.addActionRow(RunActionDecision{Action: RunActionQuarantine}, domain.System.Name,
				fmt.Sprintf("%s crashed %d times while step %s was active", program, w.Crashes, m.Program.Nodes[w.Node].ID))
		}
	}
}

// handle settles the attempt according to its side-effect class. It counts as a crash.
func (ev *AttemptLost) handle(m *Machine) error {
	m.next.Charges = append(m.next.Charges, ev.Charges...)
	w := m.end(ev.Attempt)
	if w == nil {
		return nil
	}
	lost := Interrupted("its worker was lost while it ran")
	crashes := m.Run.Crashes + 1
	m.Run.Crashes = crashes
	m.addActionRow(RunActionDecision{Action: RunActionCrash,
		Nodes: []StepRef{{Node: m.Program.Nodes[w.Node].ID, Visit: w.Visit, Item: w.Item}}}, domain.System.Name, lost.Message)
	m.patch().Crashes = &crashes
	if w.InFlight() {
		settleLost(m, w, ev.Attempt.Stepped, *lost, "crash")
	} else { // a pure attempt has no row
		m.queue.push(w.StepKey)
	}
	quarantineCrashing(m, "a worker")
	closeForeach(m)
	return nil
}
