package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/kairosd/kairosd/planner"
)

// errNoProvider says that a model is needed and none was given.
var errNoProvider = errors.New("the agent has no provider")

// loop calls the model, runs the tools that it asks for in parallel, feeds the
// results back, and so on until it answers with text.
func (a *Agent) loop(ctx context.Context, input, memory string) (string, error) {
	if a.provider == nil {
		return "", fmt.Errorf("agent %s: %w", a.name, errNoProvider)
	}
	messages := a.opening(input, memory)
	specs := make([]ToolSpec, len(a.order))
	for i, name := range a.order {
		specs[i] = a.tools[name].Spec()
	}
	for range a.maxIterations {
		r, err := a.provider.Complete(ctx, Request{Model: a.model, Messages: messages, Tools: specs})
		if err != nil {
			return "", fmt.Errorf("agent %s: model call: %w", a.name, err)
		}
		if len(r.Calls) == 0 {
			return r.Text, nil
		}
		messages = append(messages, Message{Role: RoleAssistant, Text: r.Text, Calls: r.Calls})
		messages = append(messages, a.callTools(ctx, r.Calls)...)
		if err := context.Cause(ctx); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("agent %s: no final answer after %d model calls", a.name, a.maxIterations)
}

// opening is the start of a conversation: role, then memory, then the input.
func (a *Agent) opening(input, memory string) []Message {
	var out []Message
	if a.system != "" {
		out = append(out, Message{Role: RoleSystem, Text: a.system})
	}
	if memory != "" {
		out = append(out, Message{Role: RoleSystem, Text: memory})
	}
	return append(out, Message{Role: RoleUser, Text: input})
}

// callTools runs calls in parallel. A failing call is an answer to the model,
// never the end of the loop.
func (a *Agent) callTools(ctx context.Context, calls []Call) []Message {
	out := make([]Message, len(calls))
	var wg sync.WaitGroup
	for i, c := range calls {
		wg.Go(func() {
			text, err := a.callTool(ctx, c.Tool, c.Arguments)
			if err != nil {
				text = "Error: " + err.Error()
			}
			out[i] = Message{Role: RoleTool, CallID: c.ID, Text: text}
		})
	}
	wg.Wait()
	return out
}

func (a *Agent) callTool(ctx context.Context, name, arguments string) (string, error) {
	args, err := planner.DecodeValue([]byte(arguments))
	if err != nil {
		return "", fmt.Errorf("arguments of %s are not JSON: %w", name, err)
	}
	out, err := a.invoke(ctx, name, args)
	if err != nil {
		return "", err
	}
	return planner.Text(out), nil
}

// invoke checks the arguments against the tool's schema and calls it; a panic of
// the tool is its failure.
func (a *Agent) invoke(ctx context.Context, name string, args any) (out any, err error) {
	t := a.tools[name]
	if t == nil {
		return nil, &planner.Failure{Code: planner.CodeUnknownTool, Message: fmt.Sprintf("Tool %q not found", name), Permanent: true, NoEffect: true}
	}
	if schema := t.Spec().Schema; schema != nil {
		s, err := planner.CompileSchema(schema)
		if err != nil {
			return nil, fmt.Errorf("schema of tool %s: %w", name, err)
		}
		if problems := s.Validate(args); len(problems) > 0 {
			return nil, &planner.Failure{Code: planner.CodeInvalidInput, Message: fmt.Sprintf("arguments of %s: %s", name, problems[0]), Permanent: true, NoEffect: true}
		}
	}
	defer func() {
		if p := recover(); p != nil {
			err = &planner.Failure{Code: planner.CodePanic, Message: fmt.Sprintf("tool %s panicked: %v", name, p), Permanent: true}
		}
	}()
	result, err := t.Call(ctx, ToolCall{Args: args, Log: func(string, string) {}, Progress: func(int64, int64, string) {}})
	if err != nil {
		return nil, err
	}
	return planner.Normalize(result)
}
