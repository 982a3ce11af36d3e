package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/failpoint"
	"github.com/kairosd/kairosd/planner"
)

// Replanner makes new tails for runs that cannot go on as planned. It is called
// again after a crash, unless its answer was durable; it must change nothing.
type Replanner interface {
	Replan(ctx context.Context, r domain.ReplanRequest) (domain.Replanned, error)
}

// SetReplanner gives the engine who plans anew. It is called before Open; without
// it, `on_error: replan` means fail.
func (e *Engine) SetReplanner(r Replanner) { e.replanner = r }

// replanTimeout bounds one request for a new tail.
const replanTimeout = 5 * time.Minute

const kindReplan = "replan"

// replanStep is the sub-step of the waiting visit that keeps the planner's answer,
// beyond those of any conversation.
const replanStep = 1 << 30

// planned is that answer.
type planned struct {
	Source string   `json:"source"`
	Reason string   `json:"reason,omitempty"`
	Unsafe []string `json:"unsafe,omitempty"`
}

// tail is a stored version that a run is about to follow.
type tail struct {
	Hash    string `json:"hash"`
	Version int    `json:"version"`
	Reason  string `json:"reason,omitempty"`
}

// replan is what the Decision of a replan row holds: from here the run follows
// another version, in which these rows stand as if they had always been of it
// (rulings 9 and 12).
type replan struct {
	From    string `json:"from"`   // hash of the version before
	Before  int    `json:"before"` // its number
	Hash    string `json:"hash"`
	Version int    `json:"version"`
	Node    string `json:"node"` // the visit that failed
	Visit   int    `json:"visit"`
	// Dropped are other steps that had begun and that the new version does not continue.
	Dropped []string  `json:"dropped,omitempty"`
	Kept    []keptRow `json:"kept"`
}

// keptRow names a final row that the new version keeps, with what its plan
// decides there, unless it decides the same.
type keptRow struct {
	Seq      int64          `json:"seq"`
	Decision domain.RawJSON `json:"decision,omitempty"`
}

// firstVersion is the hash of the version that a journal begins with; "": that
// of the run.
func firstVersion(journal []domain.Entry) string { return versionAt(journal, 0, "") }

// versionAt is the hash of the version that a run followed after a row; now is the
// one that it follows at the end of its journal.
func versionAt(journal []domain.Entry, seq int64, now string) string {
	for i := range journal {
		if e := &journal[i]; e.Kind == domain.EntryReplan && e.Seq > seq {
			var r replan
			if json.Unmarshal(e.Decision, &r) == nil {
				return r.From
			}
		}
	}
	return now
}

// follow gives a replan row its meaning: a new state of the new version, with
// the rows that are kept, and with whatever waits and is planned there too.
// dropped is work that the new version has no place for.
func (s *state) follow(f facts, e *domain.Entry, before []domain.Entry) (next *state, dropped []*work, err error) {
	var r replan
	if err := json.Unmarshal(e.Decision, &r); err != nil {
		return nil, nil, corrupt(e, "%v", err)
	}
	if e.Seq != s.seq+1 {
		return nil, nil, corrupt(e, "follows row %d", s.seq)
	}
	if f.program == nil {
		return nil, nil, corrupt(e, "the version that it leads to is not known here")
	}
	prog, err := f.program(r.Hash)
	if err != nil {
		return nil, nil, fmt.Errorf("row %d follows version %d: %w", e.Seq, r.Version, err)
	}
	next = newState(prog, f)
	next.remember(s.memory)
	for _, k := range r.Kept {
		i := int(k.Seq) - 1
		if i < 0 || i >= len(before) || before[i].Seq != k.Seq {
			return nil, nil, corrupt(e, "keeps row %d, which does not exist", k.Seq)
		}
		row := before[i]
		if k.Decision != nil {
			row.Decision = k.Decision
		}
		next.seq = row.Seq - 1
		if err := next.apply(&row); err != nil {
			return nil, nil, err
		}
	}
	next.seq, next.steps, next.plans = e.Seq, s.steps, s.plans
	next.noted()
	next.paused, next.cancelled, next.quarantined, next.held = s.paused || len(s.only) > 0, s.cancelled, s.quarantined, s.held
	next.replans, next.redefined = s.replans+1, map[string]int64{}
	for id, seq := range s.redefined {
		next.redefined[id] = seq
	}
	return next, next.inherit(s, e.Seq), nil
}

// inherit takes over the work that waits, if the node is the same. A node of the
// same name that does something else begins anew, under another idempotency key.
func (s *state) inherit(old *state, seq int64) (dropped []*work) {
	for _, w := range old.sorted() {
		from := &old.prog.Nodes[w.Node]
		i, ok := s.prog.Index[from.ID]
		if !ok {
			dropped = append(dropped, w)
			continue
		}
		if s.prog.Fingerprint(i) != old.prog.Fingerprint(w.Node) {
			s.redefined[from.ID] = seq
			dropped = append(dropped, w)
			continue
		}
		to := s.ensure(workKey{planner.VisitKey{Node: i, Visit: w.Visit}, w.item})
		if to == nil {
			dropped = append(dropped, w)
			continue
		}
		key, order := to.workKey, to.order
		phase := w.phase
		*to = *w
		to.workKey, to.order, to.phase = key, order, phaseReady
		s.move(to, phase)
	}
	at := func(k workKey) (workKey, bool) {
		i, ok := s.prog.Index[old.prog.Nodes[k.Node].ID]
		return workKey{planner.VisitKey{Node: i, Visit: k.Visit}, k.item}, ok
	}
	for k, d := range old.doubts {
		if to, ok := at(k); ok {
			if d.answer != nil && d.answer.given != "" && s.prog.Fingerprint(to.Node) != old.prog.Fingerprint(k.Node) {
				continue // a result for a node that did something else
			}
			if s.doubts == nil {
				s.doubts = map[workKey]*doubt{}
			}
			s.doubts[to] = d
		}
	}
	return dropped
}

// replanning is the visit for which the run waits for a new tail or for its
// acceptance; nil: none.
func (s *state) replanning() *work {
	for _, w := range s.sorted() {
		if w.phase == phaseWaiting && (w.reason == domain.WaitReplan || w.tail != nil) {
			return w
		}
	}
	return nil
}

// replans reports whether a failure of this work is answered by planning anew.
func (a *actor) replans(w *work) bool {
	node := &a.prog.Nodes[w.Node]
	return node.OnError == planner.OnErrorReplan && w.item == noItem && !w.givenUp && a.e.replanner != nil &&
		a.s.replans < a.e.current().MaxReplans && !a.s.cancelled && !a.s.walk.Stopping() &&
		!slices.ContainsFunc(node.Out, func(e planner.ProgramEdge) bool { return e.Cond.OnFailure() })
}

// awaitReplan records that a node has failed and that the run waits for a new
// tail (SPEC 7.5).
func (a *actor) awaitReplan(w *work, f *domain.Failure, fill func(*domain.Entry)) {
	a.goesOn(w, domain.NodeFailed, f, "", func(e *domain.Entry) {
		e.Attempt = w.attempt
		if fill != nil {
			fill(e)
		}
	})
	e := a.entry(domain.EntryWait, w.workKey)
	e.Status, e.Reason, e.Attempt = domain.NodeWaiting, string(domain.WaitReplan), w.attempt
	a.add(e)
	a.dueDirty = true
	a.freeNodes()
}

// replanMsg brings a new tail, or says why there is none.
type replanMsg struct {
	key    workKey
	tail   tail
	unsafe []string
	usage  domain.Usage
	err    error
	// again: nothing came of it, and it is to be asked anew.
	again bool
}

// considerReplan asks for a new tail once nothing runs any more and nothing is
// in doubt: what is planned then knows everything that has happened.
func (a *actor) considerReplan() {
	if !a.prog.replans || len(a.running) > 0 || a.ended || a.stopping || a.e.opts.Safe || a.e.maintenance.Load() || a.s.paused || a.s.held || a.s.quarantined || a.s.replans >= a.e.current().MaxReplans {
		return
	}
	w := a.s.replanning()
	if w == nil || w.tail != nil || a.e.replanner == nil || len(a.s.openDoubts()) > 0 {
		return
	}
	for _, other := range a.s.work {
		if other.phase == phaseDoubt {
			return
		}
	}
	if _, busy := a.e.replanning.LoadOrStore(a.id, true); busy {
		return
	}
	a.after(func(err error) {
		if err != nil {
			a.e.replanning.Delete(a.id)
			return
		}
		a.e.background(func() { a.e.makeReplan(a.id) })
	})
}

// makeReplan plans, stores the version and tells the run. The planner's answer is
// recorded first: a plan that is not stored or followed, because the daemon dies
// here, is made of it again, and the planner is not asked twice.
func (e *Engine) makeReplan(run string) {
	ctx, cancel := context.WithTimeout(e.base, replanTimeout)
	defer cancel()
	failpoint.Hit("replan.asked")
	m, err := e.planAnew(ctx, run)
	if context.Cause(e.base) != nil {
		e.replanning.Delete(run) // it is planned at the next start
		return
	}
	m.err, m.again = err, errors.Is(err, errNotKept)
	failpoint.Hit("replan.planned")
	if !e.post(run, m) {
		e.replanning.Delete(run)
	}
}

func (e *Engine) planAnew(ctx context.Context, run string) (replanMsg, error) {
	var m replanMsg
	v, err := e.view(ctx, run)
	if err != nil {
		return m, err
	}
	w := v.s.replanning()
	if w == nil || w.tail != nil {
		return m, domain.Errorf(domain.CodeConflict, "the run does not wait for a plan any more")
	}
	m.key = w.workKey
	version, err := e.store.VersionByHash(ctx, v.run.Hash)
	if err != nil {
		return m, err
	}
	req := domain.ReplanRequest{Run: v.run, Version: version, Node: v.prog.Nodes[w.Node].ID}
	if w.failure != nil {
		req.Failure = *w.failure
	}
	for _, d := range v.s.settled {
		n := &v.prog.Nodes[d.node]
		step := domain.ReplanStep{Node: n.ID, Task: n.Task, Agent: n.Agent, Status: d.status}
		if out, ok := v.s.walk.Output(n.ID); ok && d.status == domain.NodeCompleted {
			if step.Output, err = planner.EncodeValue(out); err != nil {
				return m, err
			}
		}
		req.Settled = append(req.Settled, step)
	}
	for _, other := range v.s.sorted() {
		if id := v.prog.Nodes[other.Node].ID; other != w && other.phase == phaseWaiting && !slices.Contains(req.Open, id) {
			req.Open = append(req.Open, id)
		}
	}
	out, err := e.askPlanner(ctx, run, w, req)
	if err != nil {
		m.usage = out.Usage
		return m, err
	}
	doc, problems := e.CheckPlan(out.Source, planner.FormatJSON)
	if err := problems.Err(); err != nil {
		return m, domain.Errorf(domain.CodeInvalid, "the new plan is not valid: %w", err)
	}
	if doc.ID != version.PlanKey {
		return m, domain.Errorf(domain.CodeInvalid, "the new plan is %q, not a version of %q", doc.ID, version.PlanKey)
	}
	if doc.Hash == version.Hash {
		return m, domain.Errorf(domain.CodeInvalid, "the new plan is the old one")
	}
	name, description := describe(doc)
	_, stored, _, err := e.store.PutVersion(ctx, domain.NewVersion{Key: doc.ID, Name: name, Description: description, Hash: doc.Hash, Kind: string(doc.Kind()),
		Format: string(doc.Format), Origin: kindReplan, Semantics: planner.Semantics, Source: doc.Source, Canonical: doc.Canonical(),
		ParentHash: version.Hash, Reason: out.Reason, Author: replanActor.Name}, replanActor)
	if err != nil {
		return m, err
	}
	m.tail, m.unsafe = tail{stored.Hash, stored.Number, out.Reason}, out.Unsafe
	return m, nil
}

// askPlanner gives the planner's answer: the one that is recorded, or a new one,
// which is durable before anything comes of it. Its usage is that row's.
func (e *Engine) askPlanner(ctx context.Context, run string, w *work, req domain.ReplanRequest) (domain.Replanned, error) {
	if row, ok := w.substeps[replanStep]; ok {
		var p planned
		if err := json.Unmarshal(row.Output, &p); err != nil {
			return domain.Replanned{}, corrupt(&row, "%v", err)
		}
		return domain.Replanned{Source: []byte(p.Source), Reason: p.Reason, Unsafe: p.Unsafe}, nil
	}
	out, err := e.replanner.Replan(ctx, req)
	if err != nil {
		return out, err
	}
	failpoint.Hit("replan.answered")
	m := answerMsg{w.workKey, out, make(chan error, 1)}
	if !e.post(run, m) {
		return domain.Replanned{}, ErrStopping
	}
	select {
	case err := <-m.reply:
		if err != nil {
			return out, fmt.Errorf("%w: %w", errNotKept, err)
		}
		return out, nil
	case <-ctx.Done():
		return domain.Replanned{}, context.Cause(ctx)
	}
}

// errNotKept says that an answer could not be recorded: the run has moved on, or its
// checkpoint was rejected. It is asked anew where the run stands then.
var errNotKept = errors.New("the planner's answer was not recorded")

// answerMsg brings the planner's answer, to be made durable.
type answerMsg struct {
	key   workKey
	out   domain.Replanned
	reply chan error
}

func (m answerMsg) answer(err error) { reply(m.reply, err) }

// keepAnswer records the planner's answer, with what it took.
func (a *actor) keepAnswer(m answerMsg) {
	w := a.s.work[m.key]
	if a.ended || w == nil || w.phase != phaseWaiting || w.reason != domain.WaitReplan {
		m.answer(ErrFenced)
		return
	}
	e := a.entry(domain.EntrySubstep, m.key)
	e.Status, e.Attempt, e.Substep, e.Usage = domain.NodeCompleted, w.attempt, replanStep, m.out.Usage
	e.Decision = payload{Kind: kindReplan}.json()
	e.Output = mustJSON(planned{string(m.out.Source), m.out.Reason, m.out.Unsafe})
	a.add(e)
	a.after(m.answer)
}

// replanActor is who stores new tails and makes runs follow them.
var replanActor = domain.Actor{Name: "supervisor", Role: domain.RoleAuthor, Surface: "engine"}

// replanned takes up a new tail.
func (a *actor) replanned(m replanMsg) {
	a.e.replanning.Delete(a.id)
	w := a.s.work[m.key]
	if m.again || a.ended || w == nil || w.phase != phaseWaiting || w.reason != domain.WaitReplan {
		return
	}
	switch {
	case m.err != nil:
		a.noReplan(w, m.err.Error(), m.usage)
	case len(m.unsafe) > 0:
		a.askTail(w, m)
	default:
		a.followTail(w, m.tail, m.usage, replanActor.Name)
	}
}

// noReplan lets the node's own failure stand.
func (a *actor) noReplan(w *work, why string, usage domain.Usage) {
	w.givenUp = true
	f := w.failure
	if f == nil {
		f = &domain.Failure{Code: planner.CodeFailed, Message: "failed"} // the row before the wait says it
	}
	a.final(w, domain.NodeFailed, nil, f, func(e *domain.Entry) {
		e.Attempt, e.Usage, e.Reason = w.attempt, usage, "no new plan: "+a.e.mask(clipText(why, 2000))
	})
}

// askTail asks a person to accept a tail with unsafe steps (ruling 41).
func (a *actor) askTail(w *work, m replanMsg) {
	node := a.prog.Nodes[w.Node].ID
	e := a.entry(domain.EntryWait, w.workKey)
	e.Status, e.Reason, e.Attempt, e.Usage = domain.NodeWaiting, string(domain.WaitApproval), w.attempt, m.usage
	e.Ref = derivedID("replan", a.id, node, w.Visit, w.item, int(a.s.seq)+1)
	e.Input = mustJSON(map[string]any{"message": tailQuestion(node, m.tail.Version, m.unsafe), "version": m.tail.Version, "reason": m.tail.Reason})
	e.Decision = payload{Kind: kindReplan, Tail: &m.tail}.json()
	a.add(e)
	a.dueDirty = true
	a.next.Approvals = append(a.next.Approvals, a.request(w))
}

func tailQuestion(node string, version int, unsafe []string) string {
	return fmt.Sprintf("After %s failed: follow version %d? New steps that cannot be repeated: %s.", node, version, strings.Join(unsafe, ", "))
}

// answerTail does what a person said of a tail.
func (a *actor) answerTail(w *work, t tail, approved bool, by, comment string) {
	a.dueDirty = true
	if !approved {
		a.noReplan(w, strings.TrimSuffix("version "+fmt.Sprint(t.Version)+" was rejected by "+by+": "+comment, ": "), domain.Usage{})
		return
	}
	a.followTail(w, t, domain.Usage{}, by)
}

// followTail makes the run follow a version: one row, by which a fold does the
// same. What is completed must stay completed.
func (a *actor) followTail(w *work, t tail, usage domain.Usage, by string) {
	e, next, dropped, prog, err := a.prepareTail(w, t, by)
	if err != nil {
		a.noReplan(w, err.Error(), usage)
		return
	}
	if a.hasFinal {
		a.flush()
	}
	e.Usage = usage
	a.next.Entries = append(a.next.Entries, *e)
	a.use(usage)
	for _, d := range dropped {
		if d.phase != phaseWaiting {
			continue
		}
		switch d.reason {
		case domain.WaitApproval:
			if d.tail == nil {
				a.closeApproval(d, by, "the run follows another plan")
			}
		case domain.WaitChild:
			child := d.ref
			a.after(func(err error) {
				if err == nil {
					a.e.background(func() { a.e.cancelChild(child) })
				}
			})
		}
	}
	a.s, a.prog = next, prog
	a.run.Hash, a.run.Version = t.Hash, t.Version
	p := patchOf(&a.next)
	p.Hash, p.Version = t.Hash, t.Version
	a.requeue()
	a.dueDirty = true
	a.after(func(err error) {
		if err == nil {
			a.e.changed(a.id)
		}
	})
	failpoint.Hit("replan.before")
	a.flush()
}

// prepareTail computes the replan row and the state that it leads to, by the
// code that forks a run onto another version.
func (a *actor) prepareTail(w *work, t tail, by string) (*domain.Entry, *state, []*work, *program, error) {
	ctx := context.WithoutCancel(a.e.base)
	prog, err := a.e.program(ctx, t.Hash)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	journal, err := a.journal(ctx)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	input, err := decode(a.run.Input)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	f := a.e.factsOf(ctx, a.run, input)
	v := &view{e: a.e, run: a.run, prog: a.prog, journal: journal, s: a.s}
	v.run.LastSeq = a.s.seq
	b := &branch{view: v, prog: prog, input: a.run.Input, preview: v.blank(""), s: newState(prog.Program, f)}
	b.s.remember(a.s.memory)
	var l lists
	if err := b.keep(domain.VerbRequest{At: a.s.seq}, &l, map[string]string{}); err != nil {
		return nil, nil, nil, nil, err
	}
	for _, d := range l.dropped {
		if d.Status == domain.NodeCompleted {
			return nil, nil, nil, nil, domain.Errorf(domain.CodeInvalid, "version %d does not keep the completed node %s: %s", t.Version, d.Node, d.Reason)
		}
	}
	r := replan{From: a.run.Hash, Before: a.run.Version, Hash: t.Hash, Version: t.Version, Node: a.prog.Nodes[w.Node].ID, Visit: w.Visit, Kept: b.kept}
	e := &domain.Entry{Seq: a.s.seq + 1, Kind: domain.EntryReplan, Item: noItem, Actor: by, At: a.e.now(), Decision: mustJSON(r),
		Reason: cmp.Or(t.Reason, "planned anew")}
	e.Failure = w.failure
	next, dropped, err := a.s.follow(f, e, journal)
	for _, d := range dropped {
		if id := a.prog.Nodes[d.Node].ID; d.attempt > 0 && d.VisitKey != w.VisitKey && !slices.Contains(r.Dropped, id) {
			r.Dropped = append(r.Dropped, id)
		}
	}
	e.Decision = mustJSON(r)
	return e, next, dropped, prog, err
}

func describe(d *planner.Document) (name, description string) {
	if d.Graph != nil {
		return d.Graph.Name, d.Graph.Description
	}
	return d.Steps.Name, d.Steps.Description
}
