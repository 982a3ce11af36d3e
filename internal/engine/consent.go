package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// CodeRejected: a person, or the time for an answer, refused a call.
const CodeRejected = "rejected"

// ErrAsked ends an attempt that cannot go on before a person has answered: the
// visit waits durably and its next attempt takes up the recorded sub-steps.
var ErrAsked = errors.New("a person is asked first")

// Question is a call that a person must allow: a tool and its exact arguments.
type Question struct {
	Tool string
	// Args are as the journal may hold them: secrets unresolved.
	Args any
}

// Gated is implemented by registries whose nodes may need a person's consent
// before they run (SPEC 6.3).
type Gated interface {
	// Gate is asked before an attempt with this input, secrets unresolved. A
	// question must be answered first; an error fails the node.
	Gate(plan string, node *planner.ProgramNode, input any) (*Question, error)
}

// consent is a question under way: that of the node's own call (n is 0), or of
// one sub-step of it.
type consent struct {
	n            int
	tool, digest string
	args         kairos.RawJSON
}

// grant is a person's word on exactly one call: another digest is another call.
type grant struct {
	digest      string
	approved    bool
	back        bool // no answer: the person asks something first
	by, comment string
}

const kindConsent = "ask"

// actionAskBack is the answer of a person who asks the agent something first.
const actionAskBack = "asked_back"

// consentTo binds a question to its exact arguments (ruling 38).
func (e *Engine) consentTo(n int, q Question) (consent, error) {
	raw, err := planner.EncodeValue(q.Args)
	if err != nil {
		return consent{}, &planner.Failure{Code: planner.CodeInvalidInput, Permanent: true, NoEffect: true,
			Message: fmt.Sprintf("arguments of %s: %s", q.Tool, err)}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s", q.Tool, raw))
	if secrets := e.current().Secrets; secrets != nil {
		raw = secrets.Mask(raw)
	}
	return consent{n: n, tool: q.Tool, digest: hex.EncodeToString(sum[:]), args: raw}, nil
}

// message is the question in one line, for lists.
func (c *consent) message(node string) string {
	args := clipText(string(c.args), 160)
	if c.n > 0 {
		return fmt.Sprintf("May the agent of step %s call %s with %s?", node, c.tool, args)
	}
	return fmt.Sprintf("May %s be called with %s?", c.tool, args)
}

// rejection is what a refused call fails with: permanently, and before anything
// was done.
func (g grant) rejection(tool string) *planner.Failure {
	if g.back {
		return &planner.Failure{Code: actionAskBack, Permanent: true, NoEffect: true,
			Message: fmt.Sprintf("the call of %s was not made: %s asks first: %s", tool, g.by, g.comment)}
	}
	f := &planner.Failure{Code: CodeRejected, Permanent: true, NoEffect: true, Message: fmt.Sprintf("the call of %s was rejected by %s", tool, g.by)}
	if g.comment != "" {
		f.Message += ": " + g.comment
	}
	return f
}

// approve is [Call.Approve].
func (t *attempt) approve(grants map[int]grant, n int, q Question) error {
	if n <= 0 {
		return errors.New("engine: sub-steps count from 1")
	}
	c, err := t.e.consentTo(n, q)
	if err != nil {
		return err
	}
	if g, ok := grants[n]; ok && g.digest == c.digest {
		if g.approved {
			return nil
		}
		return g.rejection(q.Tool)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = append(t.asked, c)
	return fmt.Errorf("%s: %w", q.Tool, ErrAsked)
}

// question is the first thing that the attempt asked, in the order of its
// sub-steps: the others are asked when it goes on.
func (t *attempt) question() (first consent, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.asked {
		if !ok || c.n < first.n {
			first, ok = c, true
		}
	}
	return first, ok
}

// gate asks a person before a node's own call, if its permission says so; true:
// the node does not run now.
func (a *actor) gate(r Registry, w *work, node *planner.ProgramNode, input any) (bool, *planner.Failure) {
	g, ok := r.(Gated)
	if !ok {
		return false, nil
	}
	q, err := g.Gate(a.run.PlanKey, node, input)
	if err != nil {
		return false, planner.AsFailure(err)
	}
	if q == nil {
		return false, nil
	}
	c, err := a.e.consentTo(0, *q)
	if err != nil {
		return false, planner.AsFailure(err)
	}
	if said, ok := w.grants[0]; ok && said.approved && said.digest == c.digest {
		return false, nil
	}
	a.pop(w.workKey)
	a.askConsent(w, c, nil)
	return true, nil
}

// parks lets a visit wait for the person whom its attempt asked; false: the
// attempt has ended otherwise.
func (a *actor) parks(t *attempt, w *work, r Result, err error) bool {
	c, asked := t.question()
	if !asked || !errors.Is(err, ErrAsked) || len(w.flying) > 0 || a.s.cancelled {
		return false
	}
	fill := func(e *kairos.Entry) {
		e.Attempt, e.StartedAt, e.Log, e.Usage, e.Agent = t.number, t.started, t.log.stored(), r.Usage, cmp.Or(r.Agent, t.node.Agent)
	}
	if a.s.stops(w) && !a.prog.ContinueBranches {
		a.final(w, kairos.NodeCancelled, nil, nil, fill) // nobody is asked for a run that stops (ruling 6)
		return true
	}
	a.askConsent(w, c, fill)
	return true
}

// askConsent opens the question: a durable row and an entry of the inbox.
func (a *actor) askConsent(w *work, c consent, fill func(*kairos.Entry)) {
	node := a.prog.Nodes[w.Node].ID
	now := a.e.now()
	p := kairos.Approval{
		// Every question is one of its own: the position in the journal names it.
		ID: derivedID("consent", a.id, node, w.Visit, w.item, int(a.s.seq)+1), Run: a.id, PlanKey: a.run.PlanKey,
		Node: node, Visit: w.Visit, Item: w.item, Message: c.message(node), Tool: c.tool, Arguments: c.args,
		Status: "open", OnTimeout: "reject", CreatedAt: now, StartedBy: a.run.Actor,
	}
	meta := a.prog.Nodes[w.Node].Metadata
	p.Label, p.YesWord, p.NoWord = meta["risk"], meta["approve"], meta["reject"]
	if c.n > 0 {
		p.Agent, p.MayAsk = cmp.Or(a.s.agents[w.Node], a.prog.Nodes[w.Node].Agent, "agent"), true
	}
	if timeout := a.e.current().ConsentTimeout; timeout > 0 {
		p.DueAt = now.Add(timeout)
	}
	p.Digest = approvalDigest(&p, map[string]any{"substep": c.n, "call": c.digest, "due": p.DueAt.UnixMicro()})
	e := a.entry(kairos.EntryWait, w.workKey)
	e.Status, e.Reason, e.Effect = kairos.NodeWaiting, string(kairos.WaitApproval), string(planner.EffectControl)
	e.Attempt, e.Substep, e.StartedAt, e.Input, e.Ref, e.DueAt = w.attempt, c.n, now, c.args, p.ID, p.DueAt
	if c.n == 0 {
		e.Attempt++ // the attempt that it precedes
	}
	e.Decision = payload{Kind: kindConsent, Tool: c.tool, Digest: c.digest}.json()
	if fill != nil {
		fill(&e)
	}
	a.add(e)
	a.dueDirty = true
	p.Rev = a.s.seq
	a.next.Approvals = append(a.next.Approvals, p)
}

// answerConsent lets the visit go on: with its call, or with the rejection as
// the node's failure or, in a conversation, as the tool's answer (ruling 21).
func (a *actor) answerConsent(w *work, c consent) {
	a.dueDirty = true
	if g := w.grants[c.n]; !g.approved && c.n == 0 {
		a.final(w, kairos.NodeFailed, nil, fromPlanner(g.rejection(c.tool), a.prog.Nodes[w.Node].ID), func(e *kairos.Entry) { e.Attempt = w.attempt + 1 })
		return
	}
	a.queue = append(a.queue, w.workKey)
}

// asks takes up the row of a question.
func (s *state) asks(w *work, e *kairos.Entry, p payload) {
	w.consent = &consent{n: e.Substep, tool: p.Tool, digest: p.Digest, args: e.Input}
	// The failure of an earlier attempt is no reason to forget what this one did.
	w.failure = nil
	if e.Substep == 0 {
		w.attempt = e.Attempt - 1 // the attempt has not begun
	}
}

// answered takes up the answer to a question.
func (s *state) answered(w *work, e *kairos.Entry, action string) {
	c := w.consent
	if w.grants == nil {
		w.grants = map[int]grant{}
	}
	w.grants[c.n] = grant{digest: c.digest, approved: action == "approved", back: action == actionAskBack, by: e.Actor, comment: e.Reason}
	w.consent = nil
	s.move(w, phaseReady)
}

// forgetSubsteps drops what an error retry starts anew (ruling 21); the consent
// to the node's own call holds in all attempts of the visit.
func (w *work) forgetSubsteps() {
	w.substeps = nil
	for n := range w.grants {
		if n > 0 {
			delete(w.grants, n)
		}
	}
}
