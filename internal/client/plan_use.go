package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// Steps finds attempts of steps across runs. It uses the Query and Page of the filter.
func (c *Client) Steps(ctx context.Context, f domain.StepFilter) (domain.StepHits, error) {
	q := pageQuery(f.Page)
	if f.Query != "" {
		q.Set("filter", f.Query)
	}
	if f.Slowest {
		q.Set("sort", "duration")
	}
	var out list[apitypes.StepAttempt]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/steps", query: q, into: &out})
	hits := mapList(out, apitypes.StepAttempt.Domain)
	return domain.StepHits{Items: hits.Items, Next: hits.Next, Whole: hits.Next == ""}, err
}

// HandoffsOf lists handoffs of all runs. It uses the Query and Page of the filter.
func (c *Client) HandoffsOf(ctx context.Context, f domain.HandoffFilter) (domain.List[domain.HandoffSummary], error) {
	q := pageQuery(f.Page)
	if f.Query != "" {
		q.Set("filter", f.Query)
	}
	var out list[domain.HandoffSummary]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/handoffs", query: q, into: &out})
	return domain.List[domain.HandoffSummary]{Items: out.Items, Next: out.Next}, err
}

// PlanFlow describes the paths of a plan's newest runs since a time. Version 0 means all versions.
func (c *Client) PlanFlow(ctx context.Context, plan string, version int, since time.Time) (domain.PlanFlow, error) {
	q := url.Values{"since": {since.UTC().Format(time.RFC3339)}}
	if version > 0 {
		q.Set("version", strconv.Itoa(version))
	}
	var out apitypes.PlanFlow
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/plans/" + url.PathEscape(plan) + "/flow", query: q, into: &out})
	return out.Domain(), err
}

// RestoreVersion makes an earlier version of a plan its current one. If the hash of the current
// version is not base, the error is CodeStale.
func (c *Client) RestoreVersion(ctx context.Context, plan string, number int, base, reason string) (domain.Plan, error) {
	var out apitypes.Plan
	_, err := c.do(
		ctx,
		call{
			method: http.MethodPost,
			path:   "/plans/" + url.PathEscape(plan) + "/versions/" + strconv.Itoa(number) + "/restore",
			match:  base,
			body:   reasonWire{reason},
			into:   &out,
		},
	)
	return out.Domain(), err
}

// AcceptPlan accepts a planner's draft that only a program requested, or an alternative of it.
func (c *Client) AcceptPlan(ctx context.Context, plan string, a domain.DraftAcceptance) (domain.Plan, error) {
	var out apitypes.Plan
	_, err := c.do(
		ctx,
		call{method: http.MethodPost, path: "/plans/" + url.PathEscape(plan) + "/accept", body: acceptanceWire(a), into: &out},
	)
	return out.Domain(), err
}

// TryPlan starts a dry run of a document without storing it. Of the request, only the input, the profile, and
// Offline are used. If the document has errors, the error
// is CodeInvalid with a *planner.InvalidError in its chain.
func (c *Client) TryPlan(ctx context.Context, src []byte, r domain.StartRequest) (domain.Run, planner.Problems, error) {
	return c.try(ctx, apitypes.RunCreate{Document: string(src)}, r)
}

// TryPlanFiles is TryPlan for plan files that name each other.
func (c *Client) TryPlanFiles(ctx context.Context, files apitypes.PlanFiles, r domain.StartRequest) (domain.Run, planner.Problems, error) {
	return c.try(ctx, apitypes.RunCreate{Files: &files}, r)
}

func (c *Client) try(ctx context.Context, body apitypes.RunCreate, r domain.StartRequest) (domain.Run, planner.Problems, error) {
	var out apitypes.Run
	body.DryRun, body.Offline, body.Input, body.Profile = true, r.Offline, r.Input, r.Profile
	if _, err := c.do(ctx, call{method: http.MethodPost, path: "/runs", body: body, into: &out}); err != nil {
		return domain.Run{}, problemsOf(err), err
	}
	run := out.Domain()
	run.Input = r.Input
	return run, nil, nil
}

// Views returns the caller's saved views of the run list, and the shared ones.
func (c *Client) Views(ctx context.Context) ([]domain.SavedView, error) {
	items, err := all[apitypes.View](ctx, c, "/views", nil, 0)
	return mapList(list[apitypes.View]{Items: items}, func(v apitypes.View) domain.SavedView {
		owner := "self" // the caller; the API does not repeat the name
		if v.Shared {
			owner = ""
		}
		return domain.SavedView{Owner: owner, Name: v.Name, Query: v.Filter}
	}).Items, err
}

// KeepView stores a query under a name. If the query is empty, it deletes the view.
func (c *Client) KeepView(ctx context.Context, v domain.SavedView, shared bool) error {
	if v.Query != "" {
		_, err := c.do(
			ctx,
			call{method: http.MethodPost, path: "/views", body: apitypes.View{Name: v.Name, Filter: v.Query, Shared: shared}},
		)
		return err
	}
	_, err := c.do(
		ctx,
		call{
			method: http.MethodDelete,
			path:   "/views/" + url.PathEscape(v.Name),
			query:  url.Values{"shared": {strconv.FormatBool(shared)}},
		},
	)
	return err
}
