package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/internal/versions"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// ask opens an approval: a durable row and a request in the inbox.
func (a *runner) ask(w *runstate.Step, node *walk.ProgramNode, input any) {
	in, err := runstate.ReadApproval(input)
	if err == nil {
		_, err = jsonvalue.Encode(input)
	}
	if err != nil {
		a.refuse(w, &walk.Failure{Code: walk.CodeInvalidInput, Node: node.ID, Message: fmt.Sprintf("node %q: %s", node.ID, err)})
		return
	}
	a.waitRow(w, domain.WaitApproval, input, func(e *domain.Entry) {
		e.Ref = runstate.DerivedID("approval", a.id, node.ID, w.Visit, w.Item, int(a.s.Seq)+1) // each request is one of its own
		e.Decision = runstate.WaitDecision{Kind: runstate.KindApproval, Digest: runstate.ApprovalBinding(&a.run, a.prog, a.s, w.VisitKey, w.Item, input)}.JSON()
		if in.Timeout > 0 {
			e.DueAt = e.At.Add(in.Timeout)
		}
	})
	a.pipe.next.Approvals = append(a.pipe.next.Approvals, a.request(w))
}

// request is the open approval that the step waits for.
func (a *runner) request(w *runstate.Step) domain.Approval {
	return runstate.ApprovalRequest(&a.run, a.s, w)
}

// decideMsg carries a person's answer to an approval.
type decideMsg struct {
	actor    domain.Actor
	req      domain.DecideRequest
	given    domain.Answer   // of the approval's; none when the agent is asked back
	approval domain.Approval // as the person saw it
	reply    reply[domain.Approval]
}

func (m decideMsg) answer(err error) { m.reply.give(domain.Approval{}, err) }

// Decide answers an approval. The digest, if given, must be that of the
// question; values are checked against its form.
func (e *Engine) Decide(ctx context.Context, actor domain.Actor, req domain.DecideRequest) (domain.Approval, error) {
	object := "approval:" + req.Approval
	p, err := e.store.Approval(ctx, req.Approval)
	if err != nil {
		return domain.Approval{}, err
	}
	if e.current().SeparateApprovals {
		same, err := e.samePerson(ctx, p.StartedBy, actor.Name)
		if err != nil {
			return p, err
		}
		if same {
			err := domain.Errorf(domain.CodeForbidden, "%s started the run and may not answer its approvals", actor.Name).
				Suggest("ask another operator")
			return p, e.denied(ctx, actor, "approval.decide", p.Run, object, err)
		}
	}
	if p.Status != "open" {
		err := domain.Errorf(domain.CodeConflict, "the approval was %s by %s already", p.Status, cmp.Or(p.DecidedBy, "the system"))
		if p.DecidedBy == domain.System.Name && p.Comment != "" {
			err.Message += ": " + p.Comment
		}
		return p, err
	}
	if req.Digest != "" && req.Digest != p.Digest {
		return p, domain.Errorf(domain.CodeStale, "the question has changed since you looked").Suggest("read it again, then decide")
	}
	if req.AskBack {
		switch {
		case !p.MayAsk:
			return p, domain.Errorf(domain.CodeInvalid, "nobody can be asked back: the plan asks this, not an agent").Suggest("approve or reject")
		case req.Answer != "" || req.Approve || len(req.Values) > 0:
			return p, domain.Errorf(domain.CodeInvalid, "to ask back is no answer")
		case strings.TrimSpace(req.Comment) == "":
			return p, domain.Errorf(domain.CodeInvalid, "say what you want to know")
		}
	}
	var answer domain.Answer
	if !req.AskBack {
		if answer, err = p.AnswerOf(req); err != nil {
			return p, err
		}
	}
	if !req.AskBack && !answer.Rejects() && len(p.Form) > 0 {
		if len(req.Values) == 0 {
			req.Values = domain.RawJSON("{}") // a form of which nothing was filled in
		}
		if err := versions.CheckStored(ctx, p.Form, req.Values, "answer"); err != nil {
			return p, err
		}
	}
	if len(req.Values) > 0 {
		if _, err := jsonvalue.Decode(req.Values); err != nil {
			return p, domain.Errorf(domain.CodeInvalid, "values: %w", err)
		}
	}
	m := decideMsg{actor, req, answer, p, newReply[domain.Approval]()}
	decided, err := askRun(ctx, e, p.Run, m, m.reply)
	if err != nil {
		return p, err
	}
	return decided, nil
}

// samePerson reports whether one person may be behind both names: nobody is two
// people by making a token.
func (e *Engine) samePerson(ctx context.Context, a, b string) (bool, error) {
	if a == b || e.opts.People == nil {
		return a == b, nil
	}
	first, err := e.opts.People(ctx, a)
	if err != nil {
		return false, fmt.Errorf("find who %s is: %w", a, err)
	}
	second, err := e.opts.People(ctx, b)
	if err != nil {
		return false, fmt.Errorf("find who %s is: %w", b, err)
	}
	return slices.ContainsFunc(first, func(who string) bool { return slices.Contains(second, who) }), nil
}

// decide applies a person's answer.
func (a *runner) decide(m decideMsg) {
	p := m.approval
	w := a.s.WaitingFor(p.ID)
	if w == nil {
		m.answer(domain.Errorf(domain.CodeConflict, "the approval is not open any more"))
		return
	}
	action := "approved"
	switch {
	case m.req.AskBack:
		action = runstate.ActionAskedBack
	case m.given.Rejects():
		action = "rejected"
	}
	p.Answer, p.Status, p.DecidedAt, p.DecidedBy, p.Comment, p.Values = m.given.ID, action, a.e.now(), m.actor.Name, m.req.Comment, m.req.Values
	act := "approval.decide"
	if m.req.AskBack {
		act = "approval.ask_back"
	}
	a.record(m.req.Receipt, p.ID, domain.AuditRecord{Action: act, Actor: m.actor.Name, Surface: m.actor.Surface, Request: m.actor.Request,
		Run: a.id, Object: "approval:" + p.ID, Reason: m.req.Comment, Detail: detail(map[string]any{"decision": action, "answer": p.Answer, "digest": p.Digest, "node": p.Node})})
	failpoint.Hit("decide.before")
	a.answerApproval(w, p, action, m.actor.Name, m.req.Comment)
	a.pipe.after(func(err error) {
		failpoint.Hit("decide.durable")
		m.reply.give(p, err)
	})
}

// answerApproval records the end of an approval and settles its node.
func (a *runner) answerApproval(w *runstate.Step, p domain.Approval, action, by, comment string) {
	if a.pipe.hasFinal {
		a.flush()
	}
	asked, tail := w.Consent, w.ReplanTarget
	e := a.entry(domain.EntryResolve, w.StepKey)
	e.Decision, e.Ref, e.Actor, e.Reason, e.Attempt = runstate.ResolveDecision{Action: action, Answer: p.Answer}.JSON(), p.ID, by, comment, w.Attempt
	a.add(e)
	a.pipe.next.Approvals = append(a.pipe.next.Approvals, p)
	if asked != nil {
		a.answerConsent(w, *asked)
		return
	}
	if tail != nil {
		a.answerTail(w, *tail, action == "approved", by, comment)
		return
	}
	values, err := runstate.Decode(p.Values)
	if err != nil {
		values = nil
	}
	a.dueDirty = true
	if action == "expired" && p.OnTimeout == "fail" {
		a.final(w, domain.NodeFailed, nil, &domain.Failure{Code: walk.CodeTimeout, Permanent: true, NoEffect: true,
			Message: fmt.Sprintf("nobody answered within the time given: %s", p.Message)}, nil)
		return
	}
	approved := action == "approved" || action == "expired" && p.OnTimeout == "approve"
	node := &a.prog.Nodes[w.Node]
	out, rejected := node.Answered(p.Answer, approved, by, comment, values)
	if rejected != nil {
		a.final(w, domain.NodeFailed, nil, runstate.FromPlanner(rejected, node.ID), nil)
		return
	}
	a.final(w, domain.NodeCompleted, out, nil, nil)
}

// approvalExpired applies on_timeout.
func (a *runner) approvalExpired(w *runstate.Step) {
	p := a.request(w)
	p.Status, p.DecidedAt, p.DecidedBy = "expired", a.e.now(), domain.System.Name
	if p.OnTimeout != "fail" { // a rejection may have no answer of its own
		given, err := p.AnswerOf(domain.DecideRequest{Approve: p.OnTimeout == "approve"})
		if err != nil {
			given.ID = "reject"
		}
		p.Answer = given.ID
	}
	a.answerApproval(w, p, "expired", domain.System.Name, "nobody answered in time")
}

// closeApproval withdraws the request that the work waits for.
func (a *runner) closeApproval(w *runstate.Step, by, comment string) {
	p := a.request(w) //seed:close-approval
	p.Status, p.DecidedAt, p.DecidedBy, p.Comment = "cancelled", a.e.now(), by, comment
	a.pipe.next.Approvals = append(a.pipe.next.Approvals, p)
}

// reopenApprovals opens the requests again that were withdrawn when the run was set
// aside. A request that is open stays as it is.
func (a *runner) reopenApprovals() {
	for _, w := range a.s.OpenSteps() {
		if w.Phase == runstate.PhaseWaiting && w.Reason == domain.WaitApproval {
			a.pipe.next.Approvals = append(a.pipe.next.Approvals, a.request(w))
		}
	}
}

func detail(v map[string]any) domain.RawJSON {
	b, err := json.Marshal(v)
	if err != nil {
		return nil // plain values only
	}
	return b
}
