package bulk

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// This file handles circuits of tools: an operation on runs that failed because a service was down
// either waits until the circuit permits calls, or reports the open circuit.

func (s *Service) tools(ctx context.Context) ([]domain.ToolInfo, error) {
	if s.Tools == nil {
		return nil, nil
	}
	list, err := s.Tools(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the state of tools: %w", err)
	}
	return list, nil
}

// circuitKnown returns an error if the tool to wait for does not exist or has no circuit.
func (s *Service) circuitKnown(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	tools, err := s.tools(ctx)
	if err != nil {
		return err
	}
	if _, known := domain.OpenCircuits(tools, name); !known {
		return domain.Errorf(domain.CodeInvalid, "tool %q with a circuit not found", name).
			Suggest("use the name of a tool, or a tool and a host: http api.example")
	}
	return nil
}

// refuses reports whether calls of a tool are refused: by an open circuit, or because an operator
// disabled the tool.
func (s *Service) refuses(ctx context.Context, name string) (bool, error) {
	if name == "" {
		return false, nil
	}
	tools, err := s.tools(ctx)
	if err != nil {
		return false, err
	}
	tool, _, _ := strings.Cut(name, " ")
	open, _ := domain.OpenCircuits(tools, name)
	return len(open) > 0 || slices.ContainsFunc(tools, func(t domain.ToolInfo) bool { return t.Name == tool && t.Disabled != nil }), nil
}

// callers are the types of nodes that call tools which the plan does not name: a model or another
// plan chooses them.
var callers = []string{walk.TypeAgent, walk.TypeRouter, walk.TypeTools, walk.TypePlan}

// inTheWay lists the open circuits of tools that the runs will call: at the step that failed, or
// anywhere for a rerun.
func (s *Service) inTheWay(ctx context.Context, action domain.Action, runs []domain.Run) ([]domain.ToolCircuit, error) {
	if action != domain.ActionResume && action != domain.ActionRerun {
		return nil, nil
	}
	tools, err := s.tools(ctx)
	if err != nil {
		return nil, err
	}
	open, _ := domain.OpenCircuits(tools, "")
	if len(open) == 0 {
		return nil, nil
	}
	var calls []call
	type place struct {
		domain.ProgramRef
		node string
	}
	seen := map[place]bool{}
	for i := range runs {
		r := &runs[i]
		at := ""
		if action == domain.ActionResume && r.Error != nil {
			at = r.Error.Node
		}
		if k := (place{r.ProgramRef, at}); seen[k] {
			continue
		} else {
			seen[k] = true
		}
		p, err := s.Engine.Program(ctx, r.ProgramRef)
		if err != nil {
			continue // the plan names something that is no longer configured; the preview of the run reports that
		}
		for i := range p.Nodes {
			if n := &p.Nodes[i]; at == "" || n.ID == at {
				calls = append(calls, s.callOf(n))
			}
		}
	}
	return slices.DeleteFunc(open, func(c domain.ToolCircuit) bool {
		return !slices.ContainsFunc(calls, func(k call) bool { return k.any || k.tool == c.Tool && (k.host == "" || k.host == c.Part) })
	}), nil
}

// call is what a node calls.
type call struct {
	tool, host string // host: empty: it is known only when the step runs
	any        bool   // any tool can be called then
}

func (s *Service) callOf(n *walk.ProgramNode) call {
	k := call{tool: n.Tool, any: slices.Contains(callers, n.Type)}
	if k.tool != "" && s.Host != nil && n.Input != nil {
		if k.host = s.Host(k.tool, n.Input.Source); strings.Contains(k.host, "$") {
			k.host = "" // a reference
		}
	}
	return k
}

// explained returns why an operation stopped after a run failed, with the open circuits: until
// they close, every run fails in the same way.
func (s *Service) explained(ctx context.Context, note string, action domain.Action, run domain.Run) (string, error) {
	open, err := s.inTheWay(ctx, action, []domain.Run{run})
	if err != nil {
		return "", err
	}
	for _, c := range open {
		note += fmt.Sprintf("; the circuit of %s is open until %s", c.Name(), c.OpenUntil.Format("15:04:05 UTC"))
	}
	if len(open) > 0 {
		note += ": a bulk operation can wait for it"
	}
	return note, nil
}
