package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// undoable adds an undo to most steps of a plan that have side effects.
func undoable(t *rapid.T, src string) string {
	var doc map[string]any
	if err := json.Unmarshal([]byte(src), &doc); err != nil {
		t.Fatal(err)
	}
	add := func(step map[string]any, kind string, call map[string]any) {
		if (kind == "call" || kind == "charge" || kind == "flaky") && rapid.IntRange(0, 3).Draw(t, "undo") > 0 {
			step["undo"] = call
		}
	}
	for _, part := range []string{"nodes", "finally"} {
		nodes, _ := doc[part].(map[string]any)
		for _, id := range slices.Sorted(mapKeys(nodes)) {
			n := nodes[id].(map[string]any)
			kind, _ := n["type"].(string)
			add(n, kind, map[string]any{"type": "back", "input": map[string]any{"of": "${last}", "x": "${input.x ?? 0}"}})
		}
	}
	steps, _ := doc["steps"].([]any)
	for _, s := range steps {
		kind, _ := s.(map[string]any)["tool"].(string)
		add(s.(map[string]any), strings.TrimPrefix(kind, toolPrefix),
			map[string]any{"tool": "do_back", "params": map[string]any{"of": "${last}"}})
	}
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// completed lists the steps with an undo that a journal records as run and completed, with their outputs.
func completed(p *walk.Program, journal []domain.Entry) []string {
	var list []string
	began := map[string]bool{}
	for _, e := range journal {
		name := fmt.Sprintf("%s#%d[%d]", e.Node, e.Visit, e.Item)
		switch {
		case e.Kind == domain.EntryIntent && e.Substep == 0:
			began[name] = true
		case e.Kind == domain.EntryResult && e.Final:
			n := p.Nodes[p.Index[e.Node]]
			if e.Status == domain.NodeCompleted && n.Undo != nil && began[name] && (n.Foreach == nil || e.Item >= 0) {
				list = append(list, fmt.Sprintf("%s at %d of %s", name, e.Seq, e.Output))
			}
			began[name] = false
		}
	}
	return list
}

// For random plans, also after a resume, an undo calls the undo of each completed step exactly once, in the
// reverse order of their completion.
func TestUndoIsTheReverseOfCompletion(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	reg := scriptedRegistry()
	back := func(context.Context, *engine.Call) (engine.Result, error) { return engine.Result{}, nil }
	reg.Handle("back", walk.EffectIdempotent, back).Tool("do_back", walk.EffectIdempotent, back)
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	ctx := context.Background()
	checked, undone := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		checked++
		src := undoable(rt, allPlans(rt))
		v, err := save(e, src)
		if err != nil {
			rt.Skip("not a plan")
		}
		run := settleAnswering(rt, e, e.Begin(v, propertyInput).ID)
		if run.Status == domain.RunFailed && rapid.Bool().Draw(rt, "resume") {
			if _, err := e.Do(run.ID, domain.ActionResume); err == nil {
				run = settleAnswering(rt, e, run.ID)
			}
		}
		if !run.Status.Final() {
			rt.Skip("it waits")
		}
		journal, err := s.Journal(ctx, run.ID, 0)
		if err != nil {
			rt.Fatal(err)
		}
		prog, err := e.Program(ctx, run.ProgramRef)
		if err != nil {
			rt.Fatal(err)
		}
		want := completed(prog, journal)
		slices.Reverse(want)
		req := domain.ActionRequest{Run: run.ID, Action: domain.ActionUndo}
		p, err := e.Preview(ctx, enginetest.Operator, req)
		if err != nil || p.Allowed != (len(want) > 0) {
			rt.Fatalf("%s\npreview: allowed %v (%s), %v, want %q\n%s", src, p.Allowed, p.Refusal, err, want, e.Journal(run.ID))
		}
		if !p.Allowed {
			return
		}
		of := map[string]domain.PreviewUndo{}
		for _, c := range p.Undo {
			of[c.Step] = c
		}
		req.Digest = p.Digest
		before := len(reg.Calls())
		u, err := e.Act(ctx, enginetest.Operator, req)
		if err != nil {
			rt.Fatalf("%s\n%v", src, err)
		}
		if u = e.Settle(u.ID); u.Status != domain.RunCompleted {
			rt.Fatalf("%s\nthe undo is %s: %v\n%s", src, u.Status, u.Error, e.Journal(u.ID))
		}
		var got []string
		for _, c := range reg.Calls()[before:] {
			output, err := json.Marshal(c.Input.(map[string]any)["of"])
			if err != nil {
				rt.Fatal(err)
			}
			if r := of[c.Node]; c.Run == u.ID {
				got = append(got, fmt.Sprintf("%s#%d[%d] at %d of %s", r.Node, r.Visit, r.Item, r.Seq, output))
			}
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("%s\n got %q\nwant %q\n%s", src, got, want, e.Journal(run.ID))
		}
		undone += len(got)
	})
	if checked >= 100 && undone < 50 { // a few plans may have no step to undo
		t.Errorf("only %d steps of %d plans were undone", undone, checked)
	}
}
