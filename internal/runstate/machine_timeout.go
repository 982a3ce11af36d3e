package runstate

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// deadline returns the time at which the timeout of the plan fails the run. It counts from the start,
// or from the last resume after an end, and includes waits. Zero means that there is none: a run that
// has not started, that stops, or whose finally steps run has no deadline.
func deadline(m *Machine) time.Time {
	limit := m.Program.Start.Timeout
	if limit == 0 || m.ended || m.Run.StartedAt.IsZero() || m.State.Cancelled || m.State.Walk.Finishing() {
		return time.Time{}
	}
	begin := m.Run.StartedAt
	if m.State.resumedAt.After(begin) {
		begin = m.State.resumedAt
	}
	return begin.Add(limit)
}

// earlier returns the earlier of two times. Zero means that there is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// timeOut stops the run like a cancellation. It fails when everything has stopped.
func timeOut(m *Machine) {
	m.separate()
	m.addActionRow(RunActionDecision{Action: RunActionTimeout}, domain.System.Name, m.Program.Overdue().Message)
	cancelOpen(m)
}
