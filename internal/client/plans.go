package client

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// list is a page of the API.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"nextCursor"` // null on the last page
}

// all reads the pages of a list until it has most items; 0 means all.
func all[T any](ctx context.Context, c *Client, path string, query url.Values, most int) ([]T, error) {
	q := maps.Clone(query)
	if q == nil {
		q = url.Values{}
	}
	q.Set("limit", "200")
	var items []T
	for {
		var page list[T]
		if _, err := c.do(ctx, call{method: http.MethodGet, path: path, query: q, into: &page}); err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		switch {
		case most > 0 && len(items) >= most:
			return items[:most], nil
		case page.Next == "":
			return items, nil
		}
		q.Set("cursor", page.Next)
	}
}

func mapList[S, T any](l list[S], f func(S) T) domain.List[T] {
	out := domain.List[T]{Items: make([]T, 0, len(l.Items)), Next: l.Next}
	for _, x := range l.Items {
		out.Items = append(out.Items, f(x))
	}
	return out
}

func pageQuery(p domain.Page) url.Values {
	q := url.Values{}
	if p.Limit > 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	if p.After != "" {
		q.Set("cursor", p.After)
	}
	return q
}

// SavePlan stores a plan document. If the content is already stored, it returns the existing
// version, and created is false. If the document has errors, the error is CodeInvalid with a
// *planner.InvalidError in its chain. With the origin "try", the plan is stored for a trial; the
// API sets any other origin. The returned plan has only its id and key, and the version also its
// number and hash.
func (c *Client) SavePlan(
	ctx context.Context,
	src []byte,
	f planner.Format,
	origin, reason string,
) (plan domain.Plan, v domain.Version, created bool, problems planner.Problems, err error) {
	var out apitypes.StoredPlan
	k := documentCall("/plans", src, f)
	k.query = url.Values{}
	if reason != "" {
		k.query.Set("reason", reason)
	}
	if origin == "try" {
		k.query.Set("trial", "true")
	}
	k.into = &out
	status, err := c.do(ctx, k)
	if err != nil {
		return plan, v, false, problemsOf(err), err
	}
	plan = domain.Plan{ID: out.ID, Key: out.Key}
	v = domain.Version{PlanID: out.ID, PlanKey: out.Key, Number: out.Version, Hash: out.Hash}
	return plan, v, status == http.StatusCreated, out.Problems, nil
}

// problemsOf returns the problems of a rejected document.
func problemsOf(err error) planner.Problems {
	if bad, ok := errors.AsType[*planner.InvalidError](err); ok {
		return bad.Problems
	}
	return nil
}

// StorePlanFiles stores plan files that name each other, in one transaction. If a document has errors, the error is
// CodeInvalid with a *planner.InvalidError in its chain.
func (c *Client) StorePlanFiles(ctx context.Context, files apitypes.PlanFiles, reason string) (
	[]apitypes.StoredFile, planner.Problems, error) {
	var out apitypes.StoredFiles
	k := call{method: http.MethodPost, path: "/plan-files", body: files, into: &out}
	if reason != "" {
		k.query = url.Values{"reason": {reason}}
	}
	_, err := c.do(ctx, k)
	return out.Plans, problemsOf(err), err
}

// CheckPlanFiles validates plan files that name each other, without storing them.
func (c *Client) CheckPlanFiles(ctx context.Context, files apitypes.PlanFiles, profile string) ([]apitypes.CheckedFile, error) {
	var out apitypes.CheckedFiles
	k := call{method: http.MethodPost, path: "/plan-file-checks", body: files, into: &out}
	if profile != "" {
		k.query = url.Values{"profile": {profile}}
	}
	_, err := c.do(ctx, k)
	return out.Plans, err
}

// CheckPlan validates a document with the daemon's catalog, without storing it.
func (c *Client) CheckPlan(ctx context.Context, src []byte, f planner.Format, profile string) (apitypes.PlanCheck, error) {
	var out apitypes.PlanCheck
	k := documentCall("/plan-checks", src, f)
	k.into = &out
	if profile != "" {
		k.query = url.Values{"profile": {profile}}
	}
	_, err := c.do(ctx, k)
	return out, err
}

// PlanSchema returns the JSON Schema of plans, with the tools, agents, and skills of the server.
func (c *Client) PlanSchema(ctx context.Context) (map[string]any, error) {
	var out map[string]any
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/plan.schema.json", into: &out})
	return out, err
}

func documentCall(path string, src []byte, f planner.Format) call {
	media := "application/yaml"
	if f == planner.FormatJSON || f == planner.FormatAuto && looksLikeJSON(src) {
		media = "application/json"
	}
	if src == nil {
		src = []byte{}
	}
	return call{method: http.MethodPost, path: path, raw: src, media: media}
}

func looksLikeJSON(src []byte) bool {
	for _, b := range src {
		switch b {
		case ' ', '\t', '\r', '\n', 0xef, 0xbb, 0xbf:
			continue
		}
		return b == '{' || b == '['
	}
	return false
}

// Plans lists plans that match the Query of the filter, or else its Text.
func (c *Client) Plans(ctx context.Context, f domain.PlanFilter) (domain.List[domain.Plan], error) {
	q := pageQuery(f.Page)
	if text := cmp.Or(f.Query, f.Text); text != "" {
		q.Set("filter", text)
	}
	if f.Stage != "" {
		q.Set("status", f.Stage)
	}
	if f.Archived {
		q.Set("archived", "true")
	}
	if f.Paused {
		q.Set("paused", "true")
	}
	var out list[apitypes.Plan]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/plans", query: q, into: &out})
	return mapList(out, apitypes.Plan.Domain), err
}

// Plan finds a plan by id or key.
func (c *Client) Plan(ctx context.Context, idOrKey string) (domain.Plan, error) {
	var out apitypes.Plan
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/plans/" + url.PathEscape(idOrKey), into: &out})
	return out.Domain(), err
}

// Versions lists a plan's versions, newest first, without their source.
func (c *Client) Versions(ctx context.Context, idOrKey string) ([]domain.Version, error) {
	items, err := all[apitypes.PlanVersion](ctx, c, "/plans/"+url.PathEscape(idOrKey)+"/versions", nil, 0)
	return mapList(list[apitypes.PlanVersion]{Items: items}, apitypes.PlanVersion.Domain).Items, err
}

// VersionByNumber returns a version with its source. Number 0 means the newest version.
func (c *Client) VersionByNumber(ctx context.Context, idOrKey string, number int) (domain.Version, error) {
	n := "latest"
	if number != 0 {
		n = strconv.Itoa(number)
	}
	var out apitypes.PlanVersion
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/plans/" + url.PathEscape(idOrKey) + "/versions/" + n, into: &out})
	return out.Domain(), err
}

// ArchivePlan archives a plan, or restores it from the archive.
func (c *Client) ArchivePlan(ctx context.Context, idOrKey string, archived bool, reason string) error {
	verb := "unarchive"
	if archived {
		verb = "archive"
	}
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/plans/" + url.PathEscape(idOrKey) + "/" + verb, body: reasonWire{reason}})
	return err
}

// PausePlan pauses a plan, or ends the pause.
func (c *Client) PausePlan(ctx context.Context, idOrKey string, on bool, reason string) error {
	verb := "unpause"
	if on {
		verb = "pause"
	}
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/plans/" + url.PathEscape(idOrKey) + "/" + verb, body: reasonWire{reason}})
	return err
}

type reasonWire struct {
	Reason string `json:"reason,omitempty"`
}
