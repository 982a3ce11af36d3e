package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kairosd/kairosd/internal/kairos"
)

func draftPath(id string) string { return "/plans/drafts/" + url.PathEscape(id) }

// Drafts lists the newest drafts: those that are open, or all.
func (c *Client) Drafts(ctx context.Context, all bool, limit int) ([]kairos.Draft, error) {
	q := url.Values{"limit": {strconv.Itoa(limit)}}
	if all {
		q.Set("all", "true")
	}
	var out list[kairos.Draft]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/plans/drafts", query: q, into: &out})
	return out.Items, err
}

// Draft is how far a draft is, or what came of it.
func (c *Client) Draft(ctx context.Context, id string) (kairos.Draft, error) {
	var out kairos.Draft
	_, err := c.do(ctx, call{method: http.MethodGet, path: draftPath(id), into: &out})
	return out, err
}

// StartDraft stores a draft and returns; the daemon plans it meanwhile.
func (c *Client) StartDraft(ctx context.Context, _ kairos.Actor, r kairos.DraftRequest) (kairos.Draft, error) {
	var out kairos.Draft
	body := map[string]any{"query": r.Query, "fresh": r.Fresh}
	set(body, r)
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/plans/drafts", body: body, into: &out})
	return out, err
}

// RefineDraft makes another draft of the same intent.
func (c *Client) RefineDraft(ctx context.Context, _ kairos.Actor, id string, r kairos.DraftRequest) (kairos.Draft, error) {
	var out kairos.Draft
	body := map[string]any{"query": r.Query, "change": r.Change}
	r.Agent, r.Examples = "", "" // as they were
	set(body, r)
	_, err := c.do(ctx, call{method: http.MethodPost, path: draftPath(id) + "/refine", body: body, into: &out})
	return out, err
}

// set fills in what is given.
func set(body map[string]any, r kairos.DraftRequest) {
	for k, v := range map[string]string{"agent": r.Agent, "provider": r.Provider, "examples": r.Examples} {
		if v != "" {
			body[k] = v
		}
	}
	if !r.Constraints.Zero() {
		body["constraints"] = r.Constraints
	}
}

// AcceptDraft takes the plan of a draft into use.
func (c *Client) AcceptDraft(ctx context.Context, _ kairos.Actor, id, reason string) (kairos.Draft, error) {
	var out kairos.Draft
	_, err := c.do(ctx, call{method: http.MethodPost, path: draftPath(id) + "/accept", body: reasonWire{reason}, into: &out})
	return out, err
}

// DiscardDraft gives a draft up; planning that is under way ends.
func (c *Client) DiscardDraft(ctx context.Context, _ kairos.Actor, id, reason string) (kairos.Draft, error) {
	var out kairos.Draft
	_, err := c.do(ctx, call{method: http.MethodPost, path: draftPath(id) + "/discard", body: reasonWire{reason}, into: &out})
	return out, err
}

// RunDraft starts a run of exactly the plan of a draft.
func (c *Client) RunDraft(ctx context.Context, _ kairos.Actor, id string, r kairos.DraftStart) (kairos.Run, error) {
	var out struct {
		ID string `json:"id"`
	}
	if _, err := c.do(ctx, call{method: http.MethodPost, path: draftPath(id) + "/start", into: &out, body: struct {
		Accept  bool   `json:"accept,omitempty"`
		Session string `json:"session,omitempty"`
		Reason  string `json:"reason,omitempty"`
	}{r.Accept, r.Session, r.Reason}}); err != nil {
		return kairos.Run{}, err
	}
	return c.FindRun(ctx, out.ID)
}
