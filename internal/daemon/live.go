package daemon

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/planning"
	"github.com/kairosd/kairosd/internal/tool"
)

// planners plan with the current configuration. Each request uses one runtime until its end.
type planners struct{ now func() *runtime }

func (p planners) service() *planning.Service { return p.now().asker }

func (p planners) Classify(query string) domain.Classification { return p.service().Classify(query) }

func (p planners) Explain(ctx context.Context, intent string, canonical []byte) domain.PlanExplanation {
	return p.service().Explain(ctx, intent, canonical)
}

func (p planners) Ask(ctx context.Context, actor domain.Actor, r domain.AskRequest) (domain.PlannerAnswer, error) {
	return p.service().Ask(ctx, actor, r)
}

func (p planners) PlanRequest(ctx context.Context, actor domain.Actor, r domain.PlanningRequest) (domain.PlannerPlan, error) {
	return p.service().PlanRequest(ctx, actor, r)
}

func (p planners) Replan(ctx context.Context, r domain.ReplanRequest) (domain.Replanned, error) {
	return p.service().Replan(ctx, r)
}

func (p planners) Describe(plan domain.Plan, v domain.Version) domain.PlannerPlan {
	return p.service().Describe(plan, v)
}

func (p planners) Planners() []string { return p.service().Planners() }

func (p planners) Directed(query string) (agent, text string, ok bool) {
	return p.service().Directed(query)
}

func (p planners) Alternative(
	ctx context.Context,
	actor domain.Actor,
	v domain.Version,
	kind string,
	askFirst bool,
) (domain.PlannerPlan, error) {
	return p.service().Alternative(ctx, actor, v, kind, askFirst)
}

func (p planners) Outline(canonical []byte) []string { return p.service().Outline(canonical) }

// catalog returns the tools and providers of the current configuration.
type catalog struct{ now func() *runtime }

func (c catalog) box() *tool.Box { return c.now().tools }

// providerInfos is Providers without an error.
func (c catalog) providerInfos() []domain.ProviderInfo { return c.box().Models.ProviderInfos() }

func (c catalog) Tools(ctx context.Context) ([]domain.ToolInfo, error) { return c.box().Tools(ctx) }

func (c catalog) Host(name string, args any) string { return c.box().Host(name, args) }
