package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

func draftPath(id string) string { return "/drafts/" + url.PathEscape(id) }

// Drafts lists the newest drafts: the open ones, or with closed all.
func (c *Client) Drafts(ctx context.Context, closed bool, limit int) ([]domain.Draft, error) {
	q := url.Values{}
	if closed {
		q.Set("all", "true")
	}
	items, err := all[domain.Draft](ctx, c, "/drafts", q, limit)
	return items, err
}

// Draft returns a draft with its progress or result.
func (c *Client) Draft(ctx context.Context, id string) (domain.Draft, error) {
	var out domain.Draft
	_, err := c.do(ctx, call{method: http.MethodGet, path: draftPath(id), into: &out})
	return out, err
}

// StartDraft stores a draft and returns. The daemon plans it in the background.
func (c *Client) StartDraft(ctx context.Context, r domain.DraftRequest) (domain.Draft, error) {
	var out domain.Draft
	body := map[string]any{"query": r.Query, "fresh": r.Fresh}
	set(body, r)
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/drafts", body: body, into: &out})
	return out, err
}

// RefineDraft creates another draft of the same request.
func (c *Client) RefineDraft(ctx context.Context, id string, r domain.DraftRequest) (domain.Draft, error) {
	var out domain.Draft
	body := map[string]any{"query": r.Query, "change": r.Change}
	r.Agent, r.Examples = "", "" // taken from the refined draft
	set(body, r)
	_, err := c.do(ctx, call{method: http.MethodPost, path: draftPath(id) + "/refine", body: body, into: &out})
	return out, err
}

// set sets a field of the body unless the value is empty.
func set(body map[string]any, r domain.DraftRequest) {
	for k, v := range map[string]string{"agent": r.Agent, "provider": r.Provider, "examples": r.Examples} {
		if v != "" {
			body[k] = v
		}
	}
	if len(r.Preferences) > 0 {
		body["preferences"] = r.Preferences
	}
	if !r.Constraints.Zero() {
		body["constraints"] = r.Constraints
	}
}

// acceptanceWire is the body of an acceptance.
type acceptanceWire struct {
	Alternative string `json:"alternative,omitempty"`
	Reason      string `json:"reason,omitempty"`
}

// AcceptDraft accepts the plan of a draft, or an alternative of it.
func (c *Client) AcceptDraft(ctx context.Context, id string, a domain.DraftAcceptance) (domain.Draft, error) {
	var out domain.Draft
	_, err := c.do(ctx, call{method: http.MethodPost, path: draftPath(id) + "/accept", body: acceptanceWire(a), into: &out})
	return out, err
}

// DiscardDraft discards a draft and stops its planning.
func (c *Client) DiscardDraft(ctx context.Context, id, reason string) (domain.Draft, error) {
	var out domain.Draft
	_, err := c.do(ctx, call{method: http.MethodPost, path: draftPath(id) + "/discard", body: reasonWire{reason}, into: &out})
	return out, err
}

// RunDraft starts a run of the plan of a draft.
func (c *Client) RunDraft(ctx context.Context, id string, r domain.DraftStart) (domain.Run, error) {
	var out apitypes.Run
	_, err := c.do(ctx, call{method: http.MethodPost, path: draftPath(id) + "/start", into: &out, body: struct {
		Accept  bool   `json:"accept,omitempty"`
		Session string `json:"session,omitempty"`
		Reason  string `json:"reason,omitempty"`
	}{r.Accept, r.Session, r.Reason}})
	return out.Domain(), err
}
