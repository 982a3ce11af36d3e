package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

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
// before they run.
type Gated interface {
	// Gate is asked before an attempt with this input, secrets unresolved. A
	// question must be answered first; an error fails the node.
	Gate(plan string, node *walk.ProgramNode, input any) (*Question, error)
}

// consentTo binds a question to its exact arguments.
func (e *Engine) consentTo(n int, q Question) (runstate.ConsentRequest, error) {
	raw, err := jsonvalue.Encode(q.Args)
	if err != nil {
		return runstate.ConsentRequest{}, &walk.Failure{Code: walk.CodeInvalidInput, Permanent: true, NoEffect: true,
			Message: fmt.Sprintf("arguments of %s: %s", q.Tool, err)}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s", q.Tool, raw))
	if secrets := e.current().Secrets; secrets != nil {
		if raw, err = jsonvalue.Encode(maskValue(secrets, q.Args)); err != nil {
			return runstate.ConsentRequest{}, inputFailure(q.Tool, err)
		}
	}
	return runstate.ConsentRequest{Substep: n, Tool: q.Tool, Digest: hex.EncodeToString(sum[:]), Args: raw}, nil
}

// approve is [Call.Approve].
func (t *attempt) approve(grants map[int]runstate.ConsentAnswer, n int, q Question) error {
	if n <= 0 {
		return errors.New("engine: sub-steps count from 1")
	}
	c, err := t.e.consentTo(n, q)
	if err != nil {
		return err
	}
	if g, ok := grants[n]; ok && g.Digest == c.Digest {
		if g.Approved {
			return nil
		}
		return g.Rejection(q.Tool)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = append(t.asked, c)
	return fmt.Errorf("%s: %w", q.Tool, ErrAsked)
}

// question is the first thing that the attempt asked, in the order of its
// sub-steps: the others are asked when it goes on.
func (t *attempt) question() (first runstate.ConsentRequest, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.asked {
		if !ok || c.Substep < first.Substep {
			first, ok = c, true
		}
	}
	return first, ok
}

// gate asks a person before a node's own call, if its permission says so; true:
// the node does not run now.
func (a *runner) gate(r Registry, w *runstate.Step, node *walk.ProgramNode, input any) (bool, *walk.Failure) {
	g, ok := r.(Gated)
	if !ok {
		return false, nil
	}
	q, err := g.Gate(a.run.PlanKey, node, input)
	if err != nil {
		return false, walk.AsFailure(err)
	}
	if q == nil {
		return false, nil
	}
	c, err := a.e.consentTo(0, *q)
	if err != nil {
		return false, walk.AsFailure(err)
	}
	if said, ok := w.Answers[0]; ok && said.Approved && said.Digest == c.Digest {
		return false, nil
	}
	a.ready.pop(w.StepKey)
	a.askConsent(w, c, nil)
	return true, nil
}

// parks lets a visit wait for the person whom its attempt asked; false: the
// attempt has ended otherwise.
func (a *runner) parks(t *attempt, w *runstate.Step, r Result, err error) bool {
	c, asked := t.question()
	if !asked || !errors.Is(err, ErrAsked) || len(w.CallsInFlight) > 0 || a.s.Cancelled {
		return false
	}
	fill := func(e *domain.Entry) {
		e.Attempt, e.StartedAt, e.Log, e.Usage, e.Agent = t.number, t.started, t.log.stored(), r.Usage, cmp.Or(r.Agent, t.node.Agent)
		if t.effect == walk.EffectPure { // the attempt has no row before this one
			e.Effect = string(t.effect)
		}
	}
	if a.s.StoppedWithRun(w) {
		a.final(w, domain.NodeCancelled, nil, nil, fill) // nobody is asked for a run that stops
		return true
	}
	a.askConsent(w, c, fill)
	return true
}

// askConsent opens the question: a durable row and an entry of the inbox.
func (a *runner) askConsent(w *runstate.Step, c runstate.ConsentRequest, fill func(*domain.Entry)) {
	e := a.entry(domain.EntryWait, w.StepKey)
	e.Status, e.Reason, e.Effect = domain.NodeWaiting, string(domain.WaitApproval), string(walk.EffectControl)
	e.Attempt, e.Substep, e.StartedAt, e.Input = w.Attempt, c.Substep, e.At, c.Args
	// Every request is one of its own: the position in the journal names it.
	e.Ref = runstate.DerivedID("consent", a.id, e.Node, w.Visit, w.Item, int(a.s.Seq)+1)
	if timeout := a.e.current().ConsentTimeout; timeout > 0 {
		e.DueAt = e.At.Add(timeout)
	}
	if c.Substep == 0 {
		e.Attempt++ // the attempt that it precedes
	}
	e.Decision = runstate.WaitDecision{Kind: runstate.KindConsent, Tool: c.Tool, Digest: c.Digest}.JSON()
	if fill != nil {
		fill(&e)
	}
	a.add(e)
	a.dueDirty = true
	a.pipe.next.Approvals = append(a.pipe.next.Approvals, a.request(w))
}

// answerConsent lets the visit go on: with its call, or with the rejection as
// the node's failure or, in a conversation, as the tool's answer.
func (a *runner) answerConsent(w *runstate.Step, c runstate.ConsentRequest) {
	a.dueDirty = true
	if g := w.Answers[c.Substep]; !g.Approved && c.Substep == 0 {
		a.final(w, domain.NodeFailed, nil, runstate.FromPlanner(g.Rejection(c.Tool), a.prog.Nodes[w.Node].ID), func(e *domain.Entry) { e.Attempt = w.Attempt + 1 })
		return
	}
	a.ready.push(w.StepKey)
}
