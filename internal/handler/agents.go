package handler

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/internal/conversation"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/metric/activity"
	"github.com/kairosd/kairosd/internal/model"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Agent is the configuration of an agent.
type Agent struct {
	ID, Name, Description, Icon, Color string
	Capabilities                       []string
	SystemPrompt                       string
	// Provider names a provider; if it is empty, the default provider is used.
	Provider, Model string
	MaxTokens       int
	Temperature     *float64
	MaxIterations   int
	Tools           []string
	// Permissions for this agent, by tool.
	Permissions     tool.Permissions
	TriggerKeywords []string
	// Classifiers and planners may choose Selectable agents. System agents are part of kairosd.
	Selectable, System bool
	// Remote, if not nil, is the server that runs the agent. Then it has no provider and no tools here.
	Remote *Remote
}

// Models contains the providers and agents of a server. It is safe for concurrent use.
type Models struct {
	providers       map[string]llm.Provider
	prices          map[string]map[string]model.Price // by provider, then model
	agents          map[string]Agent
	defaultProvider string
	defaultAgent    string

	// allowed contains the models that plans may name, by provider; nil allows every model.
	allowed map[string]map[string]bool
	// about contains the configuration of each provider, and breaking the settings of its circuit.
	about    map[string]domain.ProviderInfo
	breaking map[string]circuit.Settings
	health   *Health

	calls    *activity.Log  // nil: no activity is recorded
	circuits *circuit.Board // nil: every call is allowed
}

// Config configures [Models].
type Config struct {
	Providers map[string]llm.Provider
	Prices    map[string]map[string]model.Price
	// About describes the providers to people; it may be empty.
	About           map[string]domain.ProviderInfo
	Agents          []Agent
	DefaultProvider string // must be one of Providers
	DefaultAgent    string // empty: the first selectable agent
	// Models lists by provider the models that plans may name in addition to the models of agents.
	// A provider without an entry accepts every model.
	Models map[string][]string
	// Breakers are the settings of the providers' circuits. A provider without an entry has the
	// zero value.
	Breakers map[string]circuit.Settings
}

// Assistant returns the agent of a server without configured agents: it uses the default provider
// and has no tools.
const Assistant = "assistant"

// systemAgents are part of kairosd. The supervisor plans and executes plans [004]. The orchestrator
// is shown for steps without an agent.
var systemAgents = []Agent{
	{
		ID:          "supervisor",
		Name:        "Supervisor",
		Description: "Plans requests and executes their plans.",
		Icon:        "🎯",
		Color:       "#8B5CF6",
		System:      true,
	},
	{ID: "orchestrator", Name: "Orchestrator", Description: "Coordinates agents.", System: true},
}

// NewModels checks a configuration: every name in it must exist.
func NewModels(c Config) (*Models, error) {
	m := &Models{
		providers:       maps.Clone(c.Providers),
		prices:          c.Prices,
		agents:          map[string]Agent{},
		defaultProvider: c.DefaultProvider,
		defaultAgent:    c.DefaultAgent,
		about:           map[string]domain.ProviderInfo{},
		breaking:        c.Breakers,
		health:          &Health{of: map[string]*health{}},
		allowed:         map[string]map[string]bool{},
	}
	if m.providers[m.defaultProvider] == nil {
		return nil, fmt.Errorf("the default provider %q is not configured", m.defaultProvider)
	}
	for name := range m.providers {
		about := c.About[name]
		about.Name, about.Default = name, name == m.defaultProvider
		m.about[name] = about
		if models, bound := c.Models[name]; bound {
			m.allowed[name] = map[string]bool{}
			for _, model := range models {
				m.allowed[name][model] = true
			}
		}
	}
	for _, a := range c.Agents {
		if a.Provider != "" && m.providers[a.Provider] == nil {
			return nil, fmt.Errorf("agent %s: provider %q is not configured", a.ID, a.Provider)
		}
		if allowed := m.allowed[cmp.Or(a.Provider, m.defaultProvider)]; allowed != nil && a.Model != "" {
			allowed[a.Model] = true
		}
		m.agents[a.ID] = a
		if m.defaultAgent == "" && a.Selectable && !a.System && a.Remote == nil {
			m.defaultAgent = a.ID
		}
	}
	for _, a := range systemAgents {
		if _, ok := m.agents[a.ID]; !ok {
			m.agents[a.ID] = a
		}
	}
	if m.defaultAgent == "" {
		m.defaultAgent = Assistant
		m.agents[Assistant] = Agent{ID: Assistant, Name: "Assistant", Selectable: true}
	}
	return m, nil
}

// Agents lists the agents by id.
func (m *Models) Agents() []Agent {
	return slices.SortedFunc(maps.Values(m.agents), func(a, b Agent) int { return cmp.Compare(a.ID, b.ID) })
}

// Agent finds an agent; an empty id means the default agent.
func (m *Models) Agent(id string) (Agent, bool) {
	a, ok := m.agents[cmp.Or(id, m.defaultAgent)]
	return a, ok
}

// AgentInfos describes the agents to people, sorted by id.
func (m *Models) AgentInfos() []domain.AgentInfo {
	var out []domain.AgentInfo
	for _, a := range m.Agents() {
		out = append(
			out,
			domain.AgentInfo{
				ID:           a.ID,
				Name:         a.Name,
				Description:  a.Description,
				Icon:         a.Icon,
				Color:        a.Color,
				Capabilities: append([]string{}, a.Capabilities...),
				Provider:     a.provider(m),
				A2A:          a.address(),
				Model:        a.Model,
				Tools:        append([]string{}, a.Tools...),
				SystemPrompt: a.SystemPrompt,
				Default:      a.ID == m.defaultAgent,
				Selectable:   a.Selectable,
				System:       a.System,
				Activity:     m.calls.Of(activity.Agent + a.ID),
			},
		)
	}
	return out
}

// DefaultProvider returns the name of the provider for agents without one.
func (m *Models) DefaultProvider() string { return m.defaultProvider }

// Provider returns a provider whose calls are priced and counted. An empty name means the default
// provider.
func (m *Models) Provider(name string) (llm.Provider, bool) {
	name = cmp.Or(name, m.defaultProvider)
	p := m.providers[name]
	return counted{m, name, p}, p != nil
}

// HasProvider reports whether a provider with this name is configured.
func (m *Models) HasProvider(name string) bool { return m.providers[name] != nil }

// mayUse reports whether a plan may name a model for an agent.
func (m *Models) mayUse(a Agent, model string) bool {
	allowed := m.allowed[cmp.Or(a.Provider, m.defaultProvider)]
	return allowed == nil || allowed[model]
}

// SetModels gives the registry its models. The node types agent and llm and those of the router
// graph run with them, and plans may name their agents.
func (r *Registry) SetModels(m *Models) {
	infos := map[string]planner.AgentInfo{}
	for _, a := range m.Agents() {
		info := planner.AgentInfo{Effect: walk.EffectIdempotent, System: a.System}
		if m.reaches(a, r.tools.Class) {
			info.Effect = walk.EffectUnsafe // the class depends on arguments that are not known yet
		}
		info.Private, info.Changes = r.trusted(a)
		if a.Remote != nil { // it sends its input to another server
			info.Effect, info.Changes = a.Remote.effect(), true
		}
		if allowed := m.allowed[cmp.Or(a.Provider, m.defaultProvider)]; allowed != nil {
			info.Models = slices.AppendSeq([]string{}, maps.Keys(allowed))
		}
		infos[a.ID] = info
	}
	r.SetAgents(infos)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.models = m
	r.byType[walk.TypeAgent] = stepped{noted{m, agentNode{r, m}}}
	r.byType[walk.TypeLLM] = noted{m, llmNode{r, m}}
	r.byType[walk.TypeRouter] = stepped{noted{m, routerNode{r, m}}}
	r.byType[walk.TypeTools] = stepped{noted{m, toolsNode{r, m}}}
	r.byType[walk.TypeGenerator] = noted{m, generatorNode{r, m}}
}

// trusted reports whether an agent has tools that read private data, and tools that change other
// systems without an approval.
func (r *Registry) trusted(a Agent) (private, changes bool) {
	for _, s := range r.tools.Specs() {
		if !slices.Contains(a.Tools, s.Name) {
			continue
		}
		private = private || s.Private
		effect := r.tools.Class(s.Name)
		changes = changes || effect != walk.EffectPure && effect != walk.EffectRead && r.tools.Permission(s.Name) == tool.Allow
	}
	return private, changes
}

// reaches reports whether an agent has a non-idempotent tool, or may hand off to an agent that has
// one.
func (m *Models) reaches(a Agent, class func(tool string) walk.Effect) bool {
	for _, t := range a.Tools {
		if t != conversation.HandoffTool && class(t) == walk.EffectUnsafe {
			return true
		}
	}
	if !slices.Contains(a.Tools, conversation.HandoffTool) {
		return false
	}
	for _, other := range m.agents {
		for _, t := range other.Tools {
			if t != conversation.HandoffTool && class(t) == walk.EffectUnsafe {
				return true
			}
		}
	}
	return false
}

// NodeAgent returns the agent of a node, or "". It implements [engine.NodeAgents].
func (r *Registry) NodeAgent(node *walk.ProgramNode) string {
	switch node.Type {
	case walk.TypeAgent, walk.TypeLLM, walk.TypeRouter, walk.TypeGenerator:
		if m := r.Models(); m != nil {
			if a, err := m.any(node); err == nil {
				return a.ID
			}
		}
	}
	return node.Agent
}

// AgentIdentity returns the displayed identity of an agent. It is zero for an unknown agent.
func (r *Registry) AgentIdentity(id string) (name, icon, color string) {
	m := r.Models()
	if m == nil || id == "" {
		return "", "", ""
	}
	a, ok := m.Agent(id)
	if !ok {
		return "", "", ""
	}
	return a.Name, a.Icon, a.Color
}

// Models returns the registry's models, or nil.
func (r *Registry) Models() *Models {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.models
}

// stepped marks handlers whose side effects are all substeps.
type stepped struct{ engine.Handler }

func (stepped) Stepped() bool { return true }

// agentNode runs the agent loop on the text of its input.
type agentNode struct {
	r *Registry
	m *Models
}

func (n agentNode) Handle(ctx context.Context, call *engine.Call) (engine.Result, error) {
	a, err := n.m.any(call.Node)
	if err != nil {
		return engine.Result{}, err
	}
	if a.Remote != nil {
		return remoteCall{a.Remote, a.ID, call}.run(ctx)
	}
	memory, err := n.r.recall(ctx, call, jsonvalue.Text(call.Input))
	if err != nil {
		return engine.Result{Agent: a.ID}, err
	}
	t := &table{r: n.r, m: n.m, call: call, schema: schemaOf(call)}
	out, who, err := t.converse(ctx, a, prompt(call), memory, 0, true)
	if err != nil {
		return engine.Result{Agent: who}, err
	}
	return engine.Result{Output: answer(out, t.schema), Agent: who}, nil
}

// named returns the agent of a node that calls a model: the one that it names, or the default one.
func (m *Models) named(node *walk.ProgramNode) (Agent, error) {
	a, err := m.any(node)
	if err == nil && a.Remote != nil {
		err = (&walk.Failure{Code: walk.CodePolicy, Permanent: true, NoEffect: true, Suggestion: "use type: agent"}).
			WithMessage("agent %q is on another server, and only steps of type agent can use it", a.ID)
	}
	return a, err
}

// loop returns a conversation of an agent for a node, without the agent's tools.
func (m *Models) loop(a Agent, call *engine.Call) *conversation.Loop {
	p, _ := m.Provider(a.Provider) // NewModels checked the name
	if call.RecordUse != nil {
		call.RecordUse(domain.UseAgent, a.ID)
		call.RecordUse(domain.UseProvider, cmp.Or(a.Provider, m.defaultProvider))
	}
	l := &conversation.Loop{
		Name:          a.ID,
		Provider:      p,
		Model:         a.Model,
		System:        a.SystemPrompt,
		MaxTokens:     a.MaxTokens,
		Temperature:   a.Temperature,
		MaxIterations: a.MaxIterations,
		Journal: journal{
			call:     call,
			m:        m,
			agent:    a.ID,
			provider: cmp.Or(a.Provider, m.defaultProvider),
			lowered:  &lowered{of: map[int]bool{}},
			routes:   &routes{of: map[int]string{}},
		},
		Key:    call.IdempotencyKey,
		Stream: call.Stream,
		Log:    call.Log,
	}
	l.Schema, l.Lenient, l.Product, l.Request = schemaOf(call), call.Node.Output.ForGate, call.Node.Output.Product, request(call)
	return l
}

// schemaOf returns the schema of a node's output; nil accepts anything.
func schemaOf(call *engine.Call) map[string]any {
	s, _ := call.Node.Output.Schema.(map[string]any)
	return s
}

// answer returns a node's output: the structured output if there is a schema, a JSON value if the
// whole answer is one, and otherwise the text.
func answer(out any, schema map[string]any) any {
	if text, ok := out.(string); ok && schema == nil {
		if v, ok := conversation.JSONAnswer(text); ok {
			return v
		}
	}
	return out
}

// journal records the substeps of a conversation in the run's journal.
type journal struct {
	call     *engine.Call
	m        *Models
	agent    string
	provider string
	lowered  *lowered
	routes   *routes
}

func (j journal) Do(n int, kind, digest string, effect walk.Effect, fn func() (any, llm.Usage, error)) (any, error) {
	return j.call.Substep(n, kind, digest, effect, func() (any, domain.Usage, error) {
		v, u, err := fn()
		used := domain.Usage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, Cost: u.Cost, Estimated: u.Estimated}
		if err != nil && kind == "model" {
			used.Estimated = used.Estimated || used.Zero() && spends(err)
			err = j.lowered.explain(n, err)
		}
		return v, used, err
	})
}

// Asked implements [conversation.Prompter].
func (j journal) Asked(n int, p conversation.Prompt) {
	if j.call.RecordPrompt != nil {
		j.call.RecordPrompt(n, p.Value())
	}
}

// Calling implements [conversation.Caller].
func (j journal) Calling(n int, args any) {
	if j.call.RecordPrompt != nil {
		j.call.RecordPrompt(n, args)
	}
}

// offered is a tool as an agent calls it: with the permissions applied. Its schema check reports
// every problem.
type offered struct {
	r           *Registry
	spec        llm.ToolSpec
	call        *engine.Call
	permissions tool.Permissions
}

func (o offered) Spec() llm.ToolSpec { return o.spec }

func (o offered) Call(ctx context.Context, c llm.ToolCall) (any, error) {
	if err := o.r.permitted(o.call, o.permissions, o.spec.Name); err != nil {
		return nil, err
	}
	return o.r.tools.Call(ctx, o.spec.Name, c)
}

// llmNode makes one model call without tools.
type llmNode struct {
	r *Registry
	m *Models
}

func (n llmNode) Handle(ctx context.Context, call *engine.Call) (engine.Result, error) {
	a, err := n.m.named(call.Node)
	if err != nil {
		return engine.Result{}, err
	}
	if model := call.Node.Metadata["model"]; model != "" {
		if !n.m.mayUse(a, model) {
			return engine.Result{
					Agent: a.ID,
				}, (&walk.Failure{
					Code:       walk.CodePolicy,
					Permanent:  true,
					NoEffect:   true,
					Suggestion: "add it to models of the provider in the configuration",
				}).WithMessage("plans cannot use the model %q", model)
		}
		a.Model = model
	}
	l := n.m.loop(a, call)
	if l.MaxIterations = 1; l.Schema != nil {
		l.MaxIterations = 2 // the second iteration may correct an answer that does not match the schema
	}
	memory, err := n.r.recall(ctx, call, jsonvalue.Text(call.Input))
	if err != nil {
		return engine.Result{Agent: a.ID}, err
	}
	out, err := l.Run(ctx, prompt(call), memory)
	return engine.Result{Output: answer(out, l.Schema), Agent: a.ID}, err
}
