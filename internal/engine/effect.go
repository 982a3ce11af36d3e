package engine

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// program compiles a stored version.
func (e *Engine) program(ctx context.Context, ref domain.ProgramRef) (*runstate.Compiled, error) {
	return e.Reader.Compile(ctx, ref)
}

// effect returns the side-effect class of a node with this input. A node may declare a stricter
// class. A less strict one counts only in plans that a person stored.
func (e *Engine) effect(p *runstate.Compiled, n *walk.ProgramNode, input any) walk.Effect {
	return effectIn(e.current().Registry, p, n, input)
}

// NonIdempotent reports whether a version of a plan may have non-idempotent steps with a profile. Version 0 is
// the current one. A step that runs another plan counts as one.
func (t Timed) NonIdempotent(ctx context.Context, plan string, version int, profile string) (bool, error) {
	e := t.e
	hash, err := e.starts.versionOf(ctx, domain.StartRequest{Plan: plan, Version: version, Dry: true})
	if err != nil {
		return false, err
	}
	p, err := e.program(ctx, domain.ProgramRef{Hash: hash, Profile: profile})
	if err != nil {
		return false, err
	}
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.Type == "plan" || e.effect(p, n, nil) == walk.EffectUnsafe {
			return true, nil
		}
	}
	return false, nil
}

// stepped reports whether all effects of a node happen in sub-steps.
func (e *Engine) stepped(n *walk.ProgramNode) bool {
	h, ok := e.current().Registry.Handler(n)
	if !ok {
		return false
	}
	s, ok := h.(Stepped)
	return ok && s.Stepped()
}

func effectIn(r Registry, p *runstate.Compiled, n *walk.ProgramNode, input any) walk.Effect {
	own := walk.EffectPure
	switch n.Type {
	case "set", "log", "noop", "decision":
	case "wait", "approval", "plan":
		return walk.EffectControl
	default:
		own = r.Effect(n, input)
	}
	if n.Effect != "" && (n.Effect.Stricter(own) || p.Version.ByPerson) {
		return n.Effect
	}
	if own == "" {
		return walk.EffectUnsafe // an unknown node counts as the strictest class
	}
	return own
}
