package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
)

func (h runHandler) stepRoutes(a *API) {
	tags := []string{"runs"}
	mount(a, huma.Operation{
		OperationID: "get-step", Method: http.MethodGet, Path: "/runs/{id}/steps/{seq}", Tags: tags,
		Summary: "Get the journal rows of one step of a run",
	}, h.getStep)
	mount(a, huma.Operation{
		OperationID: "search-steps", Method: http.MethodGet, Path: "/steps", Tags: tags,
		Summary:     "Search attempts of steps across runs",
		Description: "Newest runs first, or longest first. A search reads a bounded number of runs, and nextCursor continues it.",
	}, h.searchSteps)
}

type stepIn struct {
	RunIn
	Seq int64 `path:"seq" minimum:"1" doc:"The number of one of its journal rows."`
}

type stepOut struct{ Body Step }

// Step is an iteration of a step, or one of its items.
type Step struct {
	Run   string         `json:"run" doc:"The run's id."`
	Node  string         `json:"node" doc:"The step."`
	Visit int            `json:"visit" doc:"The iteration of the step."`
	Item  int            `json:"item" doc:"-1: the node has no items."`
	Rows  []domain.Entry `json:"rows" doc:"Its journal rows, in order."`
	// Damage is the reason why the journal ends, and possibly the step.
	Damage string `json:"damage,omitempty" doc:"Damage that ends the journal: the next row cannot be trusted."`
}

func (h runHandler) getStep(ctx context.Context, in *stepIn) (*stepOut, error) {
	run, part, err := h.runs.Step(ctx, actorOf(ctx), in.ID, in.Seq)
	if err != nil {
		return nil, err
	}
	of := &part.Rows[0]
	return &stepOut{Step{Run: run.ID, Node: of.Node, Visit: of.Visit, Item: of.Item, Rows: part.Rows, Damage: part.Damage}}, nil
}

type searchStepsIn struct {
	PageIn
	Filter string `query:"filter" maxLength:"4096" doc:"plan:, v:, node:, status:, error:, took:, attempt:, since:, until:"`
	Sort   string `query:"sort" enum:"duration" doc:"duration: the longest of the newest attempts first."`
}

type stepsOut struct {
	Body apitypes.List[apitypes.StepAttempt]
}

func (h runHandler) searchSteps(ctx context.Context, in *searchStepsIn) (*stepsOut, error) {
	after, err := h.unseal(ctx, in.Cursor)
	if err != nil {
		return nil, err
	}
	f, problem := filter.ParseSteps(in.Filter, time.Now())
	if problem != nil {
		return nil, problem
	}
	f.Page, f.Slowest = domain.Page{After: after, Limit: in.Limit}, in.Sort == "duration"
	hits, err := h.runs.SearchSteps(ctx, actorOf(ctx), f)
	if err != nil {
		return nil, err
	}
	return &stepsOut{Body: listOf(hits.Items, h.seal(ctx, hits.Next), apitypes.StepAttemptOf)}, nil
}
