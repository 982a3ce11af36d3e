package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/internal/versions"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// decideMsg contains a person's answer to an approval request.
type decideMsg struct {
	actor    domain.Actor
	req      domain.DecideRequest
	given    domain.Answer   // an answer of the approval; zero if the person requested changes
	approval domain.Approval // as the person saw it
	reply    reply[domain.Approval]
}

func (m decideMsg) answer(err error) { m.reply.give(domain.Approval{}, err) }

// callsPlan reports whether an actor is the program that called the plan of a run, or of its ancestor, as a
// tool. Commands over the local socket are those of a person.
func callsPlan(ctx context.Context, e *Engine, actor domain.Actor, run string) (bool, error) {
	if actor.Source == "cli" {
		return false, nil
	}
	r, err := e.store.Run(ctx, run)
	for err == nil && r.Parent != nil {
		r, err = e.store.Run(ctx, r.Parent.Run)
	}
	return domain.IsProtocol(actor.Source) || domain.IsProtocol(r.Origin) && r.Actor == actor.Name, err
}

// Decide answers an approval request. If a digest is given, it must match the request. Values are
// validated against the form.
func (e *Engine) Decide(ctx context.Context, actor domain.Actor, req domain.DecideRequest) (domain.Approval, error) {
	object := "approval:" + req.Approval
	p, err := e.store.Approval(ctx, req.Approval)
	if err != nil {
		return domain.Approval{}, err
	}
	if e.current().SeparateApprovals {
		same, err := e.opts.samePerson(ctx, p.StartedBy, actor.Name)
		if err != nil {
			return p, err
		}
		if same {
			err := domain.Errorf(domain.CodeForbidden, "%s started the run and cannot answer its approval requests", actor.Name).
				Suggest("ask another operator")
			return p, e.denied(ctx, actor, "approval.decide", p.Run, object, err)
		}
	}
	if calls, err := callsPlan(ctx, e, actor, p.Run); err != nil {
		return p, err
	} else if calls {
		err := domain.Errorf(domain.CodeForbidden, "a program that calls a plan cannot answer its approval requests").
			Suggest("a person decides on the dashboard or with kairos approve")
		return p, e.denied(ctx, actor, "approval.decide", p.Run, object, err)
	}
	answer, err := CheckDecision(ctx, p, &req)
	if err != nil {
		return p, err
	}
	if r := &e.starts.remote; r.Remote != nil {
		return r.decide(ctx, &runstate.ApprovalDecided{Actor: actor, Request: req, Answer: answer, Approval: p})
	}
	m := decideMsg{actor, req, answer, p, newReply[domain.Approval]()}
	decided, err := askRun(ctx, e, p.Run, m, m.reply)
	if err != nil {
		return p, err
	}
	return decided, nil
}

// CheckDecision returns the answer that a person gives to an approval request, or the error that refuses it. It adds
// the values of an empty form to the decision.
func CheckDecision(ctx context.Context, p domain.Approval, req *domain.DecideRequest) (answer domain.Answer, err error) {
	if p.Status != "pending" {
		by := cmp.Or(p.DecidedBy, "the system")
		if !p.Text.IsZero() {
			return answer, domain.Errorf(domain.CodeConflict, "the approval request was already %s by %s: %s", p.Status, by, p.Text)
		}
		return answer, domain.Errorf(domain.CodeConflict, "the approval request was already %s by %s", p.Status, by)
	}
	if req.Digest != "" && req.Digest != p.Digest {
		return answer, domain.Errorf(domain.CodeStale, "the request has changed since you opened it").
			Suggest("read it again, then retry")
	}
	if req.RequestChanges {
		switch {
		case !p.MayAsk:
			return answer, domain.Errorf(domain.CodeInvalid, "only approval requests of agents support request_changes").
				Suggest("approve or reject")
		case req.Answer != "" || req.Approve || len(req.Values) > 0:
			return answer, domain.Errorf(domain.CodeInvalid, "send either an answer or a request for changes")
		case strings.TrimSpace(req.Comment) == "":
			return answer, domain.Errorf(domain.CodeInvalid, "enter the changes that you request")
		}
	}
	if !req.RequestChanges {
		var err error
		if answer, err = p.AnswerOf(*req); err != nil {
			return answer, err
		}
	}
	if !req.RequestChanges && !answer.Rejects() && len(p.Form) > 0 {
		if len(req.Values) == 0 {
			req.Values = domain.RawJSON("{}") // a form without any values
		}
		if err := versions.CheckStored(ctx, p.Form, req.Values, "answer"); err != nil {
			return answer, err
		}
	}
	if len(req.Values) > 0 {
		if _, err := jsonvalue.Decode(req.Values); err != nil {
			return answer, domain.Errorf(domain.CodeInvalid, "values: %w", err)
		}
	}
	return answer, nil
}

// samePerson reports whether one person may be behind both names. A person does not become two
// people by creating a token.
func (o *Options) samePerson(ctx context.Context, a, b string) (bool, error) {
	if a == b || o.People == nil {
		return a == b, nil
	}
	first, err := o.People(ctx, a)
	if err != nil {
		return false, fmt.Errorf("find the user %s: %w", a, err)
	}
	second, err := o.People(ctx, b)
	if err != nil {
		return false, fmt.Errorf("find the user %s: %w", b, err)
	}
	return slices.ContainsFunc(first, func(who string) bool { return slices.Contains(second, who) }), nil
}

func (m decideMsg) apply(a *runner) {
	a.flushFirst()
	ev := &runstate.ApprovalDecided{Actor: m.actor, Request: m.req, Answer: m.given, Approval: m.approval}
	if w := a.m.State.WaitingFor(m.approval.ID); w != nil && w.ReplanTarget != nil && !m.req.RequestChanges && !m.given.Rejects() {
		ev.Version = a.newVersion(*w.ReplanTarget)
	}
	if err := a.decide(ev); err != nil {
		a.answerLater(m, err)
		return
	}
	failpoint.Hit("decide.before")
	a.pipe.after(func(err error) {
		failpoint.Hit("decide.durable")
		m.reply.give(ev.Approval, err)
	})
}
