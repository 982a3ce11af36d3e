package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// AskCreate is a planning request.
type AskCreate struct {
	Query    string `json:"query" minLength:"1" maxLength:"32768" doc:"The request in plain language. /agentId text selects the agent that answers."`
	Agent    string `json:"agent,omitempty" doc:"Answers directly, without a plan."`
	PlanOnly bool   `json:"planOnly,omitempty" doc:"Create and store the plan, without starting it."`
	Accept   bool   `json:"accept,omitempty" doc:"Also start a plan with steps that cannot be repeated."`
	Session  string `json:"session,omitempty"`
	Fresh    bool   `json:"fresh,omitempty" doc:"Plan again, even if an equal request has a plan already."`
	// Constraints and preferences are those of a planning request.
	Constraints domain.Constraints `json:"constraints,omitzero" required:"false"`
	Preferences map[string]any     `json:"preferences,omitempty" doc:"Fill parameters of skills, such as a tone."`
}

// QueryClassify is a query to classify.
type QueryClassify struct {
	Query string `json:"query" maxLength:"32768"`
}

type (
	askIn       struct{ Body AskCreate }
	askedOut    struct{ Body domain.PlannerAnswer }
	classifyIn  struct{ Body QueryClassify }
	classifyOut struct{ Body domain.Classification }
	planningIn  struct{ Body domain.PlanningRequest }
	plannedOut  struct{ Body domain.ExecutionPlan }
)

// planningHandler serves planning requests with an immediate response.
type planningHandler struct {
	planning *app.Planning
}

func (h planningHandler) routes(a *API) {
	tags := []string{"planning"}
	mount(
		a,
		huma.Operation{OperationID: "ask-planner", Method: http.MethodPost, Path: "/ask", Tags: tags, DefaultStatus: http.StatusCreated,
			Summary: "Plan a request and run it"},
		func(ctx context.Context, in *askIn) (*askedOut, error) {
			b := in.Body
			asked, err := h.planning.Ask(ctx, app.AskRequest{Meta: meta(ctx), AskRequest: domain.AskRequest{Query: b.Query, Agent: b.Agent,
				PlanOnly: b.PlanOnly, Accept: b.Accept, Session: b.Session, Fresh: b.Fresh, Constraints: b.Constraints,
				Preferences: b.Preferences}})
			return &askedOut{asked}, err
		},
	)
	mount(a, huma.Operation{OperationID: "classify-request", Method: http.MethodPost, Path: "/planner/classify", Tags: tags,
		Summary: "Classify a request without a model"},
		func(ctx context.Context, in *classifyIn) (*classifyOut, error) {
			c, err := h.planning.Classify(ctx, actorOf(ctx), in.Body.Query)
			return &classifyOut{c}, err
		})
	mount(
		a,
		huma.Operation{
			OperationID:   "make-plan",
			Method:        http.MethodPost,
			Path:          "/planner/plan",
			Tags:          tags,
			DefaultStatus: http.StatusCreated,
			Summary:       "Create and store a plan for a planning request, without starting it",
		},
		func(ctx context.Context, in *planningIn) (*plannedOut, error) {
			p, err := h.planning.Make(ctx, app.PlanningRequest{Meta: meta(ctx), PlanningRequest: in.Body})
			if err != nil {
				return nil, err
			}
			plan, err := p.Execution()
			return &plannedOut{plan}, err
		},
	)
}
