package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

func (h planHandler) planUseRoutes(a *API) {
	h.planDiffRoutes(a)
	mount(a, huma.Operation{
		OperationID: "get-plan-flow", Method: http.MethodGet, Path: "/plans/{id}/flow", Tags: []string{"plans"},
		Summary: "Get statistics of each step of a plan from its newest runs",
	}, h.planFlow)
	mount(a, huma.Operation{
		OperationID: "restore-plan-version", Method: http.MethodPost, Path: "/plans/{id}/versions/{n}/restore", Tags: []string{"plans"},
		Summary: "Restore an earlier version of a plan",
		Description: "New runs follow it, and active runs keep their version. " +
			"With If-Match, the response is 409 if the plan has another current version.",
	}, h.restoreVersion)
	mount(a, huma.Operation{
		OperationID: "accept-plan", Method: http.MethodPost, Path: "/plans/{id}/accept", Tags: []string{"plans"},
		Summary: "Accept a generated plan",
	}, h.acceptPlan)
}

type planFlowIn struct {
	ID      string `path:"id" maxLength:"128" doc:"The plan's id or its own key."`
	Version int    `query:"version" minimum:"0" doc:"0 or absent: all."`
	Since   string `query:"since" maxLength:"40" default:"7d" doc:"24h, 7d, or a time."`
}

type planFlowOut struct{ Body apitypes.PlanFlow }

func (h planHandler) planFlow(ctx context.Context, in *planFlowIn) (*planFlowOut, error) {
	since, err := parseTime("since", in.Since)
	if err != nil {
		return nil, err
	}
	flow, err := h.plans.Flow(ctx, actorOf(ctx), in.ID, in.Version, since)
	if err != nil {
		return nil, err
	}
	return &planFlowOut{Body: apitypes.PlanFlowOf(flow)}, nil
}

type restoreIn struct {
	ID      string `path:"id" maxLength:"128" doc:"The plan's id or its own key."`
	N       int    `path:"n" minimum:"1"`
	IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag of the plan as you saw it."`
	Body    *ReasonOptions
}

func (h planHandler) restoreVersion(ctx context.Context, in *restoreIn) (*planOut, error) {
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	plan, err := h.plans.Restore(
		ctx,
		app.VersionChange{Meta: meta(ctx), Plan: in.ID, Number: in.N, Base: (&documentIn{IfMatch: in.IfMatch}).base(), Reason: reason},
	)
	return planAnswer(plan), err
}

type acceptPlanIn struct {
	ID   string `path:"id" maxLength:"128" doc:"The plan's id or its own key."`
	Body *apitypes.AlternativeAccept
}

func (h planHandler) acceptPlan(ctx context.Context, in *acceptPlanIn) (*planOut, error) {
	b := apitypes.AlternativeAccept{}
	if in.Body != nil {
		b = *in.Body
	}
	if b.Alternative == "" {
		plan, err := h.plans.Accept(ctx, app.VersionChange{Meta: meta(ctx), Plan: in.ID, Number: b.Version, Reason: b.Reason})
		return planAnswer(plan), err
	}
	v, err := h.plans.Version(ctx, actorOf(ctx), in.ID, b.Version)
	if err != nil {
		return nil, err
	}
	plan, err := h.drafts.AcceptAlternative(ctx, app.AlternativeAcceptance{Meta: meta(ctx), Hash: v.Hash,
		DraftAcceptance: domain.DraftAcceptance{Alternative: b.Alternative, Reason: b.Reason}})
	return planAnswer(plan), err
}
