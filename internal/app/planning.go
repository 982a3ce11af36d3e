package app

import (
	"context"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Planning contains the operations that plan a request while the client waits.
type Planning struct{ *kernel }

// Classify estimates the complexity of a request without a model.
//
// Errors: forbidden.
func (p *Planning) Classify(ctx context.Context, by domain.Actor, query string) (domain.Classification, error) {
	if err := p.allow(ctx, ClassifyRequest, by, ""); err != nil {
		return domain.Classification{}, err
	}
	return p.planner.Classify(query), nil
}

// AskRequest requests a plan and a run of it.
type AskRequest struct {
	Meta `json:"-"`
	domain.AskRequest
}

// unstarted is the prefix of an idempotency key's object if the request started no run. A version
// follows it.
const unstarted = "version:"

// Ask stores the plan for a request, and starts a run of it, unless only the plan is requested or
// it must be accepted first. The key commits with the run. If no run is started, the key is
// recorded after the plan is stored. If kairosd is killed between both, a repetition plans again.
//
// Errors: invalid (there is no plan for the request), too_large, forbidden, unavailable.
func (p *Planning) Ask(ctx context.Context, req AskRequest) (domain.PlannerAnswer, error) {
	r := req.AskRequest
	request := []any{r.Query, r.Agent, r.PlanOnly, r.Accept, r.Session, r.Fresh, r.Constraints, r.Preferences}
	find := func(ctx context.Context, id string) (domain.PlannerAnswer, error) { return p.asked(ctx, r, id) }
	return command(ctx, p.kernel, Ask, req.Meta, request, find,
		func(ctx context.Context, receipt *domain.Receipt) (domain.PlannerAnswer, error) {
			r := r
			r.Receipt = receipt
			out, err := p.planner.Ask(ctx, req.By, r)
			if err != nil || receipt == nil || out.Run != "" || out.Plan == nil {
				return out, err
			}
			intent, err := p.intent(Ask, req.Meta, request)
			if err == nil {
				_, _, err = p.store.Do(intent, func(*store.Tx) (string, error) { return unstarted + out.Plan.Hash, nil })
			}
			return out, err
		})
}

// asked returns the result of a request that was executed before: the run that it started, or the
// version that it stored.
func (p *Planning) asked(ctx context.Context, r domain.AskRequest, id string) (domain.PlannerAnswer, error) {
	out := domain.PlannerAnswer{Classification: p.planner.Classify(r.Query), Agent: r.Agent}
	if agent, _, ok := p.planner.Directed(strings.TrimSpace(r.Query)); ok && r.Agent == "" {
		out.Agent = agent
	}
	hash, ok := strings.CutPrefix(id, unstarted)
	if !ok {
		run, err := p.store.FindRun(ctx, id)
		if err != nil {
			return out, err
		}
		out.Run, hash = run.ID, run.Hash
	}
	plan, err := p.made(ctx, hash)
	if err != nil {
		return out, err
	}
	out.Plan, out.Reason = &plan, plan.Reason
	out.NeedsAcceptance = out.Agent == "" && len(plan.Unsafe) > 0 && !r.Accept
	return out, nil
}

// made is a version that a planner made.
func (p *Planning) made(ctx context.Context, hash string) (domain.PlannerPlan, error) {
	v, err := p.store.VersionByHash(ctx, hash)
	if err != nil {
		return domain.PlannerPlan{}, err
	}
	plan, err := p.store.Plan(ctx, v.PlanID)
	if err != nil {
		return domain.PlannerPlan{}, err
	}
	return p.planner.Describe(plan, v), nil
}

// PlanningRequest requests a plan.
type PlanningRequest struct {
	Meta `json:"-"`
	domain.PlanningRequest
}

// Make stores the plan for a planning request, and starts no run. The key is recorded after the
// plan is stored. If kairosd is killed between both, a repetition plans again.
//
// Errors: invalid (there is no plan for the request), forbidden, unavailable.
func (p *Planning) Make(ctx context.Context, req PlanningRequest) (domain.PlannerPlan, error) {
	version := object[domain.PlannerPlan]{id: func(a domain.PlannerPlan) string { return a.Hash }, find: p.made}
	return effect(ctx, p.kernel, MakePlan, req.Meta, req.PlanningRequest, version, func(ctx context.Context) (domain.PlannerPlan, error) {
		return p.planner.PlanRequest(ctx, req.By, req.PlanningRequest)
	})
}
