package client

import (
	"context"
	"net/http"

	"github.com/kairosd/kairosd/internal/domain"
)

// Ask plans a request and starts a run of the plan.
func (c *Client) Ask(ctx context.Context, r domain.AskRequest) (domain.PlannerAnswer, error) {
	var out domain.PlannerAnswer
	body := map[string]any{"query": r.Query, "planOnly": r.PlanOnly, "accept": r.Accept}
	if r.Agent != "" {
		body["agent"] = r.Agent
	}
	if r.Session != "" {
		body["session"] = r.Session
	}
	if r.Fresh {
		body["fresh"] = true
	}
	if !r.Constraints.Zero() {
		body["constraints"] = r.Constraints
	}
	if r.Preferences != nil {
		body["preferences"] = r.Preferences
	}
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/ask", body: body, into: &out})
	return out, err
}
