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
	for _, w := range m.State.OpenSteps() {
		if w.Crashes >= m.env.Options.QuarantineAfter && !m.State.Quarantined {
			m.addActionRow(RunActionDecision{Action: RunActionQuarantine}, domain.System.Name,
				fmt.Sprintf("kairosd crashed %d times while step %s was active", w.Crashes, m.Program.Nodes[w.Node].ID))
		}
	}
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
		lost := lost // each step has its own failure
		f := &lost
		fill := func(e *domain.Entry) { e.Attempt, e.Effect, e.StartedAt = w.Attempt, string(w.Effect), w.StartedAt }
		switch LostOutcome(w, ev.Stepped[w.Node], isCancelled(m, w)) {
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
}
