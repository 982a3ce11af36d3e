package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// StepHitView is an attempt of a step, found across runs.
type StepHitView struct {
	Run       string            `json:"run"`
	Plan      string            `json:"plan"`
	Version   int               `json:"version,omitempty"`
	Seq       int64             `json:"seq" doc:"Its row of the run's journal."`
	Node      string            `json:"node"`
	Visit     int               `json:"visit"`
	Item      int               `json:"item" doc:"Index in a foreach, -1: none."`
	Attempt   int               `json:"attempt"`
	Status    kairos.NodeStatus `json:"status"`
	Code      string            `json:"code,omitempty"`
	Message   string            `json:"message,omitempty"`
	TookMs    int64             `json:"tookMs"`
	StartedAt time.Time         `json:"startedAt,omitzero"`
	At        time.Time         `json:"at"`
}

// NodeFlowView is how runs went through a node.
type NodeFlowView struct {
	Runs     int           `json:"runs"`
	Settled  int           `json:"settled" doc:"Visits and items that ended."`
	Failed   int           `json:"failed" doc:"Of those."`
	Attempts int           `json:"attempts"`
	P50Ms    int64         `json:"p50Ms"`
	P95Ms    int64         `json:"p95Ms"`
	Failures []StepHitView `json:"failures" doc:"The last attempts that failed."`
	Slow     []StepHitView `json:"slow" doc:"The attempts that took longest."`
}

// FlowView is how the newest runs of a plan went through its nodes.
type FlowView struct {
	Runs  int                     `json:"runs" doc:"How many were looked at: the newest, at most 500."`
	Since time.Time               `json:"since,omitzero" doc:"When the oldest of them began."`
	Whole bool                    `json:"whole" doc:"They are all that began in the window."`
	Nodes map[string]NodeFlowView `json:"nodes"`
	Edges map[int]int             `json:"edges" doc:"How often each edge was chosen, by its place in the document."`
}

func (a *API) planUseRoutes() {
	register(a, huma.Operation{
		OperationID: "search-steps", Method: http.MethodGet, Path: "/steps", Tags: []string{"runs"},
		Summary:     "Search attempts of steps across runs",
		Description: "Newest runs first, or longest first. The search looks as far as a bound of time leads; next goes on from there.",
	}, a.searchSteps)
	register(a, huma.Operation{
		OperationID: "plan-flow", Method: http.MethodGet, Path: "/plans/{id}/flow", Tags: []string{"plans"},
		Summary: "How the newest runs of a plan went through its nodes",
	}, a.planFlow)
	register(a, huma.Operation{
		OperationID: "restore-version", Method: http.MethodPost, Path: "/plans/{id}/versions/{n}/restore", Tags: []string{"plans"},
		Summary:     "Make an earlier version the current one",
		Description: "What is started from now on follows it; runs under way keep theirs. With If-Match, the answer is 409 when the plan's current version is another.",
	}, a.restoreVersion)
	register(a, huma.Operation{
		OperationID: "accept-plan", Method: http.MethodPost, Path: "/plans/{id}/accept", Tags: []string{"plans"},
		Summary: "Take a planner's draft into use",
	}, a.acceptPlan)
	register(a, huma.Operation{
		OperationID: "try-plan", Method: http.MethodPost, Path: "/plans/try", Tags: []string{"plans"}, MaxBodyBytes: maxDocument,
		Summary:     "Start a dry run of a document without saving it",
		Description: "What computes or only reads runs; whatever might change something or ask a model is left undone. The run has the label draft.",
		RequestBody: documentBody(), SkipValidateBody: true, DefaultStatus: http.StatusCreated,
	}, a.tryPlan)
}

type searchStepsIn struct {
	PageIn
	Q    string `query:"q" maxLength:"4096" doc:"plan:, v:, node:, status:, error:, took:, attempt:, since:, until:"`
	Sort string `query:"sort" enum:"took" doc:"took: the longest of those that were looked at."`
}

type stepsOut struct{ Body List[StepHitView] }

func (a *API) searchSteps(ctx context.Context, in *searchStepsIn) (*stepsOut, error) {
	after, err := a.unseal(ctx, in.Cursor)
	if err != nil {
		return nil, err
	}
	f, problem := filter.ParseSteps(in.Q, time.Now())
	if problem != nil {
		return nil, problem
	}
	f.Page, f.Slowest = kairos.Page{After: after, Limit: in.Limit}, in.Sort == "took"
	hits, err := a.Reader.Steps(ctx, f)
	if err != nil {
		return nil, err
	}
	return &stepsOut{Body: listOf(hits.Items, a.seal(ctx, hits.Next), viewHit)}, nil
}

func viewHit(h kairos.StepHit) StepHitView {
	return StepHitView{Run: h.Run, Plan: h.PlanKey, Version: h.Version, Seq: h.Seq, Node: h.Node, Visit: h.Visit, Item: h.Item, Attempt: h.Attempt, Status: h.Status,
		Code: h.Code, Message: h.Message, TookMs: h.Took().Milliseconds(), StartedAt: h.StartedAt, At: h.At}
}

func viewHits(hits []kairos.StepHit) []StepHitView {
	out := make([]StepHitView, len(hits))
	for i, h := range hits {
		out[i] = viewHit(h)
	}
	return out
}

type planFlowIn struct {
	ID      string `path:"id" maxLength:"128" doc:"The plan's id or its own key."`
	Version int    `query:"version" minimum:"0" doc:"0 or absent: all."`
	Since   string `query:"since" maxLength:"40" default:"7d" doc:"24h, 7d, or a time."`
}

type planFlowOut struct{ Body FlowView }

func (a *API) planFlow(ctx context.Context, in *planFlowIn) (*planFlowOut, error) {
	p, err := a.Reader.Plan(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	since, err := filter.Moment(in.Since, time.Now())
	if err != nil {
		return nil, kairos.Errorf(kairos.CodeInvalid, "since: %w", err).Suggest("write 24h, 7d or 2030-01-31T08:00")
	}
	flow, err := a.Reader.PlanFlow(ctx, p.Key, in.Version, since)
	if err != nil {
		return nil, err
	}
	out := &planFlowOut{Body: FlowView{Runs: flow.Runs, Since: flow.Since, Whole: flow.Whole, Nodes: map[string]NodeFlowView{}, Edges: flow.Edges}}
	for id, n := range flow.Nodes {
		out.Body.Nodes[id] = NodeFlowView{Runs: n.Runs, Settled: n.Settled, Failed: n.Failed, Attempts: n.Attempts, P50Ms: n.P50.Milliseconds(), P95Ms: n.P95.Milliseconds(),
			Failures: viewHits(n.Failures), Slow: viewHits(n.Slow)}
	}
	return out, nil
}

type restoreIn struct {
	ID      string `path:"id" maxLength:"128" doc:"The plan's id or its own key."`
	N       int    `path:"n" minimum:"1"`
	IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag of the plan as you saw it."`
	Body    *reasonBody
}

func (a *API) restoreVersion(ctx context.Context, in *restoreIn) (*planOut, error) {
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	if _, err := a.Engine.RestoreVersion(ctx, actorOf(ctx), in.ID, in.N, (&documentIn{IfMatch: in.IfMatch}).base(), reason); err != nil {
		return nil, err
	}
	return a.planNamed(ctx, in.ID)
}

func (a *API) acceptPlan(ctx context.Context, in *archiveIn) (*planOut, error) {
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	if _, err := a.Engine.AcceptPlan(ctx, actorOf(ctx), in.ID, reason); err != nil {
		return nil, err
	}
	return a.planNamed(ctx, in.ID)
}

type tryIn struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	Input       string `query:"input" maxLength:"4096" doc:"The run's input as JSON."`
	RawBody     []byte `contentType:"application/yaml"`
}

func (a *API) tryPlan(ctx context.Context, in *tryIn) (*startedOut, error) {
	var input kairos.RawJSON
	if in.Input != "" {
		v, err := planner.DecodeValue([]byte(in.Input))
		if err == nil {
			input, err = planner.EncodeValue(v)
		}
		if err != nil {
			return nil, kairos.Errorf(kairos.CodeInvalid, "input: %w", err)
		}
	}
	doc := &documentIn{ContentType: in.ContentType, RawBody: in.RawBody}
	run, problems, err := a.Engine.TryPlan(ctx, actorOf(ctx), doc.document(), doc.format(), input)
	if err != nil {
		p := a.problem(ctx, err)
		if len(p.Problems) == 0 && len(problems) > 0 {
			p.Errors = nil
			p.withProblems(problems)
		}
		return nil, p
	}
	return &startedOut{Status: http.StatusCreated, Location: Base + "/runs/" + run.ID, Body: Started{ID: run.ID, Status: run.Status}}, nil
}
