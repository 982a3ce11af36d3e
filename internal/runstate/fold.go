package runstate

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// Facts are the inputs of a fold besides the journal.
type Facts struct {
	Run   string // id
	Slot  string // as ${run.slot} returns it
	Input any
	Held  bool // the run is held since a restore; the journal has no row for that
	// Quarantined reports that the run is quarantined. A damaged journal has no row for that.
	Quarantined bool
	// KeepHistory keeps all settled visits; see State.Settled.
	KeepHistory bool
	// Program returns the version that a replan row leads to. Nil means that no version is
	// available.
	Program func(hash string) (*walk.Program, error)
	// Before, if not nil, is called before Fold applies a row.
	Before func(s *State, e *domain.Entry)
}

// New returns the state of a run without rows.
func New(prog *walk.Program, f Facts) *State {
	s := &State{
		Program: prog, Request: f.Input,
		Walk:    walk.New(prog, walk.Facts{RunID: f.Run, Slot: f.Slot, Input: f.Input}),
		Open:    map[StepKey]*Step{},
		Foreach: map[walk.VisitKey]*Foreach{},
		Held:    f.Held, KeepHistory: f.KeepHistory, begun: make([]bool, len(prog.Nodes)),
	}
	s.finishing()
	s.openReady()
	return s
}

// Fold rebuilds the state of a run from its journal. prog is the version at the beginning of the
// journal. The error has CodeCorrupt and wraps an InvalidRow if a row contradicts the previous
// rows.
func Fold(prog *walk.Program, f Facts, journal []domain.Entry) (*State, error) {
	s := New(prog, f)
	for i := range journal {
		if f.Before != nil {
			f.Before(s, &journal[i])
		}
		if journal[i].Kind == domain.EntryReplan {
			next, _, err := s.FollowReplan(f, &journal[i], journal[:i])
			if err != nil {
				return nil, err
			}
			s = next
			s.ForgetSettled()
			continue
		}
		if err := s.Apply(&journal[i]); err != nil {
			return nil, err
		}
		s.ForgetSettled()
	}
	s.Held = f.Held // the journal has releases, but not the restore after them
	s.Quarantined = s.Quarantined || f.Quarantined
	return s, nil
}

// CorruptRow returns the error of a row that contradicts the previous rows or the plan.
func CorruptRow(e *domain.Entry, format string, args ...any) error {
	what := strings.TrimSpace(string(e.Kind) + " " + e.Node)
	return &domain.Error{Code: domain.CodeCorrupt, Message: fmt.Sprintf("journal row %d (%s): %s", e.Seq, what, fmt.Sprintf(format,
		args...)), Cause: InvalidRow(e.Seq)}
}

// InvalidRow is the sequence number of an invalid row, and the cause of a CorruptRow error.
type InvalidRow int64

func (m InvalidRow) Error() string { return fmt.Sprintf("row %d does not match", int64(m)) }

// Apply replays a recorded row. For replan rows, use FollowReplan. The error has CodeCorrupt if the
// row contradicts the state.
func (s *State) Apply(e *domain.Entry) error {
	if e.Seq != s.Seq+1 {
		return CorruptRow(e, "follows row %d", s.Seq)
	}
	s.CleanStop = false
	switch e.Kind {
	case domain.EntryReset, domain.EntryAction:
		if err := s.applyRun(e); err != nil {
			return err
		}
		s.Seq = e.Seq
		return nil
	}
	k, err := s.Key(e)
	if err != nil {
		return err
	}
	if e.Kind == domain.EntryResult && e.Final {
		return s.replay(e, k)
	}
	s.Seq = e.Seq
	if e.Kind == domain.EntryResolve {
		return s.applyResolve(e, k)
	}
	w := s.EnsureOpen(k)
	if w == nil {
		return CorruptRow(e, "visit %d of the node is not open", e.Visit)
	}
	noteBegun(s, k.Node, e)
	w.Usage = w.Usage.Add(e.Usage)
	switch e.Kind {
	case domain.EntryIntent:
		applyIntent(s, w, e)
		return nil
	case domain.EntryResult:
		return applyAttempt(s, w, e)
	case domain.EntryWait:
		return applyWait(s, w, k, e)
	case domain.EntrySubstep:
		w.applySubstep(e)
		return nil
	}
	return CorruptRow(e, "unknown kind")
}

// applyIntent starts an attempt, or a call within one.
func applyIntent(s *State, w *Step, e *domain.Entry) {
	if e.Substep > 0 {
		if w.CallsInFlight == nil {
			w.CallsInFlight = map[int]domain.OpenCall{}
		}
		w.CallsInFlight[e.Substep] = openCall(e)
		w.Attempt = max(w.Attempt, e.Attempt)
		return
	}
	s.move(w, PhaseRunning)
	w.Attempt, w.CallsInFlight = e.Attempt, nil
	w.Effect, w.StartedAt, w.Input = walk.Effect(e.Effect), e.StartedAt, e.Input
	w.Reason, w.Due, w.Ref, w.Resolution = "", time.Time{}, "", nil
}

// applyAttempt ends an attempt that does not end the step.
func applyAttempt(s *State, w *Step, e *domain.Entry) error {
	w.Attempt, w.Failure = max(w.Attempt, e.Attempt), e.Failure
	w.Since = e.At
	switch e.Status {
	case domain.NodeFailed:
		s.move(w, PhaseReady)
		w.FailedAttempts++
		w.Retries++
		w.forgetSubsteps()
	case domain.NodeInDoubt:
		s.move(w, PhaseInDoubt)
		w.Effect = walk.Effect(e.Effect)
	case domain.NodePending:
		s.move(w, PhaseReady)
	default:
		return CorruptRow(e, "status %s of an attempt that is not final", e.Status)
	}
	return nil
}

// applyWait makes the step wait for a time, an approval, or an event.
func applyWait(s *State, w *Step, k StepKey, e *domain.Entry) error {
	moveFor(s, w, PhaseWaiting, domain.WaitReason(e.Reason))
	w.Attempt = max(w.Attempt, e.Attempt)
	w.Since, w.Due, w.Ref, w.Input, w.RequestSeq = e.At, e.DueAt, e.Ref, e.Input, e.Seq
	w.ReplanTarget = nil
	if w.Reason != domain.WaitApproval || len(e.Decision) == 0 && s.Program.Nodes[k.Node].Type == walk.TypeApproval {
		return nil
	}
	var p WaitDecision
	if err := json.Unmarshal(e.Decision, &p); err != nil {
		return CorruptRow(e, "%v", err)
	}
	switch {
	case p.Kind == KindReplan && p.Tail != nil:
		w.ReplanTarget = p.Tail
	case p.Kind == KindConsent:
		w.asks(e, p)
	case p.Kind == KindApproval:
		w.Binding = p.Digest
	default:
		return CorruptRow(e, "it requires nothing")
	}
	return nil
}

// applySubstep records the response to a call. A call that was not made has no response to inherit.
func (w *Step) applySubstep(e *domain.Entry) {
	delete(w.CallsInFlight, e.Substep)
	if e.Status == domain.NodeCancelled {
		return
	}
	if w.Substeps == nil {
		w.Substeps = map[int]domain.Entry{}
	}
	w.Substeps[e.Substep] = *e
}

// applyRun applies a row about the run.
func (s *State) applyRun(e *domain.Entry) error {
	if e.Kind == domain.EntryReset {
		var r walk.Reset
		if err := json.Unmarshal(e.Decision, &r); err != nil {
			return CorruptRow(e, "%v", err)
		}
		if err := s.Walk.ReplayReset(r); err != nil {
			return CorruptRow(e, "%v", err)
		}
		s.AfterReset(r)
		s.resumedAt = e.At
		return nil
	}
	var p RunActionDecision
	if err := json.Unmarshal(e.Decision, &p); err != nil {
		return CorruptRow(e, "%v", err)
	}
	switch p.Action {
	case RunActionPause:
		s.Paused = true
	case RunActionUnpause:
		s.Paused = false
	case RunActionCancel, RunActionTimeout:
		s.Cancelled, s.Budget, s.Only = true, nil, nil
		s.Paused, s.Quarantined, s.Held = false, false, false
		s.Walk.Stop()
		if p.Action == RunActionTimeout {
			walk.TimeOut(s.Walk)
		}
	case RunActionQuarantine:
		s.Quarantined = true
	case RunActionRelease:
		s.Quarantined, s.Held = false, false
		for _, w := range s.Open {
			w.Crashes = 0
		}
	case RunActionStartNow: // the row of the run has the time
	case RunActionRetryNow:
		for _, w := range s.Open {
			if w.Phase == PhaseWaiting && w.Reason == domain.WaitRetry {
				w.Due = e.At
			}
		}
	case RunActionCrash:
		for _, n := range p.Nodes {
			if w := s.Open[s.Find(n)]; w != nil {
				w.Crashes++
			}
		}
	case RunActionStop:
		s.CleanStop = true
	case RunActionPlans:
		s.Plans = p.Plans
	case RunActionMemory:
		v, err := Decode(e.Output)
		if err != nil {
			return CorruptRow(e, "%v", err)
		}
		s.SetMemory(v)
	case RunActionOptions:
		applyOptions(s, p.Options)
	case RunActionBudget:
		s.Budget = &BudgetWait{Message: message.Decode(p.Text, p.Message), Code: p.Code, Shared: p.Budget, since: e.At}
	case RunActionLimits, RunActionBudgetRetry:
		s.Budget = nil
	default:
		return CorruptRow(e, "unknown action %q", p.Action)
	}
	return nil
}

// Find returns the key of the step that a row names. Its node is -1 if the plan has no such node.
func (s *State) Find(n StepRef) StepKey {
	i, ok := s.Program.Index[n.Node]
	if !ok {
		i = -1
	}
	return StepKey{walk.VisitKey{Node: i, Visit: n.Visit}, n.Item}
}

// applyResolve applies a resolve row. A final row follows if it settles the step.
func (s *State) applyResolve(e *domain.Entry, k StepKey) error {
	var p ResolveDecision
	if err := json.Unmarshal(e.Decision, &p); err != nil {
		return CorruptRow(e, "%v", err)
	}
	w := s.Open[k]
	switch p.Action {
	case ActionLate:
		return nil
	case ActionApproved, ActionRejected, ActionExpired, ActionChangesRequested:
		if w != nil && w.Phase == PhaseWaiting && w.Consent != nil {
			s.answered(w, e, p.Action)
		}
		return nil
	case ActionGiven:
		resolution := &Resolution{ActionHappened, e.Output, e.Reason}
		if w != nil {
			w.Resolution = resolution
			return nil
		}
		if s.Doubts == nil {
			s.Doubts = map[StepKey]*Doubt{}
		}
		s.Doubts[k] = &Doubt{Resolution: resolution} // until the step opens
		return nil
	case ActionRetry:
		if w != nil && w.Phase == PhaseInDoubt {
			s.move(w, PhaseReady)
			w.Failure = Interrupted("a person asked to run it again")
			w.CallsInFlight = nil
			return nil
		}
		fallthrough
	case ActionHappened, ActionSkip, ActionFail:
		if w != nil {
			return nil
		}
		if d := s.Doubts[k]; d != nil {
			d.Resolution = &Resolution{Action: p.Action, Output: e.Output}
			return nil
		}
		return CorruptRow(e, "nothing is in doubt")
	}
	return nil
}

// replay applies a recorded final row with its recorded decision.
func (s *State) replay(e *domain.Entry, k StepKey) error {
	if k.Item != NoItem {
		s.EnsureOpen(k)
	}
	out, err := Decode(e.Output)
	if err != nil {
		return CorruptRow(e, "output: %v", err)
	}
	var d walk.Decision
	if len(e.Decision) > 0 {
		if err := json.Unmarshal(e.Decision, &d); err != nil {
			return CorruptRow(e, "decision: %v", err)
		}
	}
	settlement := walk.Settlement{VisitKey: k.VisitKey, Item: k.Item,
		Status: walk.Status(e.Status), Output: out, Failure: ToPlanner(e.Failure)}
	if err := s.Walk.Replay(settlement, d); err != nil {
		return CorruptRow(e, "%v", err)
	}
	s.Seq = e.Seq
	s.close(e, k, d, out)
	return nil
}

// Key returns the key of the step that a row is about.
func (s *State) Key(e *domain.Entry) (StepKey, error) {
	i, ok := s.Program.Index[e.Node]
	if !ok {
		return StepKey{}, CorruptRow(e, "the plan has no such node")
	}
	if e.Item < NoItem || e.Item != NoItem && s.Program.Nodes[i].Foreach == nil {
		return StepKey{}, CorruptRow(e, "the node has no item %d", e.Item)
	}
	return StepKey{walk.VisitKey{Node: i, Visit: e.Visit}, e.Item}, nil
}

// Decode decodes recorded JSON. It returns nil for an absent value.
func Decode(raw domain.RawJSON) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return jsonvalue.Decode(raw)
}
