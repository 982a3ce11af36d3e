package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// kairosdSystem is the engine and store of kairosd with all its records: journal, hashes,
// decisions, and audit chain. It uses synchronous=FULL.
type kairosdSystem struct {
	store  *store.Store
	engine *engine.Engine
	plans  map[string]string   // hash by shape
	runs   map[string][]string // by shape
}

var operator = domain.Actor{Name: "bench", Role: domain.RoleAuthor, Source: "bench"}

// registry has two handlers: one with a side effect that requires a durable intent, and a pure one
// that counts iterations.
type registry struct{ step func(string, int) }

func (r registry) Handler(n *walk.ProgramNode) (engine.Handler, bool) {
	if n.TypeName == "tick" {
		return engine.HandlerFunc(func(_ context.Context, c *engine.Call) (engine.Result, error) {
			return engine.Result{Output: map[string]any{"visit": c.Visit}}, nil
		}), true
	}
	return engine.HandlerFunc(func(_ context.Context, c *engine.Call) (engine.Result, error) {
		r.step(c.RunID, n.Index)
		return engine.Result{Output: c.Input}, nil
	}), true
}

func (r registry) Effect(n *walk.ProgramNode, _ any) walk.Effect {
	if n.TypeName == "tick" {
		return walk.EffectPure
	}
	return walk.EffectIdempotent
}

func (r registry) Catalog() *planner.Catalog {
	return &planner.Catalog{Types: map[string]walk.Effect{"call": walk.EffectIdempotent, "tick": walk.EffectPure}}
}

func openKairosd(ctx context.Context, dir string, resume bool, step func(string, int)) (system, error) {
	return openWith(ctx, dir, resume, step, store.Options{Stay: true})
}

// openKairosdNormal opens kairosd with the durability of the fastest peer. A power failure may lose
// data that was acknowledged since the last checkpoint of SQLite's log.
func openKairosdNormal(ctx context.Context, dir string, resume bool, step func(string, int)) (system, error) {
	return openWith(ctx, dir, resume, step, store.Options{Stay: true}.SynchronousNormal())
}

func openWith(ctx context.Context, dir string, resume bool, step func(string, int), options store.Options) (system, error) {
	s, err := store.Open(ctx, filepath.Join(dir, "kairos.db"), options)
	if err != nil {
		return nil, err
	}
	o := engine.Options{} // like the daemon: at most 64 active runs
	if resume || *phaseFlag == "die" {
		o.MaxRunning = recovery.runs // all runs are in flight when the process is killed, as in the other systems
	}
	e, err := engine.New(engine.Config{Store: s, Registry: registry{step}, Options: o})
	if err != nil {
		return nil, err
	}
	s.OnCommit(e.HandleCommit)
	k := &kairosdSystem{store: s, engine: e, plans: map[string]string{}, runs: map[string][]string{}}
	return k, e.Open(ctx)
}

func (k *kairosdSystem) define(ctx context.Context, s shape) error {
	return k.save(ctx, s.name, s.plan())
}

// save stores a plan under the name of a shape.
func (k *kairosdSystem) save(ctx context.Context, name, source string) error {
	_, v, _, problems, err := k.engine.SavePlan(ctx, operator, []byte(source), planner.FormatYAML, "upload", "")
	if err != nil {
		return fmt.Errorf("%w %v", err, problems)
	}
	k.plans[name] = v.Hash
	return nil
}

func (k *kairosdSystem) start(ctx context.Context, s shape) error {
	ids := make([]string, s.runs)
	k.runs[s.name] = ids
	return together(s.runs, func(i int) error {
		r, err := k.engine.Start(ctx, operator, domain.StartRequest{Hash: k.plans[s.name], Input: domain.RawJSON(`{"x": 42}`)})
		ids[i] = r.ID
		return err
	})
}

func (k *kairosdSystem) wait(ctx context.Context, s shape) error {
	ids, ok := k.runs[s.name]
	if !ok { // the runs of a killed process
		unfinished, err := k.store.Unfinished(ctx)
		if err != nil {
			return err
		}
		for _, r := range unfinished {
			ids = append(ids, r.ID)
		}
	}
	return together(len(ids), func(i int) error {
		r, err := k.engine.Wait(ctx, ids[i])
		if err == nil && r.Status != domain.RunCompleted {
			err = fmt.Errorf("run %s is %s: %s", r.ID, r.Status, r.Headline)
		}
		return err
	})
}

func (k *kairosdSystem) close() {
	k.engine.Stop(context.Background())
	k.store.Close()
}
