package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
)

// approvalHandler serves approval requests.
type approvalHandler struct {
	*kernel
	approvals *app.Approvals
	runs      *app.Runs
}

func (h approvalHandler) routes(a *API) {
	tags := []string{"approvals"}
	mount(a, huma.Operation{OperationID: "list-approvals", Method: http.MethodGet, Path: "/approvals", Tags: tags,
		Summary: "List approval requests"}, h.listApprovals)
	mount(a, huma.Operation{OperationID: "get-approval", Method: http.MethodGet, Path: "/approvals/{id}", Tags: tags,
		Summary: "Get an approval request"}, h.getApproval)
	mount(a, huma.Operation{OperationID: "decide-approval", Method: http.MethodPost, Path: "/approvals/{id}/decide", Tags: tags,
		Summary: "Decide an approval request"}, h.decide)
	mount(a, huma.Operation{OperationID: "assign-approval", Method: http.MethodPost, Path: "/approvals/{id}/assign", Tags: tags,
		Summary: "Assign an approval request"}, h.assign)
	mount(a, huma.Operation{OperationID: "predict-approval", Method: http.MethodGet, Path: "/approvals/{id}/predictions", Tags: tags,
		Summary: "Predict where each answer leads"}, h.predict)
}

type listApprovalsIn struct {
	PageIn
	Status   string `query:"status" enum:"pending,approved,rejected,changes_requested,expired,cancelled,decided" default:"pending" doc:"Pending requests come by deadline, then age; others newest first. decided: all that are not pending."`
	Run      string `query:"run" maxLength:"64" doc:"The id of a run."`
	Plan     string `query:"plan" maxLength:"200" doc:"The key of a plan."`
	Agent    string `query:"agent" maxLength:"128" doc:"The agent that requests approval."`
	For      string `query:"for" maxLength:"128" doc:"Requests that this person can answer."`
	Assignee string `query:"assignee" maxLength:"128" doc:"Requests that are assigned to this person."`
	Overdue  bool   `query:"overdue" doc:"After the deadline, or a day old without one."`
	Filter   string `query:"filter" maxLength:"4096" doc:"The other parameters as a filter, such as status:pending plan:invoice overdue:true. They are ignored then."`
}

// read sets the parameters that the filter contains.
func (in *listApprovalsIn) read() error {
	if in.Filter == "" {
		return nil
	}
	in.Status, in.Run, in.Plan, in.Agent, in.For, in.Assignee, in.Overdue = "pending", "", "", "", "", "", false
	overdue := ""
	problem := filter.ParseFields(in.Filter, map[string]*string{"status": &in.Status, "run": &in.Run, "plan": &in.Plan,
		"agent": &in.Agent, "for": &in.For, "assignee": &in.Assignee, "overdue": &overdue})
	if problem != nil {
		return problem
	}
	in.Overdue = overdue == "true"
	known := append([]string{"decided"}, domain.ApprovalStatuses...)
	if !slices.Contains(known, in.Status) {
		if wrong := filter.Mistyped("status", in.Status, known); wrong != nil {
			return wrong
		}
	}
	return nil
}

type approvalsOut struct {
	Body apitypes.List[apitypes.Approval]
}

func (h approvalHandler) listApprovals(ctx context.Context, in *listApprovalsIn) (*approvalsOut, error) {
	after, err := h.unseal(ctx, in.Cursor)
	if err != nil {
		return nil, err
	}
	if err := in.read(); err != nil {
		return nil, err
	}
	f, err := h.approvalFilter(ctx, in)
	if err != nil {
		return nil, err
	}
	f.Page = domain.Page{After: after, Limit: in.Limit}
	list, err := h.approvals.List(ctx, actorOf(ctx), f)
	if err != nil {
		return nil, err
	}
	return &approvalsOut{Body: listOf(list.Items, h.seal(ctx, list.Next), apitypes.ApprovalOf)}, nil
}

func (h approvalHandler) approvalFilter(ctx context.Context, in *listApprovalsIn) (domain.ApprovalFilter, error) {
	f := domain.ApprovalFilter{
		Status:   in.Status,
		Plan:     in.Plan,
		Agent:    in.Agent,
		For:      in.For,
		Assignee: in.Assignee,
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
			return f, err
		}
		f.Run = run.ID
	}
	return f, nil
}

// ApprovalIn names an approval.
type ApprovalIn struct {
	ID string `path:"id" maxLength:"64"`
}

type approvalOut struct{ Body apitypes.Approval }

func (h approvalHandler) getApproval(ctx context.Context, in *ApprovalIn) (*approvalOut, error) {
	p, err := h.approvals.Get(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &approvalOut{Body: apitypes.ApprovalOf(p)}, nil
}

type decideIn struct {
	ApprovalIn
	Body apitypes.ApprovalDecide
}

func (h approvalHandler) decide(ctx context.Context, in *decideIn) (*approvalOut, error) {
	b := &in.Body
	p, err := h.approvals.Decide(ctx, app.DecideRequest{Meta: meta(ctx), DecideRequest: domain.DecideRequest{Approval: in.ID,
		Answer: b.Answer, Comment: b.Comment, Values: b.Values, Digest: b.Digest}})
	if err != nil {
		return nil, err
	}
	return &approvalOut{Body: apitypes.ApprovalOf(p)}, nil
}

type assignIn struct {
	ApprovalIn
	Body apitypes.ApprovalAssign
}

func (h approvalHandler) assign(ctx context.Context, in *assignIn) (*approvalOut, error) {
	p, err := h.approvals.Get(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	p, err = h.approvals.Assign(ctx, app.AssignRequest{Meta: meta(ctx), Approval: in.ID, Before: p.Assignee, Assignee: in.Body.Assignee,
		Reason: in.Body.Reason})
	if err != nil {
		return nil, err
	}
	return &approvalOut{Body: apitypes.ApprovalOf(p)}, nil
}

type predictionsOut struct {
	Body apitypes.List[domain.Prediction]
}

type predictIn struct {
	ApprovalIn
	ListIn
}

func (h approvalHandler) predict(ctx context.Context, in *predictIn) (*predictionsOut, error) {
	list, err := h.approvals.Prediction(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	page, err := pageOf(ctx, h.kernel, &in.ListIn, list, func(p domain.Prediction) string { return p.Answer }, same)
	return &predictionsOut{page}, err
}
