package engine

import (
	"cmp"
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// SideEffects describes the strongest side effects that runs of a plan may have.
type SideEffects struct {
	// Class is the strictest side-effect class of the steps.
	Class walk.Effect
	// Changes reports that a step with a tool or an agent may change other systems. Calls of models
	// alone change none.
	Changes bool
}

// SideEffectsOf returns the side effects of a stored version, with those of its sub-plans. A sub-plan
// that cannot be read counts as unsafe.
func SideEffectsOf(ctx context.Context, e *Engine, hash string) (SideEffects, error) {
	f := effectFinder{e: e, out: SideEffects{Class: walk.EffectPure}, seen: map[string]bool{}}
	err := f.read(ctx, hash)
	return f.out, err
}

// effectFinder collects the side effects of plans.
type effectFinder struct {
	e    *Engine
	out  SideEffects
	seen map[string]bool // versions by hash
}

func (f *effectFinder) read(ctx context.Context, hash string) error {
	if f.seen[hash] {
		return nil
	}
	f.seen[hash] = true
	p, err := f.e.program(ctx, domain.AsWritten(hash))
	if err != nil {
		return err
	}
	f.steps(ctx, p)
	return nil
}

// steps adds the side effects of the steps of a program.
func (f *effectFinder) steps(ctx context.Context, p *runstate.Compiled) {
	catalog := f.e.Catalog()
	for i := range p.Nodes {
		n := &p.Nodes[i]
		switch n.Type {
		case walk.TypeWait, walk.TypeApproval:
			continue
		case walk.TypePlan:
			if n.Block != nil {
				f.steps(ctx, runstate.NewCompiled(n.Block.Program, p.Version))
				continue
			}
			for _, name := range n.PlanNames() {
				sub, err := f.e.Reader.Resolve(ctx, name)
				if err == nil {
					err = f.read(ctx, sub)
				}
				if err != nil {
					f.add(walk.EffectUnsafe, true)
				}
			}
			continue
		}
		class := f.e.env.StaticEffect(p, n)
		if n.Type == walk.TypeAgent && n.Effect == "" && catalog.Agents[cmp.Or(n.Agent, catalog.DefaultAgent)].Changes {
			class = walk.EffectUnsafe // the calls of its tools have their own classes
		}
		f.add(class, n.Type == walk.TypeTool || n.Type == walk.TypeTools)
	}
}

// add includes the side effects of a step. calls reports that it calls a tool.
func (f *effectFinder) add(class walk.Effect, calls bool) {
	if class.Stricter(f.out.Class) {
		f.out.Class = class
	}
	f.out.Changes = f.out.Changes || class == walk.EffectUnsafe || class == walk.EffectIdempotent && calls
}
