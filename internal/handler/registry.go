// Package handler runs the nodes that the engine does not run itself: tools, agents, models, and
// node types that a program registers.
package handler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/metric/activity"
	"github.com/kairosd/kairosd/internal/schedule"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// Registry finds the handler of a node: first by the node's id, then by its type [000]. It
// implements engine.Registry. The engine itself runs set, log, noop, decision, wait, approval, and
// plan, and requests no handler for them. It is safe for concurrent use.
type Registry struct {
	tools *tool.Set

	mu     sync.RWMutex
	byType map[string]engine.Handler
	byID   map[string]engine.Handler
	types  map[string]walk.Effect // additional types with their effects
	agents map[string]planner.AgentInfo
	skills map[string]planner.SkillInfo
	models *Models
	memory Memory
}

var _ engine.Registry = (*Registry)(nil)

// New returns a registry of a set of tools; nil is an empty set. Nodes that need a model fail with
// no_provider until a handler is registered for their type.
func New(tools *tool.Set) *Registry {
	if tools == nil {
		tools = tool.NewSet(nil)
	}
	r := &Registry{tools: tools, byType: map[string]engine.Handler{}, byID: map[string]engine.Handler{},
		types: map[string]walk.Effect{}, agents: map[string]planner.AgentInfo{}, skills: map[string]planner.SkillInfo{}}
	r.byType[walk.TypeTool] = engine.HandlerFunc(r.tool)
	for _, t := range []string{walk.TypeAgent, walk.TypeLLM, walk.TypeRouter, walk.TypeTools, walk.TypeGenerator} {
		r.byType[t] = needsProvider(t)
	}
	return r
}

// Tools returns the tools that tool nodes call.
func (r *Registry) Tools() *tool.Set { return r.tools }

// engineTypes are the types that the engine itself runs.
var engineTypes = map[string]bool{walk.TypeSet: true, walk.TypeLog: true, walk.TypeNoop: true, walk.TypeDecision: true,
	walk.TypeWait: true, walk.TypeApproval: true, walk.TypePlan: true, walk.TypeFail: true}

// Register sets the handler of a node type: a built-in one, or a new one with its side-effect class
// (empty means unsafe). It rejects a type that the engine runs, an alias, and the name of a tool.
func (r *Registry) Register(nodeType string, h engine.Handler, effect walk.Effect) error {
	if h == nil || nodeType == "" {
		return errors.New("register handler: a type and a handler are required")
	}
	if engineTypes[nodeType] {
		return fmt.Errorf("register handler: %q is run by the engine itself", nodeType)
	}
	if _, isTool := r.tools.Lookup(nodeType); isTool {
		return fmt.Errorf("register handler: %q is the name of a tool", nodeType)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, builtin := r.byType[nodeType]; !builtin && planner.BuiltinType(nodeType) {
		return fmt.Errorf("register handler: %q is an alias", nodeType)
	}
	r.byType[nodeType] = h
	if !planner.BuiltinType(nodeType) {
		if effect == "" {
			effect = walk.EffectUnsafe
		}
		r.types[nodeType] = effect
	}
	return nil
}

// RegisterNode overrides the handler of every node with this id.
func (r *Registry) RegisterNode(id string, h engine.Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byID[id] = h
}

// SetAgents sets the agents that plans may name.
func (r *Registry) SetAgents(agents map[string]planner.AgentInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.agents = maps.Clone(agents)
}

// SetSkills sets the skills that steps may name.
func (r *Registry) SetSkills(skills map[string]planner.SkillInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.skills = maps.Clone(skills)
}

// Handler finds the handler of a node.
func (r *Registry) Handler(node *walk.ProgramNode) (engine.Handler, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if h, ok := r.byID[node.ID]; ok {
		return h, true
	}
	h, ok := r.byType[node.Type]
	return h, ok
}

// Effect returns the side-effect class of running the node with this input, from its tool, its
// agent, or its type. The engine compares it with the class that the document declares, because the
// trust in that class depends on the author of the plan.
func (r *Registry) Effect(node *walk.ProgramNode, input any) walk.Effect {
	if node.Type == walk.TypeTool {
		return r.tools.Effect(node.Tool, input)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	c := &planner.Catalog{Agents: r.agents, Types: r.types}
	return c.DefaultEffect(node)
}

// Catalog returns the tools, agents, skills, and types for the validation of plans.
func (r *Registry) Catalog() *planner.Catalog {
	c := &planner.Catalog{Tools: map[string]planner.ToolInfo{}}
	for _, s := range r.tools.Specs() {
		info := planner.ToolInfo{Effect: s.Effect, Schema: s.Schema}
		if info.Effect == "" {
			info.Effect = walk.EffectUnsafe
		}
		if of := s.EffectOf; of != nil {
			info.EffectOf = func(args any) walk.Effect { return of(tool.Arguments(args)) }
		}
		info.Denied = func(plan string) bool { return r.tools.PermissionIn(plan, s.Name, nil) == tool.Deny }
		info.Asks = func(plan string) bool { return r.tools.PermissionIn(plan, s.Name, nil) == tool.Ask }
		info.Private, info.Untrusted = s.Private, r.tools.Reach(s.Name) != tool.ReachesNone
		c.Tools[s.Name] = info
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.models != nil {
		c.DefaultAgent = r.models.defaultAgent
	}
	c.Schedule = checkSchedule
	c.Agents, c.Skills, c.Types = maps.Clone(r.agents), maps.Clone(r.skills), maps.Clone(r.types)
	return c
}

// checkSchedule checks the times of a plan's schedule.
func checkSchedule(s walk.Schedule) error {
	spec, err := domain.SpecOf(s)
	if err != nil {
		return err
	}
	return schedule.Check(spec, time.Now())
}

// tool runs a tool node.
func (r *Registry) tool(ctx context.Context, call *engine.Call) (engine.Result, error) {
	name := call.Node.Tool
	out, err := r.tools.Call(
		activity.In(ctx, call.RunID, call.Node.ID),
		name,
		llm.ToolCall{Args: call.Input, IdempotencyKey: call.IdempotencyKey, Log: call.Log, Progress: call.Progress},
	)
	return engine.Result{Output: out}, err
}

// needsProvider returns the handler of a type that needs a model while there is none.
func needsProvider(nodeType string) engine.Handler {
	return engine.HandlerFunc(func(context.Context, *engine.Call) (engine.Result, error) {
		return engine.Result{}, (&walk.Failure{Code: "no_provider", Permanent: true, NoEffect: true,
			Suggestion: "configure a provider under providers"}).
			WithMessage("steps of type %s require a provider, and none is configured", nodeType)
	})
}
