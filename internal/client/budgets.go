package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

func budgetPath(idOrKey, more string) string { return "/budgets/" + url.PathEscape(idOrKey) + more }

// Budgets lists budgets, by key. filter is a part of a text, or empty.
func (c *Client) Budgets(ctx context.Context, filter string, page domain.Page) (items []apitypes.Budget, next string, err error) {
	q := pageQuery(page)
	if filter != "" {
		q.Set("filter", filter)
	}
	var out list[apitypes.Budget]
	_, err = c.do(ctx, call{method: http.MethodGet, path: "/budgets", query: q, into: &out})
	return out.Items, out.Next, err
}

// Budget finds a budget by id or key.
func (c *Client) Budget(ctx context.Context, idOrKey string) (apitypes.BudgetDetail, error) {
	var out apitypes.BudgetDetail
	_, err := c.do(ctx, call{method: http.MethodGet, path: budgetPath(idOrKey, ""), into: &out})
	return out, err
}

// CreateBudget creates a budget.
func (c *Client) CreateBudget(ctx context.Context, b apitypes.BudgetCreate) (apitypes.Budget, error) {
	var out apitypes.Budget
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/budgets", body: b, into: &out})
	return out, err
}

// UpdateBudget changes the lines of a budget.
func (c *Client) UpdateBudget(ctx context.Context, idOrKey string, b apitypes.BudgetEdit) (apitypes.Budget, error) {
	var out apitypes.Budget
	_, err := c.do(ctx, call{method: http.MethodPatch, path: budgetPath(idOrKey, ""), body: b, into: &out})
	return out, err
}

// RaiseBudget adds to the hard line of the current window of a budget.
func (c *Client) RaiseBudget(ctx context.Context, idOrKey string, b apitypes.BudgetRaise) (apitypes.Budget, error) {
	var out apitypes.Budget
	_, err := c.do(ctx, call{method: http.MethodPost, path: budgetPath(idOrKey, "/raise"), body: b, into: &out})
	return out, err
}

// DeleteBudget deletes a budget.
func (c *Client) DeleteBudget(ctx context.Context, idOrKey string) (apitypes.Budget, error) {
	var out apitypes.Budget
	_, err := c.do(ctx, call{method: http.MethodDelete, path: budgetPath(idOrKey, ""), into: &out})
	return out, err
}
