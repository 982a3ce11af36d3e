package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// maxPrograms bounds the cache of compiled versions.
const maxPrograms = 256

// programs caches compiled versions by hash.
type programs struct {
	mu    sync.Mutex
	byKey map[string]*runstate.Compiled
	order []string
	// compiling is closed for each version when it is or cannot be compiled.
	compiling map[string]chan struct{}
}

// get gives a compiled version, or nil and the turn to compile it: a hundred runs
// that start together compile their plan once. over ends the turn.
func (p *programs) get(ctx context.Context, hash string) (c *runstate.Compiled, over func(), err error) {
	for {
		p.mu.Lock()
		c, other := p.byKey[hash], p.compiling[hash]
		if c != nil {
			p.mu.Unlock()
			return c, nil, nil
		}
		if other == nil {
			mine := make(chan struct{})
			if p.compiling == nil {
				p.compiling = map[string]chan struct{}{}
			}
			p.compiling[hash] = mine
			p.mu.Unlock()
			return nil, func() {
				p.mu.Lock()
				delete(p.compiling, hash)
				p.mu.Unlock()
				close(mine)
			}, nil
		}
		p.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

func (p *programs) put(hash string, c *runstate.Compiled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byKey == nil {
		p.byKey = map[string]*runstate.Compiled{}
	}
	if p.byKey[hash] == nil {
		if len(p.order) >= maxPrograms {
			delete(p.byKey, p.order[0])
			p.order = p.order[1:]
		}
		p.order = append(p.order, hash)
	}
	p.byKey[hash] = c
}

// program compiles a stored version.
func (e *Engine) program(ctx context.Context, hash string) (*runstate.Compiled, error) {
	in := e.current()
	p, over, err := in.programs.get(ctx, hash)
	if p != nil || err != nil {
		return p, err
	}
	defer over()
	v, err := e.store.VersionByHash(ctx, hash)
	if err != nil {
		return nil, err
	}
	if v.Semantics > walk.Semantics {
		return nil, domain.Errorf(domain.CodeUnavailable, "plan %s version %d was written for a newer kairosd (semantics %d)",
			v.PlanKey, v.Number, v.Semantics).Suggest("upgrade kairosd")
	}
	doc, problems := planner.Reopen(v.Source, planner.Format(v.Format))
	if doc == nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "stored plan %s version %d cannot be read: %w", v.PlanKey, v.Number, problems.Err())
	}
	compiled, err := doc.Program(in.Registry.Catalog())
	if err != nil {
		return nil, &misfit{doc, v, domain.Errorf(domain.CodeInvalid, "plan %s version %d does not fit this installation: %w", v.PlanKey, v.Number, err).
			Suggest("check that every tool, agent and plan it names is configured")}
	}
	return in.keepProgram(compiled, v), nil
}

// keepProgram puts a compiled version into the cache.
func (s *setup) keepProgram(compiled *walk.Program, v domain.Version) *runstate.Compiled {
	v.Source, v.Canonical = nil, nil
	p := runstate.NewCompiled(compiled, v)
	s.programs.put(v.Hash, p)
	return p
}

// misfit is the error of a version that names what is no longer configured.
type misfit struct {
	doc     *planner.Document
	version domain.Version
	cause   *domain.Error
}

func (m *misfit) Error() string { return m.cause.Error() }
func (m *misfit) Unwrap() error { return m.cause }

// legible is program for looking at: a version that does not fit this
// installation any more is compiled as if everything it names were there, so
// that its runs can be read, and cancelled, while somebody mends the
// configuration.
func (e *Engine) legible(ctx context.Context, hash string) (*runstate.Compiled, error) {
	p, err := e.program(ctx, hash)
	m, ok := errors.AsType[*misfit](err)
	if !ok {
		return p, err
	}
	compiled, readErr := m.doc.Program(nil)
	if readErr != nil {
		return nil, err
	}
	m.version.Source, m.version.Canonical = nil, nil
	return runstate.NewCompiled(compiled, m.version), nil
}

// Program compiles a stored version (cached), for looking at.
func (e *Engine) Program(ctx context.Context, hash string) (*walk.Program, error) {
	p, err := e.legible(ctx, hash)
	if err != nil {
		return nil, err
	}
	return p.Program, nil
}

// Effects is what running each node of a stored version may do, in their order, as far
// as that is known before it has its input: what previews announce.
func (e *Engine) Effects(ctx context.Context, hash string) ([]walk.Effect, error) {
	p, err := e.legible(ctx, hash)
	if err != nil {
		return nil, err
	}
	out := make([]walk.Effect, len(p.Nodes))
	for i := range p.Nodes {
		out[i] = e.env.StaticEffect(p, &p.Nodes[i])
	}
	return out, nil
}

// effect is what running a node with this input may do. A node may make its
// effect stricter; laxer counts only in plans that a person stored.
func (e *Engine) effect(p *runstate.Compiled, n *walk.ProgramNode, input any) walk.Effect {
	return effectIn(e.current().Registry, p, n, input)
}

// stepped reports whether everything with an effect in a node is a sub-step.
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
		return walk.EffectUnsafe // unknown is treated as the worst
	}
	return own
}
