package agent

import (
	"context"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/conversation"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// nodeHandlers returns handlers for the step types that use this agent: tool and the name of each
// tool, agent (the loop), llm (one call without tools), and log.
func (a *Agent) nodeHandlers() map[string]planner.Handler {
	h := map[string]planner.Handler{
		walk.TypeTool: func(ctx context.Context, n planner.Node, _ *planner.State) (any, error) {
			name := n.Tool
			if name == "" {
				name = n.Metadata["tool"]
			}
			return a.invoke(ctx, name, arguments(n.Input))
		},
		walk.TypeAgent: func(ctx context.Context, n planner.Node, s *planner.State) (any, error) {
			return a.loop(ctx, jsonvalue.Text(n.Input), memoryText(s))
		},
		walk.TypeLLM: func(ctx context.Context, n planner.Node, s *planner.State) (any, error) {
			if a.provider == nil {
				return nil, conversation.ErrNoProvider
			}
			r, err := a.provider.Complete(
				ctx,
				llm.Request{Model: a.model, Messages: conversation.Opening(a.system, memoryText(s), "", jsonvalue.Text(n.Input))},
			)
			return r.Text, err
		},
		walk.TypeLog: func(_ context.Context, n planner.Node, _ *planner.State) (any, error) { return n.Input, nil },
	}
	for _, name := range a.order {
		h[name] = func(ctx context.Context, n planner.Node, _ *planner.State) (any, error) {
			return a.invoke(ctx, name, arguments(n.Input))
		}
	}
	return h
}

// arguments parses a string that is a JSON object.
func arguments(input any) any {
	if text, ok := input.(string); ok {
		if v, err := jsonvalue.Decode([]byte(text)); err == nil {
			if m, ok := v.(map[string]any); ok {
				return m
			}
		}
	}
	return input
}

func memoryText(s *planner.State) string {
	if m, ok := s.Outputs["memory"]; ok && m != nil {
		return jsonvalue.Text(m)
	}
	return ""
}
