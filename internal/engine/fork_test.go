package engine_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

func names(steps []domain.PreviewStep) string {
	var list []string
	for _, s := range steps {
		list = append(list, s.Node)
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " ")
}

const pipeline = `
id: pipeline
nodes:
  fetch: {type: call, input: {url: "${input.url}"}}
  parse: {type: set, input: {rows: "${output.fetch.url}"}}
  other: {type: set, input: fixed}
  send:  {type: call, input: {body: "${output.parse.rows}", tag: "${output.other}"}}
edges:
  - {from: fetch, to: parse}
  - {from: parse, to: other}
  - {from: other, to: send}
`

func TestFork(t *testing.T) {
	t.Parallel()
	reg := enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo)
	e := enginetest.Open(t, reg)
	v := e.Save(pipeline)
	run := e.Settle(e.Begin(v, `{"url": "a"}`).ID)
	ctx := t.Context()
	second := e.Save(strings.Replace(pipeline, "input: fixed", "input: mended", 1))
	if second.Number != 2 {
		t.Fatalf("got version %d", second.Number)
	}
	tests := []struct {
		name               string
		req                domain.ActionRequest
		keep, again, fresh string
		output             string
	}{
		{"from the beginning", domain.ActionRequest{}, "", "fetch other parse send", "", `{"body":"a","tag":"fixed"}`},
		{"after parse", domain.ActionRequest{At: 3}, "fetch parse", "other send", "", `{"body":"a","tag":"fixed"}`},
		{
			"an edited output drops who read it",
			domain.ActionRequest{At: run.LastSeq, Edits: map[string]domain.RawJSON{"fetch": domain.RawJSON(`{"url":"b"}`)}},
			"fetch",
			"other parse send",
			"",
			`{"body":"b","tag":"fixed"}`,
		},
		{
			"an edit keeps who did not read it",
			domain.ActionRequest{At: run.LastSeq, Edits: map[string]domain.RawJSON{"other#1": domain.RawJSON(`"new"`)}},
			"fetch other parse",
			"send",
			"",
			`{"body":"a","tag":"new"}`,
		},
		{
			"another input",
			domain.ActionRequest{At: run.LastSeq, Input: domain.RawJSON(`{"url": "z"}`)},
			"",
			"fetch other parse send",
			"",
			`{"body":"z","tag":"fixed"}`,
		},
		{
			"another version",
			domain.ActionRequest{At: run.LastSeq, Version: -1},
			"fetch parse",
			"other send",
			"",
			`{"body":"a","tag":"mended"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := tt.req
			req.Run, req.Action = run.ID, domain.ActionFork
			p, err := e.Preview(ctx, enginetest.Operator, req)
			if err != nil {
				t.Fatal(err)
			}
			if !p.Allowed || names(p.Keep) != tt.keep || names(p.Again) != tt.again || names(p.New) != tt.fresh {
				t.Errorf(
					"preview: keep %q again %q new %q, want %q %q %q; refusal %q, dropped %+v",
					names(p.Keep),
					names(p.Again),
					names(p.New),
					tt.keep,
					tt.again,
					tt.fresh,
					p.Refusal,
					p.Dropped,
				)
			}
			if len(p.Again) > 0 && tt.req.At > 0 && p.Again[len(p.Again)-1].Reason.IsZero() && tt.req.At == run.LastSeq {
				t.Errorf("what runs again has no reason: %+v", p.Again)
			}
			stale := req
			stale.Digest = "other"
			if _, err := e.Act(ctx, enginetest.Operator, stale); domain.CodeOf(err) != domain.CodeStale {
				t.Errorf("another digest: %v", err)
			}
			req.Digest = p.Digest
			calls := len(reg.Calls())
			fork, err := e.Act(ctx, enginetest.Operator, req)
			if err != nil {
				t.Fatal(err)
			}
			r := e.Settle(fork.ID)
			if r.Status != domain.RunCompleted || string(r.Output) != tt.output || r.ForkedFrom != run.ID || r.Steps != 4 ||
				r.Path != "cccc" {
				t.Errorf(
					"got %s %s from %s, %d steps %q, want %s\n%s",
					r.Status,
					r.Output,
					r.ForkedFrom,
					r.Steps,
					r.Path,
					tt.output,
					e.Journal(r.ID),
				)
			}
			var called []string
			for _, c := range reg.Calls()[calls:] {
				called = append(called, c.Node)
			}
			for _, node := range called {
				if !strings.Contains(" "+tt.again+" ", " "+node+" ") {
					t.Errorf("%s ran though the preview keeps it", node)
				}
			}
		})
	}
	t.Run("an operator may not choose another version", func(t *testing.T) {
		_, err := e.Act(
			ctx,
			domain.Actor{Name: "olga", Role: domain.RoleOperator},
			domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, Version: -1},
		)
		if domain.CodeOf(err) != domain.CodeForbidden {
			t.Errorf("got %v", err)
		}
	})
	t.Run("rerun", func(t *testing.T) {
		r, err := e.Act(ctx, enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionRerun, Version: -1})
		if err != nil {
			t.Fatal(err)
		}
		if r = e.Settle(r.ID); string(r.Output) != `{"body":"a","tag":"mended"}` || r.RerunOf != run.ID {
			t.Errorf("got %s of %s", r.Output, r.RerunOf)
		}
	})
	t.Run("keys are new", func(t *testing.T) {
		keys := map[string]string{}
		for _, c := range reg.Calls() {
			if other, ok := keys[c.Key]; ok && other != c.Run+c.Node {
				t.Errorf("one key for %s and %s", other, c.Run+c.Node)
			}
			keys[c.Key] = c.Run + c.Node
		}
	})
}

func TestResume(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	reg := enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, func(ctx context.Context, c *engine.Call) (engine.Result, error) {
		if broken.Load() && c.Node.ID == "send" {
			return engine.Result{}, &walk.Failure{Code: "down", Message: "503"}
		}
		return echo(ctx, c)
	})
	e := enginetest.Open(t, reg)
	ctx := t.Context()
	run := e.Settle(e.Begin(e.Save(pipeline), `{"url": "a"}`).ID)
	if run.Status != domain.RunFailed {
		t.Fatalf("got %s", run.Status)
	}
	req := domain.ActionRequest{Run: run.ID, Action: domain.ActionResume, Reason: "it is up again"}
	p, err := e.Preview(ctx, enginetest.Operator, req)
	if err != nil || names(p.Keep) != "fetch other parse" || names(p.Again) != "send" || names(p.Effects) != "send" {
		t.Fatalf("preview: keep %q again %q effects %q, %v", names(p.Keep), names(p.Again), names(p.Effects), err)
	}
	broken.Store(false)
	req.Digest, req.Rev = p.Digest, p.Rev
	// Of two concurrent operators, one succeeds, and the other gets an error.
	var wg sync.WaitGroup
	var won, lost atomic.Int32
	for range 4 {
		wg.Go(func() {
			switch _, err := e.Act(ctx, enginetest.Operator, req); domain.CodeOf(err) {
			case "":
				won.Add(1)
			case domain.CodeConflict, domain.CodeStale:
				lost.Add(1)
			default:
				t.Errorf("resume: %v", err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || lost.Load() != 3 {
		t.Errorf("%d won and %d lost, want 1 and 3", won.Load(), lost.Load())
	}
	r := e.Until(run.ID, domain.RunCompleted, "")
	if string(r.Output) != `{"body":"a","tag":"fixed"}` || r.Error != nil || reg.Count("fetch") != 1 || reg.Count("send") != 2 ||
		r.Path != "cccc" {
		t.Errorf(
			"got %s error %v path %q, fetch ran %d times and send %d\n%s",
			r.Output,
			r.Error,
			r.Path,
			reg.Count("fetch"),
			reg.Count("send"),
			e.Journal(r.ID),
		)
	}
	if _, err := e.Act(ctx, enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionResume}); domain.CodeOf(
		err,
	) != domain.CodeConflict {
		t.Errorf("resume of a completed run: %v", err)
	}
	t.Run("a decision on kept nodes is not resumable", func(t *testing.T) {
		run := e.Settle(e.Run(`{start: a, nodes: {a: {type: set, input: 1}}, edges: [{from: a, to: a}]}`, "").ID)
		_, err := e.Do(run.ID, domain.ActionResume)
		if domain.CodeOf(err) != domain.CodeNotResumable {
			t.Errorf("got %v", err)
		}
		p, err := e.Preview(ctx, enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionResume})
		if err != nil || p.Allowed || p.Suggestion.IsZero() {
			t.Errorf("preview %+v, %v", p, err)
		}
	})
	t.Run("only failed and unstarted items run again", func(t *testing.T) {
		var heal atomic.Bool
		reg.Handle("item", walk.EffectIdempotent, func(ctx context.Context, c *engine.Call) (engine.Result, error) {
			if !heal.Load() && c.Item == 1 {
				return engine.Result{}, &walk.Failure{Code: "down", Message: "503"}
			}
			return echo(ctx, c)
		})
		run := e.Settle(e.Run(`{nodes: {each: {type: item, foreach: "${input}", max_parallel: 1}}}`, `[1, 2, 3, 4]`).ID)
		if run.Status != domain.RunFailed || reg.Count("each") != 2 {
			t.Fatalf("got %s after %d calls, want failed after 2", run.Status, reg.Count("each"))
		}
		heal.Store(true)
		if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
			t.Fatal(err)
		}
		if r := e.Until(run.ID, domain.RunCompleted, ""); string(r.Output) != "[1,2,3,4]" || reg.Count("each") != 5 {
			t.Errorf("got %s after %d calls\n%s", r.Output, reg.Count("each"), e.Journal(run.ID))
		}
	})
}

// TestPreviewIsExecution: for random plans, fork points, and edits, steps that a preview keeps do
// not run, and every step that runs is named by the preview.
func TestPreviewIsExecution(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	reg := scriptedRegistry()
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		src := plans(rt)
		v, err := save(e, src)
		if err != nil {
			rt.Skip("not a plan")
		}
		run := e.Settle(e.Begin(v, propertyInput).ID)
		req := domain.ActionRequest{
			Run: run.ID,
			Action: rapid.SampledFrom([]domain.Action{domain.ActionFork, domain.ActionFork, domain.ActionRerun, domain.ActionResume}).
				Draw(rt, "action"),
		}
		before, err := s.Journal(ctx, run.ID, 0)
		if err != nil {
			rt.Fatal(err)
		}
		if req.Action == domain.ActionFork {
			req.At = rapid.Int64Range(0, run.LastSeq).Draw(rt, "at")
			var settled []string
			for _, row := range before {
				if row.Final && row.Seq <= req.At && row.Status == domain.NodeCompleted && row.Item < 0 {
					settled = append(settled, row.Node)
				}
			}
			if len(settled) > 0 && rapid.Bool().Draw(rt, "edit") {
				req.Edits = map[string]domain.RawJSON{rapid.SampledFrom(settled).Draw(rt, "edited"): domain.RawJSON(`{"n":1}`)}
			}
			if rapid.IntRange(0, 4).Draw(rt, "input") == 0 {
				req.Input = domain.RawJSON(`{"x": 4, "list": [1, 5]}`)
			}
		}
		p, err := e.Preview(ctx, enginetest.Operator, req)
		if err != nil {
			rt.Fatalf("%s\npreview: %v", src, err)
		}
		req.Digest = p.Digest
		next, err := e.Act(ctx, enginetest.Operator, req)
		if p.Allowed != (err == nil) {
			rt.Fatalf("%s\npreview allows it: %v (%s); act: %v\n%s", src, p.Allowed, p.Refusal, err, e.Journal(run.ID))
		}
		if err != nil {
			return
		}
		r := e.Settle(next.ID)
		may := map[string]bool{}
		for _, step := range append(slices.Clone(p.Again), p.New...) {
			may[step.Node] = true
		}
		type visit struct {
			node  string
			visit int
		}
		keep := map[visit]bool{}
		for _, step := range p.Keep {
			keep[visit{step.Node, step.Visit}] = true
		}
		after, err := s.Journal(ctx, r.ID, 0)
		if err != nil {
			rt.Fatal(err)
		}
		old := int64(0)
		if req.Action == domain.ActionResume {
			old = run.LastSeq
		} else {
			old = keptRows(after, r.CreatedAt.UnixMicro())
		}
		for _, row := range after[old:] {
			if row.Node == "" || row.Kind == domain.EntryReset {
				continue
			}
			if !may[row.Node] || keep[visit{row.Node, row.Visit}] && row.Item < 0 {
				rt.Fatalf(
					"%s\n%s at %d: %s visit %d ran; preview: keep %q again %q new %q\n%s\n%s",
					src,
					req.Action,
					req.At,
					row.Node,
					row.Visit,
					names(p.Keep),
					names(p.Again),
					names(p.New),
					e.Journal(run.ID),
					e.Journal(r.ID),
				)
			}
		}
	})
}

// keptRows returns the number of rows with which a new run was created.
func keptRows(rows []domain.Entry, created int64) int64 {
	n := int64(0)
	for _, row := range rows {
		if row.At.UnixMicro() < created {
			n++
		}
	}
	return n
}

// The decision of an item for its visit is void when another item runs again. A resumed run can be
// forked at every checkpoint that it offers.
func TestForkAfterItemsRanAgain(t *testing.T) {
	t.Parallel()
	reg := enginetest.NewRegistry().Handle("item", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		if c.Input == "bad" {
			return engine.Result{}, &walk.Failure{Code: "bad", Message: "bad"}
		}
		return engine.Result{Output: c.Input}, nil
	})
	e := enginetest.Open(t, reg)
	v := e.Save(`
id: items
nodes:
  each: {type: item, foreach: "${input}", max_parallel: 2, input: "${item}"}
  end: {type: set, input: 1}
edges: [{from: each, to: end}]
`)
	run := e.Settle(e.Begin(v, `["bad", "good"]`).ID)
	for range 3 {
		if _, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionResume}); err != nil {
			t.Fatal(err)
		}
		run = e.Settle(run.ID)
		pre, err := e.Preview(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionFork})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pre.Points {
			forked, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, At: p.Seq})
			if err != nil {
				t.Fatalf("fork at %d (%s): %v\n%s", p.Seq, p.Label, err, e.Journal(run.ID))
			}
			if forked = e.Settle(forked.ID); forked.Status != domain.RunFailed {
				t.Errorf("the fork at %d is %s", p.Seq, forked.Status)
			}
		}
	}
}

// The preview of a resume shows that a resolved attempt is kept, and why. The attempt is not called
// again.
func TestPreviewNamesResolvedSteps(t *testing.T) {
	t.Parallel()
	for action, want := range map[string]domain.NodeStatus{"happened": domain.NodeCompleted, "skip": domain.NodeSkipped,
		"fail": domain.NodeFailed} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			started := make(chan struct{}, 1)
			reg := enginetest.NewRegistry().
				Handle("charge", walk.EffectUnsafe, func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
					started <- struct{}{}
					<-ctx.Done()
					return engine.Result{}, ctx.Err()
				})
			e := enginetest.Open(t, reg)
			run := e.Run(
				`{nodes: {a: {type: charge}, b: {type: set, input: 1}}, edges: [{from: a, to: b}, {from: a, to: b, condition: failed}]}`,
				"",
			)
			<-started
			if _, err := e.Do(run.ID, domain.ActionCancel); err != nil {
				t.Fatal(err)
			}
			e.Until(run.ID, domain.RunCancelled, "")
			r := domain.ResolveRequest{Run: run.ID, Node: "a", Visit: 1, Item: -1, Action: action}
			if action == "happened" {
				r.Output = domain.RawJSON(`2`)
			}
			if _, err := e.Resolve(t.Context(), enginetest.Operator, r); err != nil {
				t.Fatal(err)
			}
			p, err := e.Preview(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionResume})
			if err != nil || len(p.Keep) != 1 || p.Keep[0].Node != "a" || p.Keep[0].Status != want || p.Keep[0].Reason.IsZero() ||
				names(p.Again) != "" ||
				names(p.Effects) != "" {
				t.Fatalf("preview %+v, %v", p, err)
			}
			if _, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionResume,
				Digest: p.Digest}); err != nil {
				t.Fatal(err)
			}
			if e.Settle(run.ID); reg.Count("a") != 1 {
				t.Errorf("it was called %d times", reg.Count("a"))
			}
		})
	}
}
