package app

import (
	"context"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/planner/walk"
)

// PlanTools contains the operations on plans that are tools of other programs: of MCP clients, or of A2A
// clients as skills. A plan is a tool of a protocol if its current version exposes it there.
type PlanTools struct{ *kernel }

// PlanTool is a plan that other programs can call as a tool.
type PlanTool struct {
	Plan domain.Plan
	// Input is the JSON Schema of the input, or nil.
	Input any
	// ReadOnly, Idempotent, and Destructive follow from the side-effect classes of all steps.
	ReadOnly, Idempotent, Destructive bool
}

// maxPlanTools is the maximum number of tools in a list.
const maxPlanTools = 500

// List returns the plans that the principal may call as tools, latest change first.
//
// Errors: forbidden.
func (t *PlanTools) List(ctx context.Context, by domain.Actor) ([]PlanTool, error) {
	if err := t.allow(ctx, ListPlanTools, by, ""); err != nil {
		return nil, err
	}
	list, err := t.store.Plans(ctx, domain.PlanFilter{Stage: domain.PlansUsed, Page: domain.Page{Limit: maxPlanTools},
		Facts: []domain.PlanFact{{Kind: domain.FactExpose, Value: protocolOf(by)}}})
	if err != nil {
		return nil, err
	}
	var out []PlanTool
	for _, plan := range list.Items {
		if plan.Paused != nil || !mayCall(by, plan.Key) {
			continue
		}
		if tool, err := t.tool(ctx, plan, protocolOf(by)); err == nil { // a plan that cannot run here is not a tool
			out = append(out, tool)
		}
	}
	return out, nil
}

// Get returns a plan that the principal may call as a tool. A plan that is not a tool does not
// exist here.
//
// Errors: not_found, forbidden.
func (t *PlanTools) Get(ctx context.Context, by domain.Actor, key string) (PlanTool, error) {
	if err := t.allow(ctx, ListPlanTools, by, ""); err != nil {
		return PlanTool{}, err
	}
	plan, err := t.store.Plan(ctx, key)
	if domain.CodeOf(err) == domain.CodeNotFound || err == nil && (plan.Key != key || plan.Archived || plan.Stage != domain.StageUsed) {
		return PlanTool{}, domain.Errorf(domain.CodeNotFound, "no tool %.64q", key)
	}
	if err != nil {
		return PlanTool{}, err
	}
	if !mayCall(by, plan.Key) {
		return PlanTool{}, domain.Errorf(domain.CodeForbidden, "this token has no scope %s", domain.PlanScope(protocolOf(by), plan.Key)).
			Suggest("use a token that has the scope; this one has: %s", by.Scopes)
	}
	return t.tool(ctx, plan, protocolOf(by))
}

// protocolOf is the protocol of a principal. Others see the tools of MCP clients.
func protocolOf(by domain.Actor) string {
	if by.Source == domain.SourceA2A {
		return walk.ExposeA2A
	}
	return walk.ExposeMCP
}

// tool describes a plan. The error is CodeNotFound if its current version is not exposed to the protocol.
func (t *PlanTools) tool(ctx context.Context, plan domain.Plan, protocol string) (PlanTool, error) {
	p, err := t.engine.Compile(ctx, domain.AsWritten(plan.LatestHash))
	if err != nil {
		return PlanTool{}, err
	}
	if !slices.Contains(p.Start.Expose, protocol) {
		return PlanTool{}, domain.Errorf(domain.CodeNotFound, "no tool %.64q", plan.Key)
	}
	e, err := engine.SideEffectsOf(ctx, t.engine, plan.LatestHash)
	return PlanTool{
		Plan: plan, Input: p.InputSchema, ReadOnly: walk.EffectRead.Stricter(e.Class), Destructive: e.Changes,
		Idempotent: walk.EffectIdempotent.Stricter(e.Class),
	}, err
}

// mayCall reports whether the scopes of a principal permit calls of a plan.
func mayCall(by domain.Actor, plan string) bool {
	return by.Scopes == "" || domain.ScopesInclude(strings.Fields(by.Scopes), domain.PlanScope(protocolOf(by), plan))
}

// scoped reports whether scopes permit operations that require a scope. A scope for one plan permits
// operations on plans as tools, and the operation checks the plan.
func scoped(scopes []string, required string) bool {
	return slices.Contains(scopes, required) || domain.IsProtocol(required) &&
		slices.ContainsFunc(scopes, func(s string) bool { return strings.HasPrefix(s, domain.PlanScope(required, "")) })
}

// required is the scope that an operation requires of a principal: operations on tools require that of its
// protocol.
func required(scope string, who domain.Actor) string {
	if scope == domain.ScopeMCP {
		return protocolOf(who)
	}
	return scope
}

// ToolCall calls a plan as a tool.
type ToolCall struct {
	Meta  `json:"-"`
	Tool  string // key of the plan
	Input domain.RawJSON
}

// Call starts a run of a plan, which is durable when Call returns.
//
// Errors: invalid (the input does not match the plan's schema), not_found (no such tool), conflict
// (the plan is paused, or its concurrency rule refuses another run), forbidden, unavailable.
func (t *PlanTools) Call(ctx context.Context, req ToolCall) (domain.Run, error) {
	return command(ctx, t.kernel, CallPlanTool, req.Meta, req, t.store.FindRun,
		func(ctx context.Context, receipt *domain.Receipt) (domain.Run, error) {
			tool, err := t.Get(ctx, req.By, req.Tool)
			if err != nil {
				return domain.Run{}, t.permit(ctx, CallPlanTool, req.By, "plan:"+req.Tool, err)
			}
			return t.engine.Start(ctx, req.By, domain.StartRequest{Plan: tool.Plan.ID, Version: tool.Plan.Latest, Input: req.Input,
				Origin: req.By.Source, Receipt: receipt})
		})
}

// CallCancel cancels the run of a call.
type CallCancel struct {
	Meta `json:"-"`
	Run  string
}

// Cancel cancels the run of a call. A principal that did not start the run needs permission to cancel runs. A
// cancelled run is returned unchanged.
//
// Errors: not_found, conflict (the run has ended, or the id matches several runs), forbidden.
func (t *PlanTools) Cancel(ctx context.Context, req CallCancel) (domain.Run, error) {
	return command(ctx, t.kernel, CancelCall, req.Meta, req, t.store.FindRun,
		func(ctx context.Context, receipt *domain.Receipt) (domain.Run, error) {
			runs := Runs{t.kernel}
			run, err := runs.find(ctx, req.Run)
			if err == nil && (run.Actor != req.By.Name || run.Origin != req.By.Source) {
				err = t.allow(ctx, CancelRun, req.By, "run:"+run.ID)
			}
			if err != nil || run.Status == domain.RunCancelled {
				return run, err
			}
			return t.engine.Act(ctx, req.By, domain.ActionRequest{Run: run.ID, Action: domain.ActionCancel, Receipt: receipt})
		})
}

// Await returns a run when it is final or waits for a person. If the context ends first, it returns the
// run in its current state. each, if not nil, is called with the run after its steps have settled.
// A principal that did not start the run needs permission to read runs.
//
// Errors: not_found, conflict (the id matches several runs), forbidden.
func (t *PlanTools) Await(ctx context.Context, by domain.Actor, id string, each func(domain.Run)) (Facts, error) {
	runs, read := Runs{t.kernel}, context.WithoutCancel(ctx) // the end of ctx ends only the wait
	run, err := runs.seen(read, AwaitRun, by, id)
	if err != nil {
		return Facts{}, err
	}
	if run.Actor != by.Name {
		if err := t.allow(read, GetRun, by, ""); err != nil {
			return Facts{}, err
		}
	}
	if each != nil {
		stop, err := t.report(read, run.ID, each)
		if err != nil {
			return Facts{}, err
		}
		defer stop()
	}
	if _, err := t.engine.Wait(ctx, run.ID); err != nil && ctx.Err() == nil {
		return Facts{}, err
	}
	d, err := t.engine.Detail(read, run.ID)
	if err == nil {
		d.Waits, err = t.waits(read, d.Waits, 0)
	}
	return Facts{RunDetail: d}, err
}

// maxChildren is the maximum depth of child runs whose waits are returned. Runs have the same limit.
const maxChildren = 8

// waits replaces each wait for a child run with the waits of the child.
func (t *PlanTools) waits(ctx context.Context, list []domain.Wait, depth int) (out []domain.Wait, err error) {
	for _, w := range list {
		if w.Child == "" || depth == maxChildren {
			out = append(out, w)
			continue
		}
		d, err := t.engine.Detail(ctx, w.Child)
		if err != nil && domain.CodeOf(err) != domain.CodeNotFound { // a child is created after the wait for it
			return nil, err
		}
		inner, err := t.waits(ctx, d.Waits, depth+1)
		if err != nil {
			return nil, err
		}
		if out = append(out, inner...); len(inner) == 0 {
			out = append(out, w)
		}
	}
	return out, nil
}

// report calls each with a run after its steps have settled, until stop. Steps that settled before it, or
// while the run ended, are reported too.
func (t *PlanTools) report(ctx context.Context, run string, each func(domain.Run)) (stop func(), err error) {
	listening, cancel := context.WithCancel(ctx)
	events, err := t.engine.Subscribe(listening, -1, run)
	if err != nil {
		cancel()
		return nil, err
	}
	steps := int64(0)
	look := func() {
		if now, err := t.store.FindRun(ctx, run); err == nil && now.Steps > steps {
			steps = now.Steps
			each(now)
		}
	}
	look()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range events {
			for len(events) > 0 { // one report for several events
				<-events
			}
			look()
		}
	}()
	return func() {
		cancel()
		<-done
		look()
	}, nil
}
