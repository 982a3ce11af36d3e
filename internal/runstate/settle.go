package runstate

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// HandledSkip is the value of walk.Decision.Handled for a failure that counts as skipped.
const HandledSkip = "skip"

// Settle decides a new final row, adds the decision to it, and applies it. out is its decoded
// output. now is the time of the warnings that the decision adds to the log of the row.
func (s *State) Settle(e *domain.Entry, k StepKey, out any, now time.Time) (walk.Decision, error) {
	d, err := s.Walk.Settle(walk.Settlement{VisitKey: k.VisitKey, Item: k.Item,
		Status: walk.Status(e.Status), Output: out, Failure: ToPlanner(e.Failure)})
	if err != nil {
		return d, fmt.Errorf("settle %s: %w", e.Node, err)
	}
	nameFork(&d, walk.RunOf(s.Walk), e)
	if e.Log, err = withWarnings(e.Log, &d, now); err != nil {
		return d, fmt.Errorf("log of %s: %w", e.Node, err)
	}
	if !zeroDecision(&d) {
		if e.Decision, err = json.Marshal(d); err != nil {
			return d, fmt.Errorf("encode decision of %s: %w", e.Node, err)
		}
	}
	s.CleanStop = false
	s.Seq = e.Seq
	s.close(e, k, d, out)
	return d, nil
}

// nameFork adds the command that repairs a run in which no edge matched. The fork keeps the result of the
// step, and decides with the newest version of the plan.
func nameFork(d *walk.Decision, run string, e *domain.Entry) {
	if f := d.Failure; f != nil && f.Code == walk.CodeNoEdge {
		f.Suggestion += fmt.Sprintf(", store the plan, and fork the run: kairos fork %s --at %d --version -1 --reuse %s",
			domain.ShortID(run), e.Seq, e.Node)
	}
}

// withWarnings adds warnings about unusable values of conditions to the log of a row.
func withWarnings(log domain.RawJSON, d *walk.Decision, now time.Time) (domain.RawJSON, error) {
	seen := slices.Clone(d.Evaluated)
	for i := range d.Settled {
		if ev := d.Settled[i].Evaluated; ev != nil {
			seen = append(seen, *ev)
		}
	}
	seen = slices.DeleteFunc(seen, func(ev walk.Evaluation) bool { return ev.Problem == "" })
	if len(seen) == 0 {
		return log, nil
	}
	var l domain.AttemptLog
	if len(log) > 0 {
		if err := json.Unmarshal(log, &l); err != nil {
			return log, err
		}
	}
	for _, ev := range seen {
		l.Lines = append(l.Lines, domain.LogLine{At: now, Level: "warn", Message: fmt.Sprintf("condition %s is %s: %s", ev.Condition,
			ev.Result, ev.Explain())})
	}
	return json.Marshal(l)
}

func zeroDecision(d *walk.Decision) bool {
	return d.Edge == 0 && d.To == "" && d.Ended == "" && len(d.Evaluated) == 0 && len(d.Settled) == 0 &&
		d.Handled == "" && d.Visit == "" && d.Failure == nil
}

// close applies the consequences of settling a step, live or replayed.
func (s *State) close(e *domain.Entry, k StepKey, d walk.Decision, out any) {
	w := s.Open[k]
	delete(s.Open, k)
	s.SettledCount++
	noteBegun(s, k.Node, e)
	if w != nil && e.Status != domain.NodeCompleted {
		if s.Carried == nil {
			s.Carried = map[StepKey]Carryover{}
		}
		s.Carried[k] = w.carryover(e) //seed:resume-forgets
		if s.Carried[k].empty() {     // an item that never started, which only a replay opens
			delete(s.Carried, k)
		}
		if e.Status == domain.NodeCancelled && w.Phase == PhaseInDoubt {
			if s.Doubts == nil {
				s.Doubts = map[StepKey]*Doubt{}
			}
			s.Doubts[k] = &Doubt{Attempt: w.Attempt, Since: w.Since, Calls: w.OpenCalls()}
		}
	}
	status, over := e.Status, true
	if d.Handled == HandledSkip {
		status = domain.NodeSkipped
	}
	if k.Item != NoItem {
		if f := s.Foreach[k.VisitKey]; f != nil {
			f.OpenItems--
			if w != nil && w.idle() {
				f.Waiting--
			}
		}
		if over = d.Visit != ""; over && d.Handled != HandledSkip {
			status = domain.NodeStatus(d.Visit)
		}
	}
	if over {
		delete(s.Foreach, k.VisitKey)
		recordVisit(s, k, status, e)
	}
	for _, c := range d.Settled {
		if c.Status == string(walk.Skipped) {
			listSettled(s, Settled{s.Program.Index[c.Node], c.Visit, domain.NodeSkipped})
		}
	}
	s.finishing()
	if s.stopMark == 0 && s.Walk.Stopping() {
		s.stopMark = s.opened
	}
	s.openReady()
	if over {
		s.closeOnly(k.VisitKey)
	}
}

// finishing ends the cancellation or the stop of a run when its finally steps begin. Another cancellation
// stops these.
func (s *State) finishing() {
	if s.Walk.Finishing() && !s.Walk.Stopping() {
		s.Cancelled, s.stopMark = false, 0
	}
}

// StoppedWithRun reports whether a stopping run also stops the step, because the step became ready
// before the run began to stop. Steps with `when: failure` or `when: always` that became ready
// later run as usual, including retries and waits.
func (s *State) StoppedWithRun(w *Step) bool {
	return s.stopMark > 0 && w.Order <= s.stopMark && s.Walk.Stopping()
}

// listSettled appends a settled visit.
func listSettled(s *State, d Settled) {
	s.Settled = append(s.Settled, d)
	extendHistory(s, uint64(d.Node), uint64(d.Visit),
		uint64(d.Status[0])<<8|uint64(d.Status[1])) // "completed" and "cancelled" have the same first letter
}

// recordVisit stores a settled visit for later readers.
func recordVisit(s *State, k StepKey, status domain.NodeStatus, e *domain.Entry) {
	listSettled(s, Settled{k.Node, k.Visit, status})
	if status == domain.NodeCompleted && s.Program.Nodes[k.Node].Agent != "" {
		if s.Completed == nil {
			s.Completed = map[int][2]Completion{}
		}
		s.Completed[k.Node] = [2]Completion{{k.Visit, e.Seq}, s.Completed[k.Node][0]}
	}
	if e.Agent != "" {
		if s.Agents == nil {
			s.Agents = map[int]string{}
		}
		s.Agents[k.Node] = e.Agent
	}
}

// ForgetSettled empties Settled, unless the history is kept.
func (s *State) ForgetSettled() {
	if !s.KeepHistory {
		s.Settled = s.Settled[:0]
	}
}

// ReadDecision decodes a recorded decision. It returns the zero Decision on an error.
func ReadDecision(raw domain.RawJSON) walk.Decision {
	var d walk.Decision
	if len(raw) > 0 && json.Unmarshal(raw, &d) != nil {
		return walk.Decision{}
	}
	return d
}
