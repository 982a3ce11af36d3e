package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// ActBody goes with every act on a run.
type ActBody struct {
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
	Rev    int64  `json:"rev,omitempty" minimum:"0" doc:"The revision that you saw; 409 if the run has moved on."`
}

// PreviewedBody goes with acts that have a preview.
type PreviewedBody struct {
	ActBody
	Digest string `json:"digest,omitempty" maxLength:"128" doc:"The preview's; 409 if what would happen has changed."`
}

// ResumeOptions change how a resume runs the steps.
type ResumeOptions struct {
	Only      string `json:"only,omitempty" maxLength:"160" doc:"The failed step, node or node#visit, to run by itself; then the run pauses."`
	TimeoutMs int64  `json:"timeoutMs,omitempty" minimum:"0" doc:"The timeout of what runs again, this once; 0: the plan's."`
	Attempts  int    `json:"attempts,omitempty" minimum:"0" maximum:"100" doc:"How many attempts it has, this once; 0: the plan's."`
}

func (o ResumeOptions) into(r *domain.ActionRequest) {
	r.Only, r.Timeout, r.Attempts = o.Only, time.Duration(o.TimeoutMs)*time.Millisecond, o.Attempts
}

// ResumeBody goes with a resume.
type ResumeBody struct {
	PreviewedBody
	ResumeOptions
}

// RerunBody goes with a rerun.
type RerunBody struct {
	PreviewedBody
	Input   domain.RawJSON    `json:"input,omitempty" doc:"Instead of the run's input."`
	Version int               `json:"version,omitempty" minimum:"-1" doc:"0 the same, -1 the newest."`
	Labels  map[string]string `json:"labels,omitempty"`
}

// ForkBody goes with a fork.
type ForkBody struct {
	RerunBody
	At    int64                     `json:"at,omitempty" minimum:"0" doc:"The journal position to keep; 0 keeps nothing."`
	Edits map[string]domain.RawJSON `json:"edits,omitempty" doc:"New outputs of kept visits, by node or node#visit."`
	// Instead is what stands in for running steps.
	Instead map[string]domain.Override `json:"instead,omitempty" doc:"Results that stand in for running steps, by node, node#visit or node#visit[item]: the recorded one, or an output."`
}

// LimitsBody raises or lowers a run's limits.
type LimitsBody struct {
	ActBody
	domain.LimitsView
	Raise *domain.LimitsView `json:"raise,omitempty" doc:"Amounts to add to the limits that the run has. Send an Idempotency-Key, so that a repeated request adds nothing."`
}

// ResolveBody settles an attempt in doubt.
type ResolveBody struct {
	Visit   int            `json:"visit" minimum:"1"`
	Item    *int           `json:"item,omitempty" minimum:"-1" doc:"Index in a foreach; absent: none."`
	Attempt int            `json:"attempt" minimum:"1"`
	Action  string         `json:"action" enum:"happened,retry,skip,fail"`
	Output  domain.RawJSON `json:"output,omitempty" doc:"What it gave, if it happened."`
	Reason  string         `json:"reason" maxLength:"500"`
	Rev     int64          `json:"rev,omitempty" minimum:"0"`
}

// actionHandler serves actions on runs.
type actionHandler struct {
	runs *app.Runs
}

func (h actionHandler) routes(a *API) {
	h.ackRoutes(a)
	tags := []string{"actions"}
	verb := func(action domain.Action, summary string, status int) huma.Operation {
		return huma.Operation{OperationID: operationOf(action), Method: http.MethodPost, Path: "/runs/{id}/" + action.Path(),
			Tags: tags, Summary: summary, DefaultStatus: status}
	}
	mount(a, verb(domain.ActionResume, "Resume a run at its failed or unfinished steps", http.StatusOK),
		func(ctx context.Context, in *resumeIn) (*actedOut, error) {
			return h.act(ctx, in.ID, domain.ActionResume, http.StatusOK, in.Body.request())
		})
	mount(a, verb(domain.ActionRerun, "Start a new run of the same plan", http.StatusCreated),
		func(ctx context.Context, in *rerunIn) (*actedOut, error) {
			return h.act(ctx, in.ID, domain.ActionRerun, http.StatusCreated, in.Body.request())
		})
	mount(a, verb(domain.ActionFork, "Start a new run that keeps the journal up to a point", http.StatusCreated),
		func(ctx context.Context, in *forkIn) (*actedOut, error) {
			return h.act(ctx, in.ID, domain.ActionFork, http.StatusCreated, in.Body.request())
		})
	for _, v := range []struct {
		action  domain.Action
		summary string
	}{
		{domain.ActionCancel, "Cancel a run"},
		{domain.ActionPause, "Pause a run"},
		{domain.ActionContinue, "Unpause a run"},
		{domain.ActionRetryNow, "Retry a step now"},
		{domain.ActionRelease, "Release a held or quarantined run"},
		{domain.ActionStartNow, "Start a scheduled run now"},
	} {
		mount(a, verb(v.action, v.summary, http.StatusOK), func(ctx context.Context, in *actIn) (*actedOut, error) {
			return h.act(ctx, in.ID, v.action, http.StatusOK, in.Body.request())
		})
	}
	mount(a, verb(domain.ActionLimits, "Change what a run may use", http.StatusOK),
		func(ctx context.Context, in *limitsIn) (*actedOut, error) {
			limits, err := in.Body.Limits()
			if err != nil {
				return nil, err
			}
			r := in.Body.request()
			if r.Limits = limits; in.Body.Raise != nil {
				if r.Raise, err = in.Body.Raise.Limits(); err != nil {
					return nil, err
				}
			}
			return h.act(ctx, in.ID, domain.ActionLimits, http.StatusOK, r)
		})
	mount(a, huma.Operation{OperationID: "delete-run", Method: http.MethodDelete, Path: "/runs/{id}", Tags: tags,
		Summary: "Delete a run: hide it, and remove it when its retention ends"},
		func(ctx context.Context, in *deleteIn) (*actedOut, error) {
			return h.act(ctx, in.ID, domain.ActionDelete, http.StatusOK, domain.ActionRequest{Reason: in.Reason, Rev: in.Rev})
		})
	mount(a, huma.Operation{OperationID: "preview-action", Method: http.MethodGet, Path: "/runs/{id}/preview", Tags: tags,
		Summary: "What an act would do"}, h.preview)
	mount(a, huma.Operation{OperationID: "preview-edited-action", Method: http.MethodPost, Path: "/runs/{id}/preview", Tags: tags,
		Summary: "What an act with edits would do; changes nothing"}, h.previewEdits)
	mount(a, huma.Operation{OperationID: "resolve-node", Method: http.MethodPost, Path: "/runs/{id}/nodes/{node}/resolve", Tags: tags,
		Summary: "Say what became of an attempt in doubt"}, h.resolve)
}

// operationOf is the operation id of an action.
func operationOf(action domain.Action) string {
	switch action {
	case domain.ActionLimits:
		return string(app.ChangeLimits)
	case domain.ActionRetryNow:
		return string(app.RetryNow)
	case domain.ActionStartNow:
		return string(app.StartNow)
	}
	return action.Path() + "-run"
}

type actIn struct {
	RunIn
	Body *ActBody
}

type resumeIn struct {
	RunIn
	Body *ResumeBody
}

type rerunIn struct {
	RunIn
	Body *RerunBody
}

type forkIn struct {
	RunIn
	Body *ForkBody
}

type limitsIn struct {
	RunIn
	Body LimitsBody
}

type deleteIn struct {
	RunIn
	Reason string `query:"reason" maxLength:"500"`
	Rev    int64  `query:"rev" minimum:"0"`
}

func (b *ActBody) request() domain.ActionRequest {
	if b == nil {
		return domain.ActionRequest{}
	}
	return domain.ActionRequest{Reason: b.Reason, Rev: b.Rev}
}

func (b *PreviewedBody) request() domain.ActionRequest {
	r := b.ActBody.request()
	r.Digest = b.Digest
	return r
}

func (b *ResumeBody) request() domain.ActionRequest {
	if b == nil {
		return domain.ActionRequest{}
	}
	r := b.PreviewedBody.request()
	b.into(&r)
	return r
}

func (b *RerunBody) request() domain.ActionRequest {
	if b == nil {
		return domain.ActionRequest{}
	}
	r := b.PreviewedBody.request()
	r.Input, r.Version, r.Labels = b.Input, b.Version, b.Labels
	return r
}

func (b *ForkBody) request() domain.ActionRequest {
	if b == nil {
		return domain.ActionRequest{}
	}
	r := b.RerunBody.request()
	r.At, r.Edits, r.Instead = b.At, b.Edits, b.Instead
	return r
}

type actedOut struct {
	Status   int
	Location string `header:"Location"`
	Body     domain.RunView
}

func (h actionHandler) act(ctx context.Context, id string, action domain.Action, status int, r domain.ActionRequest) (*actedOut, error) {
	r.Run, r.Action = id, action
	done, err := h.runs.Act(ctx, app.ActRequest{Meta: meta(ctx), ActionRequest: r})
	if err != nil {
		return nil, err
	}
	return &actedOut{Status: status, Location: Base + "/runs/" + done.ID, Body: domain.ViewRun(done)}, nil
}

type previewIn struct {
	RunIn
	Action  string `query:"action" required:"true" enum:"resume,rerun,fork,cancel,pause,continue,retry-now,release,start-now,delete,limits"`
	At      int64  `query:"at" minimum:"0" doc:"Of a fork: the journal position to keep."`
	Version int    `query:"version" minimum:"-1" doc:"0 the same, -1 the newest."`
}

type previewOut struct{ Body domain.Preview }

func (h actionHandler) preview(ctx context.Context, in *previewIn) (*previewOut, error) {
	return h.previewOf(ctx, in.ID, domain.ActionRequest{Action: domain.Action(in.Action), At: in.At, Version: in.Version})
}

// PreviewBody asks what an act with edits would do.
type PreviewBody struct {
	Action string `json:"action" enum:"resume,rerun,fork"`
	ForkBody
	ResumeOptions
}

type previewEditsIn struct {
	RunIn
	Body PreviewBody
}

func (h actionHandler) previewEdits(ctx context.Context, in *previewEditsIn) (*previewOut, error) {
	r := in.Body.request()
	in.Body.into(&r)
	r.Action = domain.Action(in.Body.Action)
	return h.previewOf(ctx, in.ID, r)
}

func (h actionHandler) previewOf(ctx context.Context, id string, r domain.ActionRequest) (*previewOut, error) {
	r.Run = id
	p, err := h.runs.Preview(ctx, actorOf(ctx), r)
	return &previewOut{Body: p}, err
}

type resolveIn struct {
	RunIn
	Node string `path:"node" maxLength:"128"`
	Body ResolveBody
}

func (h actionHandler) resolve(ctx context.Context, in *resolveIn) (*actedOut, error) {
	b := &in.Body
	item := -1
	if b.Item != nil {
		item = *b.Item
	}
	done, err := h.runs.Resolve(
		ctx,
		app.ResolveRequest{Meta: meta(ctx), ResolveRequest: domain.ResolveRequest{Run: in.ID, Node: in.Node, Visit: b.Visit, Item: item,
			Attempt: b.Attempt, Action: b.Action, Output: b.Output, Reason: b.Reason, Rev: b.Rev}},
	)
	if err != nil {
		return nil, err
	}
	return &actedOut{Status: http.StatusOK, Body: domain.ViewRun(done)}, nil
}
