package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// facts are what a fold knows of a run besides its journal.
type facts struct {
	run   string
	input any
	held  bool
	// parked: the run's row says that it is quarantined, as that of a damaged journal
	// does, which gets no row of its own for it.
	parked bool
	// history is for looking: the state knows every visit that settled.
	history bool
	// program gives the version that a replan row leads to; nil: none is known.
	program func(hash string) (*planner.Program, error)
}

func newState(prog *planner.Program, f facts) *state {
	s := &state{
		prog: prog, request: f.input,
		walk: planner.NewWalk(prog, planner.Facts{RunID: f.run, Input: f.input}),
		work: map[workKey]*work{},
		fans: map[planner.VisitKey]*fan{},
		held: f.held, history: f.history,
	}
	s.intake()
	return s
}

// fold rebuilds a run's state from its program and journal.
func fold(prog *planner.Program, f facts, journal []domain.Entry) (*state, error) {
	s := newState(prog, f)
	for i := range journal {
		if journal[i].Kind == domain.EntryReplan {
			next, _, err := s.follow(f, &journal[i], journal[:i])
			if err != nil {
				return nil, err
			}
			s = next
			continue
		}
		if err := s.apply(&journal[i]); err != nil {
			return nil, err
		}
		s.noted()
	}
	s.held = f.held // the journal knows of releases, not of the restore that came after
	s.quarantined = s.quarantined || f.parked
	return s, nil
}

// payload is what the Decision of a resolve, verb or substep row holds.
type payload struct {
	Action  string            `json:"action,omitempty"`
	Answer  string            `json:"answer,omitempty"` // the id of an approval's answer
	Verb    string            `json:"verb,omitempty"`
	Plans   map[string]string `json:"plans,omitempty"`
	Nodes   []openNode        `json:"nodes,omitempty"`
	Limits  *domain.Limits    `json:"limits,omitempty"`
	Kind    string            `json:"kind,omitempty"`
	Digest  string            `json:"digest,omitempty"`
	Tool    string            `json:"tool,omitempty"`
	Run     string            `json:"run,omitempty"`
	Tail    *tail             `json:"tail,omitempty"`
	Options *options          `json:"options,omitempty"`
	Message string            `json:"message,omitempty"`
	Code    string            `json:"code,omitempty"`
}

// openNode names work that was open at an unclean death.
type openNode struct {
	Node  string `json:"node"`
	Visit int    `json:"visit"`
	Item  int    `json:"item"`
}

func (p payload) json() domain.RawJSON {
	b, err := json.Marshal(p)
	if err != nil {
		panic("engine: payload: " + err.Error())
	}
	return b
}

// corrupt says that a journal contradicts itself or its plan.
func corrupt(e *domain.Entry, format string, args ...any) error {
	what := strings.TrimSpace(string(e.Kind) + " " + e.Node)
	return &domain.Error{Code: domain.CodeCorrupt, Message: fmt.Sprintf("journal row %d (%s): %s", e.Seq, what, fmt.Sprintf(format, args...)), Cause: misfitRow(e.Seq)}
}

// misfitRow is the cause of what corrupt says: the row that does not fit.
type misfitRow int64

func (m misfitRow) Error() string { return fmt.Sprintf("row %d does not fit", int64(m)) }

// apply gives one recorded row its meaning.
func (s *state) apply(e *domain.Entry) error {
	if e.Seq != s.seq+1 {
		return corrupt(e, "follows row %d", s.seq)
	}
	s.clean = false
	switch e.Kind {
	case domain.EntryReset, domain.EntryVerb:
		if err := s.applyRun(e); err != nil {
			return err
		}
		s.seq = e.Seq
		return nil
	}
	k, err := s.key(e)
	if err != nil {
		return err
	}
	if e.Kind == domain.EntryResult && e.Final {
		return s.replay(e, k)
	}
	s.seq = e.Seq
	if e.Kind == domain.EntryResolve {
		return s.applyResolve(e, k)
	}
	w := s.ensure(k)
	if w == nil {
		return corrupt(e, "visit %d of the node is not open", e.Visit)
	}
	w.usage = w.usage.Add(e.Usage)
	switch e.Kind {
	case domain.EntryIntent:
		if e.Substep > 0 {
			if w.flying == nil {
				w.flying = map[int]domain.OpenCall{}
			}
			w.flying[e.Substep] = openCall(e)
			w.attempt = max(w.attempt, e.Attempt)
			return nil
		}
		s.move(w, phaseRunning)
		w.attempt, w.flying = e.Attempt, nil
		w.effect, w.begun, w.input = planner.Effect(e.Effect), e.StartedAt, e.Input
		w.reason, w.due, w.ref, w.answer = "", time.Time{}, "", nil
	case domain.EntryResult:
		w.attempt, w.failure = max(w.attempt, e.Attempt), e.Failure
		w.since = e.At
		switch e.Status {
		case domain.NodeFailed:
			s.move(w, phaseReady)
			w.tries++
			w.retries++
			w.forgetSubsteps()
		case domain.NodeInDoubt:
			s.move(w, phaseDoubt)
			w.effect = planner.Effect(e.Effect)
		case domain.NodePending:
			s.move(w, phaseReady)
		default:
			return corrupt(e, "status %s of an attempt that is not final", e.Status)
		}
	case domain.EntryWait:
		s.move(w, phaseWaiting)
		w.reason = domain.WaitReason(e.Reason)
		w.attempt = max(w.attempt, e.Attempt)
		w.since, w.due, w.ref, w.input, w.asked = e.At, e.DueAt, e.Ref, e.Input, e.Seq
		w.tail = nil
		if w.reason == domain.WaitApproval && (len(e.Decision) > 0 || s.prog.Nodes[k.Node].Type != planner.TypeApproval) {
			var p payload
			if err := json.Unmarshal(e.Decision, &p); err != nil {
				return corrupt(e, "%v", err)
			}
			switch {
			case p.Kind == kindReplan && p.Tail != nil:
				w.tail = p.Tail
			case p.Kind == kindConsent:
				s.asks(w, e, p)
			case p.Kind == kindApproval:
				w.binding = p.Digest
			default:
				return corrupt(e, "it asks for nothing")
			}
		}
	case domain.EntrySubstep:
		delete(w.flying, e.Substep)
		if e.Status == domain.NodeCancelled {
			return nil // the call was not made after all: there is no response to inherit
		}
		if w.substeps == nil {
			w.substeps = map[int]domain.Entry{}
		}
		w.substeps[e.Substep] = *e
	default:
		return corrupt(e, "unknown kind")
	}
	return nil
}

// applyRun applies rows that speak of the run and not of a node.
func (s *state) applyRun(e *domain.Entry) error {
	if e.Kind == domain.EntryReset {
		var r planner.Reset
		if err := json.Unmarshal(e.Decision, &r); err != nil {
			return corrupt(e, "%v", err)
		}
		if err := s.walk.ReplayReset(r); err != nil {
			return corrupt(e, "%v", err)
		}
		s.afterReset(r)
		return nil
	}
	var p payload
	if err := json.Unmarshal(e.Decision, &p); err != nil {
		return corrupt(e, "%v", err)
	}
	switch p.Verb {
	case "pause":
		s.paused = true
	case "continue":
		s.paused = false
	case "cancel":
		s.cancelled, s.budget = true, nil
		s.paused, s.quarantined, s.held = false, false, false
		s.walk.Stop()
	case "quarantine":
		s.quarantined = true
	case "release":
		s.quarantined, s.held = false, false
		for _, w := range s.work {
			w.crashes = 0
		}
	case "start-now": // the run's row says when
	case "retry-now":
		for _, w := range s.work {
			if w.phase == phaseWaiting && w.reason == domain.WaitRetry {
				w.due = e.At
			}
		}
	case "crash":
		for _, n := range p.Nodes {
			if w := s.work[s.keyOf(n)]; w != nil {
				w.crashes++
			}
		}
	case "stop":
		s.clean = true
	case "plans":
		s.plans = p.Plans
	case verbMemory:
		v, err := decode(e.Output)
		if err != nil {
			return corrupt(e, "%v", err)
		}
		s.remember(v)
	case verbOptions:
		s.limit(p.Options)
	case verbBudget:
		s.budget = &budget{message: p.Message, code: p.Code, since: e.At}
	case "limits", verbBudgetRetry:
		s.budget = nil
	default:
		return corrupt(e, "unknown verb %q", p.Verb)
	}
	return nil
}

func (s *state) keyOf(n openNode) workKey {
	i, ok := s.prog.Index[n.Node]
	if !ok {
		i = -1
	}
	return workKey{planner.VisitKey{Node: i, Visit: n.Visit}, n.Item}
}

// applyResolve applies an answer from outside. What it settles follows as a
// final row.
func (s *state) applyResolve(e *domain.Entry, k workKey) error {
	var p payload
	if err := json.Unmarshal(e.Decision, &p); err != nil {
		return corrupt(e, "%v", err)
	}
	w := s.work[k]
	switch p.Action {
	case actionLate:
		return nil
	case "approved", "rejected", "expired", actionAskBack:
		if w != nil && w.phase == phaseWaiting && w.consent != nil {
			s.answered(w, e, p.Action)
		}
		return nil
	case actionGiven:
		said := &answer{actionHappened, e.Output, e.Reason}
		if w != nil {
			w.answer = said
			return nil
		}
		if s.doubts == nil {
			s.doubts = map[workKey]*doubt{}
		}
		s.doubts[k] = &doubt{answer: said} // until it opens
		return nil
	case actionRetry:
		if w != nil && w.phase == phaseDoubt {
			s.move(w, phaseReady)
			w.failure = interrupted("a person asked to run it again")
			w.flying = nil
			return nil
		}
		fallthrough
	case actionHappened, actionSkip, actionFail:
		if w != nil {
			return nil
		}
		if d := s.doubts[k]; d != nil {
			d.answer = &answer{action: p.Action, output: e.Output}
			return nil
		}
		return corrupt(e, "nothing is in doubt")
	}
	return nil
}

// replay applies a recorded final row with its recorded decision (ruling 9).
func (s *state) replay(e *domain.Entry, k workKey) error {
	if k.item != noItem {
		s.ensure(k)
	}
	out, err := decode(e.Output)
	if err != nil {
		return corrupt(e, "output: %v", err)
	}
	var d planner.Decision
	if len(e.Decision) > 0 {
		if err := json.Unmarshal(e.Decision, &d); err != nil {
			return corrupt(e, "decision: %v", err)
		}
	}
	settlement := planner.Settlement{VisitKey: k.VisitKey, Item: k.item,
		Status: planner.Status(e.Status), Output: out, Failure: toPlanner(e.Failure)}
	if err := s.walk.Replay(settlement, d); err != nil {
		return corrupt(e, "%v", err)
	}
	s.seq = e.Seq
	s.close(e, k, d, out)
	return nil
}

// settle decides a live final row, completes it with the decision and applies
// it. now is the time of the warnings that the decision adds to its log.
func (s *state) settle(e *domain.Entry, k workKey, out any, now time.Time) (planner.Decision, error) {
	d, err := s.walk.Settle(planner.Settlement{VisitKey: k.VisitKey, Item: k.item,
		Status: planner.Status(e.Status), Output: out, Failure: toPlanner(e.Failure)})
	if err != nil {
		return d, fmt.Errorf("settle %s: %w", e.Node, err)
	}
	if e.Log, err = withWarnings(e.Log, &d, now); err != nil {
		return d, fmt.Errorf("log of %s: %w", e.Node, err)
	}
	if !zeroDecision(&d) {
		if e.Decision, err = json.Marshal(d); err != nil {
			return d, fmt.Errorf("encode decision of %s: %w", e.Node, err)
		}
	}
	s.clean = false
	s.seq = e.Seq
	s.close(e, k, d, out)
	return d, nil
}

// withWarnings adds to the log of a row what conditions read in vain.
func withWarnings(log domain.RawJSON, d *planner.Decision, now time.Time) (domain.RawJSON, error) {
	seen := slices.Clone(d.Evaluated)
	for i := range d.Settled {
		if ev := d.Settled[i].Evaluated; ev != nil {
			seen = append(seen, *ev)
		}
	}
	seen = slices.DeleteFunc(seen, func(ev planner.Evaluation) bool { return ev.Problem == "" })
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
		l.Lines = append(l.Lines, domain.LogLine{At: now, Level: "warn", Message: fmt.Sprintf("condition %s is %s: %s", ev.Condition, ev.Result, ev.Unread())})
	}
	return json.Marshal(l)
}

func zeroDecision(d *planner.Decision) bool {
	return d.Edge == 0 && d.To == "" && d.Ended == "" && len(d.Evaluated) == 0 && len(d.Settled) == 0 &&
		d.Handled == "" && d.Visit == "" && d.Failure == nil
}

// close is what settling leads to, live or replayed.
func (s *state) close(e *domain.Entry, k workKey, d planner.Decision, out any) {
	w := s.work[k]
	delete(s.work, k)
	s.steps++
	if w != nil && e.Status != domain.NodeCompleted {
		if s.past == nil {
			s.past = map[workKey]past{}
		}
		s.past[k] = w.leave(e) //seed:resume-forgets
		if e.Status == domain.NodeCancelled && w.phase == phaseDoubt {
			if s.doubts == nil {
				s.doubts = map[workKey]*doubt{}
			}
			s.doubts[k] = &doubt{attempt: w.attempt, since: w.since, calls: w.openCalls()}
		}
	}
	status, over := e.Status, true
	if d.Handled == handledSkip {
		status = domain.NodeSkipped
	}
	if k.item != noItem {
		if f := s.fans[k.VisitKey]; f != nil {
			f.open--
			if w != nil && w.parked() {
				f.parked--
			}
		}
		if over = d.Visit != ""; over && d.Handled != handledSkip {
			status = domain.NodeStatus(d.Visit)
		}
	}
	if over {
		delete(s.fans, k.VisitKey)
		s.record(k, status, e)
	}
	for _, c := range d.Settled {
		if c.Status == string(planner.Skipped) {
			s.settled = append(s.settled, settled{s.prog.Index[c.Node], c.Visit, domain.NodeSkipped})
		}
	}
	if s.stopMark == 0 && s.walk.Stopping() {
		s.stopMark = s.opened
	}
	s.intake()
	if over {
		s.closeOnly(k.VisitKey)
	}
}

// stops reports whether a stopping run takes the work with it: what became
// ready before it stopped. Work of `when: failure|always` that became ready
// since runs as ever, retries and waits included.
func (s *state) stops(w *work) bool {
	return s.stopMark > 0 && w.order <= s.stopMark && s.walk.Stopping()
}

// record notes a settled visit for those who ask what happened before.
func (s *state) record(k workKey, status domain.NodeStatus, e *domain.Entry) {
	s.settled = append(s.settled, settled{k.Node, k.Visit, status})
	if status == domain.NodeCompleted && s.prog.Nodes[k.Node].Agent != "" {
		if s.completed == nil {
			s.completed = map[int][2]completion{}
		}
		s.completed[k.Node] = [2]completion{{k.Visit, e.Seq}, s.completed[k.Node][0]}
	}
	if e.Agent != "" {
		if s.agents == nil {
			s.agents = map[int]string{}
		}
		s.agents[k.Node] = e.Agent
	}
}

// noted drops what was kept for whoever looks at every row.
func (s *state) noted() {
	if !s.history {
		s.settled = s.settled[:0]
	}
}

// leaveBehind forgets what earlier visits of a node left for their next opening:
// a reset opens none but a node's last.
func (s *state) leaveBehind(v planner.VisitKey) {
	switch {
	case len(s.past) == 0 || v.Visit == 1:
	case s.prog.Nodes[v.Node].Foreach == nil:
		delete(s.past, workKey{planner.VisitKey{Node: v.Node, Visit: v.Visit - 1}, noItem})
	default:
		maps.DeleteFunc(s.past, func(k workKey, _ past) bool { return k.Node == v.Node && k.Visit < v.Visit })
	}
}

// intake takes up the visits that the walk has opened.
func (s *state) intake() {
	for _, v := range s.walk.Ready() {
		s.opened++
		s.leaveBehind(v)
		if s.prog.Nodes[v.Node].Foreach != nil {
			s.fans[v] = &fan{VisitKey: v, order: s.opened, total: -1}
			s.fresh = append(s.fresh, workKey{v, noItem})
			continue
		}
		s.open(workKey{v, noItem})
	}
}

func (s *state) open(k workKey) *work {
	s.opened++
	w := &work{workKey: k, order: s.opened}
	if p, ok := s.past[k]; ok {
		w.attempt, w.retries, w.substeps, w.grants = p.attempt, p.retries, p.substeps, p.grants
		delete(s.past, k)
	}
	w.answer = s.standing(k)
	delete(s.doubts, k)
	s.work[k] = w
	s.fresh = append(s.fresh, k)
	return w
}

// afterReset takes up what a reset opened again and forgets that it settled.
func (s *state) afterReset(r planner.Reset) {
	s.cancelled, s.stopMark, s.budget = false, 0, nil
	s.paused, s.only, s.overrides = false, nil, nil
	undone := map[planner.VisitKey]bool{}
	for _, list := range [][]planner.ResetVisit{r.Reopened, r.Forgotten} {
		for _, v := range list {
			undone[planner.VisitKey{Node: s.prog.Index[v.Node], Visit: v.Visit}] = true
		}
	}
	s.settled = slices.DeleteFunc(s.settled, func(d settled) bool { return undone[planner.VisitKey{Node: d.node, Visit: d.visit}] })
	for v := range undone {
		if c := s.completed[v.Node]; v.Visit > 0 && c[0].visit == v.Visit {
			s.completed[v.Node] = [2]completion{c[1], {}}
		}
	}
	s.intake()
}

// ensure returns open work, beginning the foreach item that a row speaks of.
func (s *state) ensure(k workKey) *work {
	if w := s.work[k]; w != nil {
		return w
	}
	f := s.fans[k.VisitKey]
	if f == nil || k.item == noItem {
		return nil
	}
	s.walk.StartItem(k.VisitKey, k.item)
	f.open++
	return s.open(k)
}

// nextItem begins the next item of a foreach visit; nil when none may begin.
func (s *state) nextItem(f *fan) *work {
	i := s.walk.NextItem(f.VisitKey)
	if i < 0 {
		f.begunAll = true
		return nil
	}
	f.open++
	return s.open(workKey{f.VisitKey, i})
}

func (s *state) key(e *domain.Entry) (workKey, error) {
	i, ok := s.prog.Index[e.Node]
	if !ok {
		return workKey{}, corrupt(e, "the plan has no such node")
	}
	if e.Item < noItem || e.Item != noItem && s.prog.Nodes[i].Foreach == nil {
		return workKey{}, corrupt(e, "the node has no item %d", e.Item)
	}
	return workKey{planner.VisitKey{Node: i, Visit: e.Visit}, e.Item}, nil
}

func decode(raw domain.RawJSON) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return planner.DecodeValue(raw)
}
