package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// CodeRejected: a person, or the time for an answer, refused a call.
const CodeRejected = planner.CodeRejected

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
	args         domain.RawJSON
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
		if raw, err = planner.EncodeValue(maskValue(secrets, q.Args)); err != nil {
			return consent{}, inputFailure(q.Tool, err)
		}
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
	fill := func(e *domain.Entry) {
		e.Attempt, e.StartedAt, e.Log, e.Usage, e.Agent = t.number, t.started, t.log.stored(), r.Usage, cmp.Or(r.Agent, t.node.Agent)
		if t.effect == planner.EffectPure { // the attempt has no row before this one
			e.Effect = string(t.effect)
		}
	}
	if a.s.stops(w) {
		a.final(w, domain.NodeCancelled, nil, nil, fill) // nobody is asked for a run that stops
		return true
	}
	a.askConsent(w, c, fill)
	return true
}

// askConsent opens the question: a durable row and an entry of the inbox.
func (a *actor) askConsent(w *work, c consent, fill func(*domain.Entry)) {
	e := a.entry(domain.EntryWait, w.workKey)
	e.Status, e.Reason, e.Effect = domain.NodeWaiting, string(domain.WaitApproval), string(planner.EffectControl)
	e.Attempt, e.Substep, e.StartedAt, e.Input = w.attempt, c.n, e.At, c.args
	// Every request is one of its own: the position in the journal names it.
	e.Ref = derivedID("consent", a.id, e.Node, w.Visit, w.item, int(a.s.seq)+1)
	if timeout := a.e.current().ConsentTimeout; timeout > 0 {
		e.DueAt = e.At.Add(timeout)
	}
	if c.n == 0 {
		e.Attempt++ // the attempt that it precedes
	}
	e.Decision = payload{Kind: kindConsent, Tool: c.tool, Digest: c.digest}.json()
	if fill != nil {
		fill(&e)
	}
	a.add(e)
	a.dueDirty = true
	a.next.Approvals = append(a.next.Approvals, a.request(w))
}

// answerConsent lets the visit go on: with its call, or with the rejection as
// the node's failure or, in a conversation, as the tool's answer (ruling 21).
func (a *actor) answerConsent(w *work, c consent) {
	a.dueDirty = true
	if g := w.grants[c.n]; !g.approved && c.n == 0 {
		a.final(w, domain.NodeFailed, nil, fromPlanner(g.rejection(c.tool), a.prog.Nodes[w.Node].ID), func(e *domain.Entry) { e.Attempt = w.attempt + 1 })
		return
	}
	a.queue = append(a.queue, w.workKey)
}

// asks takes up the row of a question.
func (s *state) asks(w *work, e *domain.Entry, p payload) {
	w.consent = &consent{n: e.Substep, tool: p.Tool, digest: p.Digest, args: e.Input}
	// The failure of an earlier attempt is no reason to forget what this one did.
	w.failure = nil
	if e.Substep == 0 {
		w.attempt = e.Attempt - 1 // the attempt has not begun
	}
}

// answered takes up the answer to a question.
func (s *state) answered(w *work, e *domain.Entry, action string) {
	c := w.consent
	if w.grants == nil {
		w.grants = map[int]grant{}
	}
	w.grants[c.n] = grant{digest: c.digest, approved: action == "approved", back: action == actionAskBack, by: e.Actor, comment: e.Reason}
	w.consent = nil
	s.move(w, phaseReady)
}

// leave returns what the work keeps for a resume, after its final row e: a cancelled
// attempt continues behind all recorded sub-steps, and a failed one as a retry does.
func (w *work) leave(e *domain.Entry) past {
	if e.Status == domain.NodeFailed {
		w.forgetSubsteps()
	}
	delete(w.substeps, replanStep) // another failure needs another plan
	p := past{attempt: max(w.attempt, e.Attempt), retries: w.retries, substeps: w.substeps}
	for n, g := range w.grants {
		if _, made := w.substeps[n]; made {
			if p.grants == nil {
				p.grants = map[int]grant{}
			}
			p.grants[n] = g
		}
	}
	return p
}

// forgetSubsteps drops what an error retry starts over; the consent to the node's
// own call holds in all attempts of the visit. Once a non-idempotent call has
// completed, nothing may be started over, because that call would be sent again:
// the retry continues behind what is recorded, and repeats only the model call
// that failed.
func (w *work) forgetSubsteps() {
	for _, e := range w.substeps {
		if e.Effect != string(planner.EffectUnsafe) || e.Status != domain.NodeCompleted {
			continue
		}
		maps.DeleteFunc(w.substeps, func(_ int, e domain.Entry) bool { return e.Status == domain.NodeFailed && kindOf(&e) == kindModel })
		return
	}
	w.substeps = nil
	for n := range w.grants {
		if n > 0 {
			delete(w.grants, n)
		}
	}
}
