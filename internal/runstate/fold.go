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

// Facts are what a fold needs besides the journal.
type Facts struct {
	Run   string // id
	Input any
	Held  bool // the run's row is held, since a restore; the journal has no row for it
	// Quarantined is set if the run's row is quarantined. A damaged journal gets no row
	// for it.
	Quarantined bool
	// KeepHistory keeps every settled visit; see State.Settled.
	KeepHistory bool
	// Program returns the version that a replan row leads to; nil: none is available.
	Program func(hash string) (*walk.Program, error)
}

// New is the state of a run without rows.
func New(prog *walk.Program, f Facts) *State {
	s := &State{
		Program: prog, Request: f.Input,
		Walk:    walk.New(prog, walk.Facts{RunID: f.Run, Input: f.Input}),
		Open:    map[StepKey]*Step{},
		Foreach: map[walk.VisitKey]*Foreach{},
		Held:    f.Held, KeepHistory: f.KeepHistory, begun: make([]bool, len(prog.Nodes)),
	}
	s.intake()
	return s
}

// Fold rebuilds a run's state from its journal. prog is the version that the journal
// begins with. CodeCorrupt: a row contradicts those before it; errors.As finds the
// InvalidRow.
func Fold(prog *walk.Program, f Facts, journal []domain.Entry) (*State, error) {
	s := New(prog, f)
	for i := range journal {
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
	s.Held = f.Held // the journal has releases, not of the restore that came after
	s.Quarantined = s.Quarantined || f.Quarantined
	return s, nil
}

// CorruptRow is the error of a row that contradicts the journal before it or the plan.
func CorruptRow(e *domain.Entry, format string, args ...any) error {
	what := strings.TrimSpace(string(e.Kind) + " " + e.Node)
	return &domain.Error{Code: domain.CodeCorrupt, Message: fmt.Sprintf("journal row %d (%s): %s", e.Seq, what, fmt.Sprintf(format,
		args...)), Cause: InvalidRow(e.Seq)}
}

// InvalidRow is the cause of a CorruptRow error: the sequence number of the row.
type InvalidRow int64

func (m InvalidRow) Error() string { return fmt.Sprintf("row %d does not fit", int64(m)) }

// Apply replays one recorded row. Replan rows need FollowReplan. CodeCorrupt: the row
// contradicts the state.
func (s *State) Apply(e *domain.Entry) error {
	if e.Seq != s.Seq+1 {
		return CorruptRow(e, "follows row %d", s.Seq)
	}
	s.CleanStop = false
	switch e.Kind {
	case domain.EntryReset, domain.EntryVerb:
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
		if e.Substep > 0 {
			if w.CallsInFlight == nil {
				w.CallsInFlight = map[int]domain.OpenCall{}
			}
			w.CallsInFlight[e.Substep] = openCall(e)
			w.Attempt = max(w.Attempt, e.Attempt)
			return nil
		}
		s.move(w, PhaseRunning)
		w.Attempt, w.CallsInFlight = e.Attempt, nil
		w.Effect, w.StartedAt, w.Input = walk.Effect(e.Effect), e.StartedAt, e.Input
		w.Reason, w.Due, w.Ref, w.Resolution = "", time.Time{}, "", nil
	case domain.EntryResult:
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
	case domain.EntryWait:
		s.move(w, PhaseWaiting)
		w.Reason = domain.WaitReason(e.Reason)
		w.Attempt = max(w.Attempt, e.Attempt)
		w.Since, w.Due, w.Ref, w.Input, w.RequestSeq = e.At, e.DueAt, e.Ref, e.Input, e.Seq
		w.ReplanTarget = nil
		if w.Reason == domain.WaitApproval && (len(e.Decision) > 0 || s.Program.Nodes[k.Node].Type != walk.TypeApproval) {
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
		}
	case domain.EntrySubstep:
		delete(w.CallsInFlight, e.Substep)
		if e.Status == domain.NodeCancelled {
			return nil // the call was not made after all: there is no response to inherit
		}
		if w.Substeps == nil {
			w.Substeps = map[int]domain.Entry{}
		}
		w.Substeps[e.Substep] = *e
	default:
		return CorruptRow(e, "unknown kind")
	}
	return nil
}

// applyRun applies rows that speak of the run and not of a node.
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
		return nil
	}
	var p VerbDecision
	if err := json.Unmarshal(e.Decision, &p); err != nil {
		return CorruptRow(e, "%v", err)
	}
	switch p.Verb {
	case VerbPause:
		s.Paused = true
	case VerbUnpause:
		s.Paused = false
	case VerbCancel:
		s.Cancelled, s.Budget = true, nil
		s.Paused, s.Quarantined, s.Held = false, false, false
		s.Walk.Stop()
	case VerbQuarantine:
		s.Quarantined = true
	case VerbRelease:
		s.Quarantined, s.Held = false, false
		for _, w := range s.Open {
			w.Crashes = 0
		}
	case VerbStartNow: // the run's row states when
	case VerbRetryNow:
		for _, w := range s.Open {
			if w.Phase == PhaseWaiting && w.Reason == domain.WaitRetry {
				w.Due = e.At
			}
		}
	case VerbCrash:
		for _, n := range p.Nodes {
			if w := s.Open[s.Find(n)]; w != nil {
				w.Crashes++
			}
		}
	case VerbStop:
		s.CleanStop = true
	case VerbPlans:
		s.Plans = p.Plans
	case VerbMemory:
		v, err := Decode(e.Output)
		if err != nil {
			return CorruptRow(e, "%v", err)
		}
		s.Remember(v)
	case VerbOptions:
		applyOptions(s, p.Options)
	case VerbBudget:
		s.Budget = &BudgetWait{Message: message.Decode(p.Text, p.Message), Code: p.Code, since: e.At}
	case VerbLimits, VerbBudgetRetry:
		s.Budget = nil
	default:
		return CorruptRow(e, "unknown verb %q", p.Verb)
	}
	return nil
}

// Find is the key of a step that a row names. Its node is -1 if the plan has no such
// node.
func (s *State) Find(n StepRef) StepKey {
	i, ok := s.Program.Index[n.Node]
	if !ok {
		i = -1
	}
	return StepKey{walk.VisitKey{Node: i, Visit: n.Visit}, n.Item}
}

// applyResolve applies an answer from outside. What it settles follows as a
// final row.
func (s *State) applyResolve(e *domain.Entry, k StepKey) error {
	var p ResolveDecision
	if err := json.Unmarshal(e.Decision, &p); err != nil {
		return CorruptRow(e, "%v", err)
	}
	w := s.Open[k]
	switch p.Action {
	case ActionLate:
		return nil
	case ActionApproved, ActionRejected, ActionExpired, ActionAskedBack:
		if w != nil && w.Phase == PhaseWaiting && w.Consent != nil {
			s.answered(w, e, p.Action)
		}
		return nil
	case ActionGiven:
		said := &Resolution{ActionHappened, e.Output, e.Reason}
		if w != nil {
			w.Resolution = said
			return nil
		}
		if s.Doubts == nil {
			s.Doubts = map[StepKey]*Doubt{}
		}
		s.Doubts[k] = &Doubt{Resolution: said} // until it opens
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

// Key is the key of the step that a row is about.
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

// Decode is the value of recorded JSON; nil for none.
func Decode(raw domain.RawJSON) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return jsonvalue.Decode(raw)
}
