package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/conversation"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Agent answers an input. With a plan, it walks the plan; without one, it runs the loop of model
// calls and tool calls. An Agent is immutable and safe for concurrent use.
type Agent struct {
	name          string
	provider      llm.Provider
	system        string
	model         string
	maxIterations int
	tools         map[string]llm.Tool
	order         []string
	memory        Memory

	graph     *planner.Graph
	configure []func(*planner.Executor)
}

// Memory keeps inputs and answers from one run to the next.
type Memory interface {
	// Retrieve returns what the memory holds about an input, as text for a model, or "".
	Retrieve(ctx context.Context, input string) (string, error)
	// Store keeps an input and its answer.
	Store(ctx context.Context, input, output string) error
}

// Option configures an Agent. It returns an error if it is invalid or contradicts another option.
type Option func(*Agent) error

// New returns an agent. provider is the model behind it, and may be nil if no step of the agent's
// plan calls a model. The error is about an empty name or an option.
func New(name string, provider llm.Provider, options ...Option) (*Agent, error) {
	if name == "" {
		return nil, errors.New("agent: a name is required")
	}
	a := &Agent{name: name, provider: provider, maxIterations: conversation.DefaultMaxIterations, tools: map[string]llm.Tool{}}
	for _, o := range options {
		if err := o(a); err != nil {
			return nil, fmt.Errorf("agent %s: %w", name, err)
		}
	}
	return a, nil
}

// Name returns the agent's name.
func (a *Agent) Name() string { return a.name }

// WithPlanner makes the agent walk a graph in memory instead of looping. Nodes of the types tool,
// agent, llm, and log, and nodes whose type is the name of one of its tools, use the agent.
// Each configure function may then change the executor of a walk, for example to add handlers or an
// audit hook.
func WithPlanner(g *planner.Graph, configure ...func(*planner.Executor)) Option {
	return func(a *Agent) error {
		if g == nil {
			return errors.New("WithPlanner: no graph")
		}
		if a.graph != nil {
			return errors.New("WithPlanner is set twice")
		}
		a.graph, a.configure = g, configure
		return nil
	}
}

// WithTools adds tools to the agent. A tool cannot have the name of a built-in node type, and no
// two tools can have the same name.
func WithTools(tools ...llm.Tool) Option {
	return func(a *Agent) error {
		for _, t := range tools {
			name := t.Spec().Name
			switch {
			case name == "":
				return errors.New("WithTools: a tool has no name")
			case planner.BuiltinType(name):
				return fmt.Errorf("WithTools: %q is a built-in node type", name)
			case a.tools[name] != nil:
				return fmt.Errorf("WithTools: two tools are named %q", name)
			}
			a.tools[name] = t
			a.order = append(a.order, name)
		}
		return nil
	}
}

// WithMemory sets the agent's memory. The retrieved text becomes Outputs["memory"] of a plan, or
// part of the model's context.
func WithMemory(m Memory) Option {
	return func(a *Agent) error {
		a.memory = m
		return nil
	}
}

// WithSystemPrompt sets the system message of every model call.
func WithSystemPrompt(text string) Option {
	return func(a *Agent) error {
		a.system = text
		return nil
	}
}

// WithModel sets the model that the provider is requested to use. The default is the provider's
// default model.
func WithModel(model string) Option {
	return func(a *Agent) error {
		a.model = model
		return nil
	}
}

// WithMaxIterations limits the model calls of one answer. n must be at least 1. The default is 10.
func WithMaxIterations(n int) Option {
	return func(a *Agent) error {
		if n < 1 {
			return fmt.Errorf("WithMaxIterations: %d is less than 1", n)
		}
		a.maxIterations = n
		return nil
	}
}

// Run answers an input. With a plan, the answer is the text form of the plan's
// output; without one, it is the model's final answer. The error is or wraps a [*walk.Failure] of a
// node, a model call, or a tool, or it is an error of the memory or the context.
func (a *Agent) Run(ctx context.Context, input string) (string, error) {
	remembered, err := a.recall(ctx, input)
	if err != nil {
		return "", err
	}
	if a.graph == nil {
		out, err := a.loop(ctx, input, remembered)
		if err != nil {
			return "", err
		}
		return out, a.remember(ctx, input, out)
	}
	state := planner.NewState()
	state.Outputs["input"] = input
	if remembered != "" {
		state.Outputs["memory"] = remembered
	}
	exec := planner.NewExecutor(a.nodeHandlers())
	for _, configure := range a.configure {
		configure(exec)
	}
	state, err = exec.Execute(ctx, a.graph, state)
	if err != nil {
		return "", fmt.Errorf("agent %s: %w", a.name, err)
	}
	out := ""
	if state.Last != nil {
		out = jsonvalue.Text(state.Last)
	}
	return out, a.remember(ctx, input, out)
}

// loop runs the conversation of an agent without a plan, or of a step with type agent.
func (a *Agent) loop(ctx context.Context, input, memory string) (string, error) {
	l := &conversation.Loop{Name: a.name, Provider: a.provider, Model: a.model, System: a.system, MaxIterations: a.maxIterations}
	for _, name := range a.order {
		l.Tools = append(l.Tools, a.tools[name])
	}
	out, err := l.Run(ctx, input, memory)
	if err != nil {
		return "", err
	}
	return jsonvalue.Text(out), nil
}

// invoke calls one of the agent's tools.
func (a *Agent) invoke(ctx context.Context, name string, args any) (any, error) {
	t := a.tools[name]
	if t == nil {
		return nil, (&walk.Failure{
			Code:      walk.CodeUnknownTool,
			Permanent: true,
			NoEffect:  true,
		}).WithMessage("Tool %q not found", name)
	}
	return conversation.Invoke(
		ctx,
		t,
		t.Spec(),
		llm.ToolCall{Args: args, Log: func(string, string) {}, Progress: func(int64, int64, string) {}},
	)
}

func (a *Agent) recall(ctx context.Context, input string) (string, error) {
	if a.memory == nil {
		return "", nil
	}
	text, err := a.memory.Retrieve(ctx, input)
	if err != nil {
		return "", fmt.Errorf("agent %s: retrieve memory: %w", a.name, err)
	}
	return text, nil
}

func (a *Agent) remember(ctx context.Context, input, output string) error {
	if a.memory == nil {
		return nil
	}
	if err := a.memory.Store(ctx, input, output); err != nil {
		return fmt.Errorf("agent %s: store memory: %w", a.name, err)
	}
	return nil
}
