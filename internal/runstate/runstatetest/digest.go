// Package runstatetest compares states of runs.
package runstatetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/runstate"
)

// Digest describes everything that determines how a run continues. It leaves out items that began
// without a row, because a fold begins them again.
func Digest(s *runstate.State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "seq %d steps %d flags %v %v %v %v %v history %x begun %v\n", s.Seq, s.SettledCount, s.Paused, s.Cancelled,
		s.Quarantined, s.Held, s.Walk.Stopping(), s.History, slices.Sorted(maps.Keys(s.Begun())))
	var lines []string
	for k, w := range s.Open {
		if k.Item != runstate.NoItem && w.Phase == runstate.PhaseReady && w.FailedAttempts == 0 && w.Failure == nil && w.Resolution == nil {
			if w.Attempt > 0 { // before a reset
				lines = append(lines, fmt.Sprintf("past %v %d %d %d %+v", k, w.Attempt, w.Retries, len(w.Substeps), w.Answers))
			}
			continue
		}
		input, failure := s.Walk.Input(k.VisitKey, k.Item)
		failed := ""
		if w.Failure != nil {
			failed = w.Failure.Code
		}
		lines = append(
			lines,
			fmt.Sprintf("work %v phase %d attempt %d tries %d retries %d crashes %d reason %s due %s ref %s effect %s",
				k, w.Phase, w.Attempt, w.FailedAttempts, w.Retries, w.Crashes, w.Reason, w.Due, w.Ref, w.Effect),
			fmt.Sprintf(
				"failure %s substep %v/%d input %v %v",
				failed,
				slices.Sorted(maps.Keys(w.CallsInFlight)),
				len(w.Substeps),
				input,
				failure,
			),
			fmt.Sprintf("consent %+v grants %+v", w.Consent, w.Answers),
		)
	}
	for k, f := range s.Foreach {
		lines = append(lines, fmt.Sprintf("fan %v waiting %d", k, f.Waiting))
	}
	for k, d := range s.Doubts {
		lines = append(lines, fmt.Sprintf("doubt %v %d %v", k, d.Attempt, d.Resolution))
	}
	for k, p := range s.Carried {
		lines = append(lines, fmt.Sprintf("past %v %d %d %d %+v", k, p.Attempt, p.Retries, len(p.Substeps), p.Answers))
	}
	for i := range s.Program.Nodes {
		status, visits := s.Walk.Status(i)
		out, ok := s.Walk.Output(s.Program.Nodes[i].ID)
		lines = append(lines, fmt.Sprintf("node %s %s %d %v %v", s.Program.Nodes[i].ID, status, visits, out, ok))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, "\n"))
	fmt.Fprintf(&b, "\ncompleted %v\noutcome %+v\n", s.Completed, s.Walk.Outcome())
	return b.String()
}
