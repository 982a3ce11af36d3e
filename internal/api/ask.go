package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/domain"
)

// Planner makes plans of intents.
type Planner interface {
	// Classify judges a query without a model.
	Classify(query string) domain.Classification
	// Ask stores the plan that answers an intent and starts a run of it.
	Ask(ctx context.Context, actor domain.Actor, r domain.AskRequest) (domain.Asked, error)
	// PlanRequest makes and stores a plan for a planning request; nothing is
	// started. The error of a request that gets none wraps a *domain.PlanError.
	PlanRequest(ctx context.Context, actor domain.Actor, r domain.PlanningRequest) (domain.AskedPlan, error)
}

// AskBody is an intent.
type AskBody struct {
	Query    string `json:"query" minLength:"1" maxLength:"32768" doc:"What is wanted; /agentId text names the agent that answers."`
	Agent    string `json:"agent,omitempty" doc:"Answers directly, without a plan."`
	PlanOnly bool   `json:"planOnly,omitempty" doc:"Make and store the plan, and start nothing."`
	Accept   bool   `json:"accept,omitempty" doc:"Start also a plan with steps that cannot be repeated."`
	Session  string `json:"session,omitempty"`
	Fresh    bool   `json:"fresh,omitempty" doc:"Plan anew, even if an equal request has a plan already."`
	// Constraints and preferences are those of a planning request.
	Constraints domain.Constraints `json:"constraints,omitzero" required:"false"`
	Preferences map[string]any     `json:"preferences,omitempty" doc:"Fill parameters of skills, such as a tone."`
}

// ClassifyBody is a query to be classified.
type ClassifyBody struct {
	Query string `json:"query" maxLength:"32768"`
}

type (
	askIn       struct{ Body AskBody }
	askedOut    struct{ Body domain.Asked }
	classifyIn  struct{ Body ClassifyBody }
	classifyOut struct{ Body domain.Classification }
	planningIn  struct{ Body domain.PlanningRequest }
	plannedOut  struct{ Body domain.ExecutionPlan }
)

func (a *API) askRoutes() {
	tags := []string{"planning"}
	there := func() error {
		if a.Planner == nil {
			return domain.Errorf(domain.CodeUnavailable, "nothing makes plans here")
		}
		return nil
	}
	register(a, huma.Operation{OperationID: "ask", Method: http.MethodPost, Path: "/ask", Tags: tags, DefaultStatus: http.StatusCreated,
		Summary: "Make a plan of an intent and start a run of it"},
		func(ctx context.Context, in *askIn) (*askedOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			// A plan that was stored is found again; a run is not started twice.
			if done := infoOf(ctx).done; slices.ContainsFunc(done, func(e domain.AuditEvent) bool { return e.Action == "run.created" }) {
				return nil, carriedOut(done)
			}
			asked, err := a.Planner.Ask(ctx, actorOf(ctx), domain.AskRequest{Query: in.Body.Query, Agent: in.Body.Agent, PlanOnly: in.Body.PlanOnly, Accept: in.Body.Accept, Session: in.Body.Session,
				Fresh: in.Body.Fresh, Constraints: in.Body.Constraints, Preferences: in.Body.Preferences})
			return &askedOut{asked}, err
		})
	register(a, huma.Operation{OperationID: "classify", Method: http.MethodPost, Path: "/planner/classify", Tags: tags,
		Summary: "Say whether a query needs a plan, without a model"},
		func(_ context.Context, in *classifyIn) (*classifyOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			return &classifyOut{a.Planner.Classify(in.Body.Query)}, nil
		})
	register(a, huma.Operation{OperationID: "plan", Method: http.MethodPost, Path: "/planner/plan", Tags: tags, DefaultStatus: http.StatusCreated,
		Summary: "Make and store a plan for a planning request; nothing is started"},
		func(ctx context.Context, in *planningIn) (*plannedOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			p, err := a.Planner.PlanRequest(ctx, actorOf(ctx), in.Body)
			if err != nil {
				return nil, err
			}
			plan, err := p.Execution()
			return &plannedOut{plan}, err
		})
}
