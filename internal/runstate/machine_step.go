package runstate

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

func (Complete) handle(m *Machine) error {
	m.complete()
	return nil
}

func (Advance) handle(m *Machine) error {
	considerReplan(m)
	m.budget = domain.Message{}
	if m.env.Hold || m.env.Maintenance || m.blocked() {
		return nil
	}
	k := m.Next(m.env.Now)
	if k == nil {
		return nil
	}
	if why := overBudget(m, *k); !why.IsZero() {
		if m.budget = why; len(m.attempts) == 0 { // otherwise running steps may end without using it up
			waitForBudget(m, why, "", nil)
		}
		return nil
	}
	if !m.env.HasSlot {
		m.do(TakeSlot{})
		return nil
	}
	beginStep(m, *k)
	return nil
}

// beginStep starts the head of the queue.
func beginStep(m *Machine, k StepKey) {
	// If a checkpoint completes meanwhile, the run must count as running, although this step has
	// left the queue.
	m.starting = true
	defer func() { m.starting = false }()
	node := &m.Program.Nodes[k.Node]
	if k.Item == NoItem && node.Foreach != nil {
		m.out.Began = true
		beginNextItem(m, m.State.Foreach[k.VisitKey])
		return
	}
	w := m.State.Open[k]
	if w.Resolution != nil {
		m.out.Began = true
		m.queue.pop(k)
		applyResolution(m, w, *w.Resolution)
		return
	}
	switch {
	case node.Type == walk.TypeWait, node.Type == walk.TypeApproval, node.Type == walk.TypePlan:
		m.out.Began = true
		m.queue.pop(k)
		beginControl(m, w, node)
	case Builtin(node.Type) && (node.Effect == "" || m.Run.Dry()):
		m.out.Began = true
		m.queue.pop(k)
		runInline(m, w, node)
	default:
		m.do(PrepareAttempt{k})
	}
}

// runInline runs a pure built-in node with one final row and no intent.
func runInline(m *Machine, w *Step, node *walk.ProgramNode) {
	out, failure := BuiltinOutput(m.State, w, node)
	if failure != nil {
		m.final(w, domain.NodeFailed, nil, FromPlanner(failure, node.ID), m.fillWhole(w))
	} else {
		m.final(w, domain.NodeCompleted, out, nil, func(e *domain.Entry) {
			e.Attempt, e.Effect, e.StartedAt = w.Attempt+1, string(walk.EffectPure), m.env.Now
			if node.Type == walk.TypeLog {
				e.Log = logLine(m, logText(out))
			}
		})
	}
	m.complete()
}

// BuiltinOutput computes the output of a built-in node.
func BuiltinOutput(s *State, w *Step, node *walk.ProgramNode) (any, *walk.Failure) {
	switch node.Type {
	case walk.TypeFail:
		input, failure := s.Walk.Input(w.VisitKey, w.Item)
		if failure == nil {
			failure = walk.StatedFailure(input)
		}
		return nil, failure
	case walk.TypeNoop, walk.TypeDecision:
		if w.Item != NoItem {
			return s.Walk.Input(w.VisitKey, w.Item)
		}
		return s.Walk.Last(w.VisitKey), nil
	}
	return s.Walk.Input(w.VisitKey, w.Item)
}

// beginNextItem begins the next item of a foreach visit, or settles a visit without items.
func beginNextItem(m *Machine, f *Foreach) {
	k := foreachKey(f.VisitKey)
	if f.Total < 0 {
		n, failure := m.State.Walk.Items(f.VisitKey)
		switch {
		case failure != nil:
			m.queue.pop(k)
			settleForeach(m, f.VisitKey, domain.NodeFailed, nil, FromPlanner(failure, m.Program.Nodes[f.Node].ID))
			m.complete()
			return
		case n == 0:
			m.queue.pop(k)
			settleForeach(m, f.VisitKey, domain.NodeCompleted, []any{}, nil)
			m.complete()
			return
		}
		f.Total = n
	}
	if w := m.State.StartNextItem(f); w != nil {
		// A new item starts before others that wait in the queue.
		m.State.NewlyReady = m.State.NewlyReady[:len(m.State.NewlyReady)-1]
		m.queue.pushFront(w.StepKey)
		return
	}
	m.queue.pop(k)
}

// beginControl starts a node of class control: a durable row that waits for a time, an event, a
// person, or a child run. It holds no slot while it waits.
func beginControl(m *Machine, w *Step, node *walk.ProgramNode) {
	input, failure := m.State.Walk.Input(w.VisitKey, w.Item)
	if failure != nil {
		m.refuse(w, failure)
		return
	}
	if _, err := jsonvalue.EncodeWithin(input, jsonvalue.MaxBytes); err != nil {
		m.refuse(w, InputFailure(node.ID, err))
		return
	}
	if m.Run.Dry() && node.Type != walk.TypePlan {
		completeDry(m, w, node, input)
		return
	}
	switch node.Type {
	case walk.TypeWait:
		if waitsForSignal(input) {
			awaitSignal(m, w, node, input)
			return
		}
		startTimer(m, w, node, input)
	case walk.TypeApproval:
		requestApproval(m, w, node, input)
	case walk.TypePlan:
		m.do(FindChild{w.StepKey})
	}
}

// addWait appends the row of a wait.
func addWait(m *Machine, w *Step, reason domain.WaitReason, input any, fill func(*domain.Entry)) {
	e := m.entry(domain.EntryWait, w.StepKey)
	e.Status, e.Reason, e.Attempt, e.Effect = domain.NodeWaiting, string(reason), w.Attempt+1, string(walk.EffectControl)
	e.StartedAt = e.At
	if raw, err := jsonvalue.Encode(input); err == nil { // it was rendered from JSON values
		e.Input = raw
	}
	fill(&e)
	m.add(e)
	m.dueDirty = true
}

// startTimer begins a `wait` node with the input {for: 10m} or {until: RFC 3339}. Its output is its
// last input.
func startTimer(m *Machine, w *Step, node *walk.ProgramNode, input any) {
	due, err := timerDue(m.env.Now, input)
	if err != nil {
		f := &walk.Failure{Code: walk.CodeInvalidInput, Node: node.ID,
			Suggestion: "write input: {for: 10m}, {until: 2026-01-31T09:00:00Z}, or {event: NAME}"}
		m.refuse(w, f.WithMessage("node %q: %s", node.ID, err))
		return
	}
	if !due.After(m.env.Now) {
		m.final(w, domain.NodeCompleted, m.State.Walk.Last(w.VisitKey), nil, m.fillWhole(w))
		m.complete()
		return
	}
	addWait(m, w, domain.WaitTimer, input, func(e *domain.Entry) { e.DueAt = due })
}

// timerDue parses the input of a `wait` node.
func timerDue(now time.Time, input any) (time.Time, error) {
	in, ok := input.(map[string]any)
	if !ok || len(in) != 1 {
		return time.Time{}, fmt.Errorf("a wait requires exactly one of for, until, and event")
	}
	if text, ok := in["for"].(string); ok {
		d, err := walk.ParseDuration(text)
		if err != nil {
			return time.Time{}, fmt.Errorf("%q is not a duration", text)
		}
		if d < 0 {
			return time.Time{}, fmt.Errorf("the duration %s is negative", text)
		}
		return now.Add(d.Truncate(time.Microsecond)), nil
	}
	if text, ok := in["until"].(string); ok {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return time.Time{}, fmt.Errorf("%q is not a time in RFC 3339 form", text)
		}
		return t.UTC().Truncate(time.Microsecond), nil
	}
	return time.Time{}, fmt.Errorf("a wait requires exactly one of for, until, and event, as text")
}

// handle ends waits whose time has come.
func (TimerDue) handle(m *Machine) error {
	endWaits(m)
	return nil
}

func endWaits(m *Machine) {
	m.dueDirty = true
	if m.State.Paused || m.State.Held || m.State.Quarantined || m.ended {
		return // due timers start nothing
	}
	if end := deadline(m); !end.IsZero() && !m.env.Now.Before(end) {
		timeOut(m)
		return
	}
	if due := budgetDue(m); !due.IsZero() && !m.env.Now.Before(due) {
		endBudgetWait(m)
	}
	for _, w := range m.State.OpenSteps() {
		if w.Phase != PhaseWaiting || w.Due.IsZero() || w.Due.After(m.env.Now) {
			continue
		}
		switch w.Reason {
		case domain.WaitRetry:
			if !m.queue.contains(w.StepKey) {
				m.queue.push(w.StepKey)
			}
		case domain.WaitTimer:
			m.final(w, domain.NodeCompleted, m.State.Walk.Last(w.VisitKey), nil, nil)
		case domain.WaitApproval:
			expireApproval(m, w)
		case domain.WaitSignal:
			expireSignal(m, w)
		case domain.WaitChild:
			// The step fails when the child run has ended, so that a retry does not overlap with it.
			m.do(CancelChild{ID: w.Ref, Overdue: true})
		}
	}
}

// MaxLogBytes limits the log of an attempt.
const MaxLogBytes = 64 << 10

// logText returns the input of a log node as text. It returns "" if the text is too large, which
// fails the node.
func logText(v any) string {
	switch v.(type) {
	case []any, map[string]any:
		raw, _ := jsonvalue.EncodeWithin(v, jsonvalue.MaxBytes)
		return string(raw)
	}
	return jsonvalue.Text(v)
}

// logLine returns a log of one line.
func logLine(m *Machine, text string) domain.RawJSON {
	if len(text) > MaxLogBytes {
		text = strings.ToValidUTF8(text[:MaxLogBytes], "")
	}
	b, err := json.Marshal(domain.AttemptLog{Lines: []domain.LogLine{{At: m.env.Now, Level: "info", Message: text}}})
	if err != nil {
		return nil // strings can always be encoded
	}
	return b
}
