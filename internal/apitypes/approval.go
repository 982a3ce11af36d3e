package apitypes

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Approval is an approval request.
type Approval struct {
	ID        string          `json:"id"`
	Run       string          `json:"run" doc:"The run's id."`
	Plan      domain.PlanRef  `json:"plan"`
	Node      string          `json:"node" doc:"The step that waits."`
	Visit     int             `json:"visit" doc:"The iteration of the step."`
	Item      int             `json:"item" doc:"The index in a foreach; -1: none."`
	Message   string          `json:"message" doc:"The request."`
	Form      domain.RawJSON  `json:"form,omitempty" doc:"JSON Schema of the values that an answer requires."`
	Digest    string          `json:"digest" doc:"SHA-256 of the request."`
	Status    string          `json:"status" enum:"pending,approved,rejected,changes_requested,expired,cancelled"`
	OnTimeout string          `json:"onTimeout,omitempty" enum:"approve,reject,fail" doc:"Effect of a missed deadline."`
	DueAt     time.Time       `json:"dueAt,omitzero" doc:"The deadline; absent: none."`
	CreatedAt time.Time       `json:"createdAt"`
	StartedBy string          `json:"startedBy,omitempty" doc:"Principal that started the run."`
	Agent     string          `json:"agent,omitempty" doc:"The agent that requests approval; absent: the plan does."`
	Label     string          `json:"label,omitempty" doc:"Consequence of the decision, as the plan states it."`
	Answers   []domain.Answer `json:"answers" doc:"The answers that the request accepts."`
	Assignee  string          `json:"assignee,omitempty" doc:"User assigned to answer; absent: anyone with the role."`
	Tool      string          `json:"tool,omitempty" doc:"The tool to call; absent for an approval step."`
	Arguments domain.RawJSON  `json:"arguments,omitempty" doc:"The arguments of the call. Secrets are not resolved."`
	ApprovalDecision
}

// ApprovalDecision is the decision on a request.
type ApprovalDecision struct {
	Answer    string         `json:"answer,omitempty" doc:"The id of the chosen answer."`
	Comment   string         `json:"comment,omitempty" doc:"The comment of who decided."`
	Values    domain.RawJSON `json:"values,omitempty" doc:"The values of the form."`
	DecidedAt time.Time      `json:"decidedAt,omitzero" doc:"Time at which it was answered; absent: it is pending."`
	DecidedBy string         `json:"decidedBy,omitempty" doc:"Principal that answered."`
}

// ApprovalOf returns a request as the API sends it.
func ApprovalOf(p domain.Approval) Approval {
	return Approval{ID: p.ID, Run: p.Run, Plan: domain.PlanRef{Key: p.PlanKey}, Node: p.Node, Visit: p.Visit, Item: p.Item,
		Message: p.Message, Form: p.Form, Digest: p.Digest, Status: p.Status,
		OnTimeout: p.OnTimeout, DueAt: p.DueAt,
		CreatedAt: p.CreatedAt, StartedBy: p.StartedBy, Agent: p.Agent, Label: p.Label, Answers: p.Offered(), Assignee: p.Assignee,
		Tool: p.Tool, Arguments: p.Arguments,
		ApprovalDecision: ApprovalDecision{p.Answer, p.Comment, p.Values, p.DecidedAt, p.DecidedBy}}
}

// Domain returns the request as the domain has it.
func (a Approval) Domain() domain.Approval {
	p := domain.Approval{ID: a.ID, Run: a.Run, PlanKey: a.Plan.Key, Node: a.Node, Visit: a.Visit, Item: a.Item, Message: a.Message,
		Form: a.Form, Tool: a.Tool, Arguments: a.Arguments, Digest: a.Digest, Status: a.Status,
		OnTimeout: a.OnTimeout, DueAt: a.DueAt,
		CreatedAt: a.CreatedAt, StartedBy: a.StartedBy, Agent: a.Agent, Label: a.Label, Assignee: a.Assignee,
		ApprovalDecision: domain.ApprovalDecision{DecidedAt: a.DecidedAt, DecidedBy: a.DecidedBy, Comment: a.Comment, Values: a.Values,
			Answer: a.Answer}}
	for _, x := range a.Answers {
		if x.Kind == domain.AnswerRequestChanges {
			p.MayAsk = true
			continue
		}
		p.Choices = append(p.Choices, x)
	}
	return p
}

// ApprovalDecide answers a request.
type ApprovalDecide struct {
	Answer  string         `json:"answer" minLength:"1" maxLength:"128" doc:"The id of one of the request's answers." example:"approve"`
	Comment string         `json:"comment,omitempty" maxLength:"2000"`
	Values  domain.RawJSON `json:"values,omitempty" doc:"The values of the form."`
	Digest  string         `json:"digest,omitempty" maxLength:"128" doc:"The digest of the request; 409 if it has changed."`
}

// ApprovalAssign assigns a request.
type ApprovalAssign struct {
	Assignee string `json:"assignee" maxLength:"128" doc:"User assigned to answer; empty: anyone with the role." example:"marta"`
	Reason   string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
}
