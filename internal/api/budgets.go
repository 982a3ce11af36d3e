package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

type (
	budgetsOut struct {
		Body apitypes.List[apitypes.Budget]
	}
	BudgetIn struct {
		ID string `path:"id" maxLength:"128" doc:"The budget's id or key."`
	}
	budgetOut struct {
		Status   int
		ETag     string `header:"ETag"`
		Location string `header:"Location"`
		Body     apitypes.Budget
	}
	budgetDetailOut struct {
		ETag string `header:"ETag"`
		Body apitypes.BudgetDetail
	}
	budgetCreateIn struct{ Body apitypes.BudgetCreate }
	budgetEditIn   struct {
		BudgetIn
		IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag of the budget that you saw."`
		Body    apitypes.BudgetEdit
	}
	budgetRaiseIn struct {
		BudgetIn
		Body apitypes.BudgetRaise
	}
	budgetDeleteIn struct {
		BudgetIn
		IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag of the budget that you saw."`
	}
)

// budgetHandler serves budgets.
type budgetHandler struct {
	*kernel
	budgets *app.Budgets
}

func (h budgetHandler) routes(a *API) {
	tags := []string{"budgets"}
	mount(a, huma.Operation{OperationID: "list-budgets", Method: http.MethodGet, Path: "/budgets", Tags: tags,
		Summary: "List budgets, by key"}, h.list)
	mount(a, huma.Operation{OperationID: "create-budget", Method: http.MethodPost, Path: "/budgets", Tags: tags,
		DefaultStatus: http.StatusCreated, Summary: "Create a budget",
		Description: "At least one line is required. A budget of all calls, a plan, or an agent begins with the recorded usage of its " +
			"window."}, h.create)
	mount(a, huma.Operation{OperationID: "get-budget", Method: http.MethodGet, Path: "/budgets/{id}", Tags: tags,
		Summary: "Get a budget with its windows and the runs that wait for it"}, h.get)
	mount(a, huma.Operation{OperationID: "update-budget", Method: http.MethodPatch, Path: "/budgets/{id}", Tags: tags,
		Summary: "Change the lines of a budget", Description: "Absent lines do not change. Runs that have room now continue."}, h.update)
	mount(a, huma.Operation{OperationID: "raise-budget", Method: http.MethodPost, Path: "/budgets/{id}/raise", Tags: tags,
		Summary:     "Raise the hard line of the current window",
		Description: "Runs that have room now continue. The next window begins with the hard line of the budget."}, h.raise)
	mount(a, huma.Operation{OperationID: "delete-budget", Method: http.MethodDelete, Path: "/budgets/{id}", Tags: tags,
		Summary: "Delete a budget with its usage, and return it; runs that wait for it continue"}, h.delete)
}

func budgetTag(b domain.BudgetState) string { return etag(strconv.FormatInt(b.Rev, 10)) }

func budgetAnswer(b domain.BudgetState, status int) *budgetOut {
	return &budgetOut{Status: status, ETag: budgetTag(b), Body: apitypes.BudgetOf(b)}
}

func (h budgetHandler) list(ctx context.Context, in *ListIn) (*budgetsOut, error) {
	list, err := h.budgets.List(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	page, err := pageOf(ctx, h.kernel, in, list, func(b domain.BudgetState) string { return b.ID }, apitypes.BudgetOf)
	return &budgetsOut{page}, err
}

func (h budgetHandler) create(ctx context.Context, in *budgetCreateIn) (*budgetOut, error) {
	x := in.Body
	b, err := h.budgets.Create(ctx, app.NewBudget{Meta: meta(ctx), Key: x.Key, BudgetSpec: domain.BudgetSpec{Scope: x.Scope,
		Period: x.Period,
		Zone:   x.TimeZone, Unit: x.Unit, Soft: x.Soft, Degrade: x.Degrade, Hard: x.Hard, DegradeTo: x.DegradeTo}})
	if err != nil {
		return nil, err
	}
	out := budgetAnswer(b, http.StatusCreated)
	out.Location = Base + "/budgets/" + b.ID
	return out, nil
}

func (h budgetHandler) get(ctx context.Context, in *BudgetIn) (*budgetDetailOut, error) {
	b, err := h.budgets.Get(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	windows, err := h.budgets.Windows(ctx, actorOf(ctx), b.ID)
	if err != nil {
		return nil, err
	}
	waiters, err := h.budgets.Waiters(ctx, actorOf(ctx), b.ID)
	if err != nil {
		return nil, err
	}
	return &budgetDetailOut{ETag: budgetTag(b), Body: apitypes.BudgetDetail{Budget: apitypes.BudgetOf(b),
		Windows: listOf(windows, "", apitypes.BudgetWindowOf).Items, Runs: listOf(waiters, "", apitypes.BudgetRunOf).Items}}, nil
}

func (h budgetHandler) update(ctx context.Context, in *budgetEditIn) (*budgetOut, error) {
	rev, err := revOf(in.IfMatch)
	if err != nil {
		return nil, err
	}
	b, err := h.budgets.Update(ctx, app.BudgetEdit{Meta: meta(ctx), Budget: in.ID, Rev: rev, Soft: in.Body.Soft, Degrade: in.Body.Degrade,
		Hard: in.Body.Hard, DegradeTo: in.Body.DegradeTo})
	if err != nil {
		return nil, err
	}
	return budgetAnswer(b, http.StatusOK), nil
}

func (h budgetHandler) raise(ctx context.Context, in *budgetRaiseIn) (*budgetOut, error) {
	b, err := h.budgets.Raise(ctx, app.BudgetRaise{Meta: meta(ctx), Budget: in.ID, Amount: in.Body.Amount, Reason: in.Body.Reason})
	if err != nil {
		return nil, err
	}
	return budgetAnswer(b, http.StatusOK), nil
}

func (h budgetHandler) delete(ctx context.Context, in *budgetDeleteIn) (*budgetOut, error) {
	rev, err := revOf(in.IfMatch)
	if err != nil {
		return nil, err
	}
	b, err := h.budgets.Delete(ctx, app.BudgetDelete{Meta: meta(ctx), Budget: in.ID, Rev: rev})
	if err != nil {
		return nil, err
	}
	return budgetAnswer(b, http.StatusOK), nil
}
