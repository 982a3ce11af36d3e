package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// ApprovalView is an approval on the wire.
type ApprovalView struct {
	ID        string          `json:"id"`
	Run       string          `json:"run"`
	Plan      string          `json:"plan"`
	Node      string          `json:"node"`
	Visit     int             `json:"visit"`
	Item      int             `json:"item" doc:"Index in a foreach; -1: none."`
	Message   string          `json:"message"`
	Form      domain.RawJSON  `json:"form,omitempty" doc:"JSON Schema of the values asked for."`
	Digest    string          `json:"digest" doc:"Names exactly what is approved."`
	OnTimeout string          `json:"onTimeout,omitempty"`
	DueAt     time.Time       `json:"dueAt,omitzero"`
	CreatedAt time.Time       `json:"createdAt"`
	StartedBy string          `json:"startedBy,omitempty"`
	Agent     string          `json:"agent,omitempty" doc:"The agent that asks; absent: the plan does."`
	MayAsk    bool            `json:"mayAsk,omitempty" doc:"Whoever asks can be asked back."`
	Label     string          `json:"label,omitempty" doc:"What is at stake, in the plan's words."`
	Answers   []domain.Answer `json:"answers" doc:"The answers that it takes. kind is approve, reject, or choice; label is the plan's word for it."`
	Assignee  string          `json:"assignee,omitempty" doc:"Who is to answer; absent: whoever may."`
	ApprovalCall
	ApprovalDecision
}

// ApprovalCall is the tool call that an approval is about.
type ApprovalCall struct {
	Tool      string         `json:"tool,omitempty" doc:"The tool whose call is asked about; absent for the question of an approval node."`
	Arguments domain.RawJSON `json:"arguments,omitempty" doc:"The exact arguments of that call, secrets unresolved."`
}

// ApprovalDecision is the status of an approval, and who decided it how.
type ApprovalDecision struct {
	Status    string         `json:"status"`
	Answer    string         `json:"answer,omitempty" doc:"The id of the answer that was given."`
	Comment   string         `json:"comment,omitempty"`
	Values    domain.RawJSON `json:"values,omitempty"`
	DecidedAt time.Time      `json:"decidedAt,omitzero"`
	DecidedBy string         `json:"decidedBy,omitempty"`
}

func viewApproval(p domain.Approval) ApprovalView {
	return ApprovalView{ID: p.ID, Run: p.Run, Plan: p.PlanKey, Node: p.Node, Visit: p.Visit, Item: p.Item, Message: p.Message,
		Form: p.Form, Digest: p.Digest, OnTimeout: p.OnTimeout, DueAt: p.DueAt, CreatedAt: p.CreatedAt, StartedBy: p.StartedBy,
		Agent: p.Agent, MayAsk: p.MayAsk, Label: p.Label, Answers: p.Answers(), Assignee: p.Assignee,
		ApprovalCall:     ApprovalCall{p.Tool, p.Arguments},
		ApprovalDecision: ApprovalDecision{p.Status, p.Answer, p.Comment, p.Values, p.DecidedAt, p.DecidedBy}}
}

// DecideBody answers an approval.
type DecideBody struct {
	Answer  string         `json:"answer,omitempty" maxLength:"128" doc:"The id of one of the approval's answers."`
	Approve *bool          `json:"approve,omitempty" doc:"Instead of answer: true approves, false rejects."`
	Comment string         `json:"comment,omitempty" maxLength:"2000"`
	Values  domain.RawJSON `json:"values,omitempty" doc:"What the form asks for."`
	Digest  string         `json:"digest,omitempty" maxLength:"128" doc:"The approval's; 409 if something else is to be approved now."`
	AskBack bool           `json:"askBack,omitempty" doc:"Give the comment to the agent that asks instead of an answer: it goes on, and may ask again."`
}

// AssignBody gives an approval to somebody.
type AssignBody struct {
	Assignee string `json:"assignee" maxLength:"128" doc:"Who is to answer; empty: whoever may."`
	Before   string `json:"before,omitempty" maxLength:"128" doc:"Whom it was given to; 409 if that is not so any more."`
	Reason   string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
}

// approvalHandler serves approval requests.
type approvalHandler struct {
	*kernel
	approvals *app.Approvals
	runs      *app.Runs
}

func (h approvalHandler) routes(a *API) {
	tags := []string{"approvals"}
	mount(a, huma.Operation{OperationID: "list-approvals", Method: http.MethodGet, Path: "/approvals", Tags: tags,
		Summary: "List approvals, open ones unless asked otherwise"}, h.listApprovals)
	mount(a, huma.Operation{OperationID: "get-approval", Method: http.MethodGet, Path: "/approvals/{id}", Tags: tags,
		Summary: "One approval"}, h.getApproval)
	mount(a, huma.Operation{OperationID: "decide-approval", Method: http.MethodPost, Path: "/approvals/{id}/decide", Tags: tags,
		Summary: "Approve, reject, or ask the agent back"}, h.decide)
	mount(a, huma.Operation{OperationID: "assign-approval", Method: http.MethodPost, Path: "/approvals/{id}/assign", Tags: tags,
		Summary: "Say who is to answer"}, h.assign)
	mount(a, huma.Operation{OperationID: "forecast-approval", Method: http.MethodGet, Path: "/approvals/{id}/forecast", Tags: tags,
		Summary: "Where each answer leads"}, h.forecast)
}

type listApprovalsIn struct {
	PageIn
	Status   string `query:"status" enum:"open,approved,rejected,asked_back,expired,cancelled,decided" default:"open" doc:"Open ones come by deadline, then age; others newest first. decided: all that are not open."`
	Run      string `query:"run" maxLength:"64"`
	Plan     string `query:"plan" maxLength:"200" doc:"The plan's key."`
	Agent    string `query:"agent" maxLength:"128" doc:"The agent that asks."`
	For      string `query:"for" maxLength:"128" doc:"What this person is to answer, or whoever may."`
	Assignee string `query:"assignee" maxLength:"128" doc:"What only this person is to answer."`
	Overdue  bool   `query:"overdue" doc:"Past its deadline, or without one and asked a day ago."`
}

type approvalsOut struct{ Body List[ApprovalView] }

func (h approvalHandler) listApprovals(ctx context.Context, in *listApprovalsIn) (*approvalsOut, error) {
	after, err := h.unseal(ctx, in.Cursor)
	if err != nil {
		return nil, err
	}
	f := domain.ApprovalFilter{
		Status:   in.Status,
		Plan:     in.Plan,
		Agent:    in.Agent,
		For:      in.For,
		Assignee: in.Assignee,
		Page:     domain.Page{After: after, Limit: in.Limit},
	}
	if in.Status == "decided" {
		f.Status, f.Decided = "", true
	}
	if in.Overdue {
		f.Overdue = time.Now()
	}
	if in.Run != "" {
		run, err := h.runs.Find(ctx, actorOf(ctx), in.Run)
		if err != nil {
			return nil, err
		}
		f.Run = run.ID
	}
	list, err := h.approvals.List(ctx, actorOf(ctx), f)
	if err != nil {
		return nil, err
	}
	return &approvalsOut{Body: listOf(list.Items, h.seal(ctx, list.Next), viewApproval)}, nil
}

// ApprovalIn names an approval.
type ApprovalIn struct {
	ID string `path:"id" maxLength:"64"`
}

type approvalOut struct{ Body ApprovalView }

func (h approvalHandler) getApproval(ctx context.Context, in *ApprovalIn) (*approvalOut, error) {
	p, err := h.approvals.Get(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &approvalOut{Body: viewApproval(p)}, nil
}

type decideIn struct {
	ApprovalIn
	Body DecideBody
}

func (h approvalHandler) decide(ctx context.Context, in *decideIn) (*approvalOut, error) {
	b := &in.Body
	p, err := h.approvals.Get(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	r := domain.DecideRequest{Approval: in.ID, Answer: b.Answer, Approve: b.Approve != nil && *b.Approve, Comment: b.Comment,
		Values: b.Values, Digest: b.Digest, AskBack: b.AskBack}
	if !b.AskBack {
		if b.Answer == "" && b.Approve == nil {
			var ids []string
			for _, x := range p.Answers() {
				ids = append(ids, x.ID)
			}
			return nil, domain.Errorf(domain.CodeInvalid, "no answer is given").Suggest("answers: %s", strings.Join(ids, ", "))
		}
		given, err := p.AnswerOf(r)
		if err != nil {
			return nil, err
		}
		if b.Approve != nil && given.Rejects() == *b.Approve {
			return nil, domain.Errorf(domain.CodeInvalid, "answer is %q, but approve is %t", given.ID, *b.Approve).
				Suggest("leave approve out")
		}
		r.Answer, r.Approve = given.ID, false
	}
	if p, err = h.approvals.Decide(ctx, app.DecideRequest{Meta: meta(ctx), DecideRequest: r}); err != nil {
		return nil, err
	}
	return &approvalOut{Body: viewApproval(p)}, nil
}

type assignIn struct {
	ApprovalIn
	Body AssignBody
}

func (h approvalHandler) assign(ctx context.Context, in *assignIn) (*approvalOut, error) {
	p, err := h.approvals.Assign(
		ctx,
		app.AssignRequest{Meta: meta(ctx), Approval: in.ID, Before: in.Body.Before, Assignee: in.Body.Assignee, Reason: in.Body.Reason},
	)
	if err != nil {
		return nil, err
	}
	return &approvalOut{Body: viewApproval(p)}, nil
}

type forecastOut struct{ Body List[domain.Prediction] }

func (h approvalHandler) forecast(ctx context.Context, in *ApprovalIn) (*forecastOut, error) {
	list, err := h.approvals.Prediction(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &forecastOut{Body: listOf(list, "", same)}, nil
}
