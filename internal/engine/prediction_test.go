package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// passage is one visit of a node.
type passage struct {
	node  string
	visit int
}

// prediction is a preview and the actual result of its action.
type prediction struct {
	rt     *rapid.T
	e      *enginetest.Engine
	src    string
	source domain.Run
	pre    domain.Preview
	before map[string]bool // nodes that ran in the source run
	mood   int64
}

// moody is the scripted registry with a mood: flaky nodes behave differently in another mood, so
// that a resume can succeed where the run failed. Some unsafe nodes end in doubt.
func moody(mood *atomic.Int64) *enginetest.Registry {
	r := scriptedRegistry()
	flaky := func(_ context.Context, c *engine.Call) (engine.Result, error) {
		out, f := moodyScript(mood.Load(), c.Node.ID, "flaky", c.Input)
		if f != nil {
			return engine.Result{}, f
		}
		return engine.Result{Output: out}, nil
	}
	charge := func(_ context.Context, c *engine.Call) (engine.Result, error) {
		if (mood.Load()+int64(c.Attempt)+int64(len(c.Node.ID))+int64(c.Visit+c.Item))%3 == 0 {
			return engine.Result{}, errors.New("the connection was lost")
		}
		out, _ := script(c.Node.ID, "charge", c.Input)
		return engine.Result{Output: out}, nil
	}
	return r.Handle("flaky", walk.EffectIdempotent, flaky).Tool(toolPrefix+"flaky", walk.EffectIdempotent, flaky).
		Handle("charge", walk.EffectUnsafe, charge).Tool(toolPrefix+"charge", walk.EffectUnsafe, charge)
}

// moodyScript is the script in a mood.
func moodyScript(mood int64, node, typ string, input any) (any, *walk.Failure) {
	if typ == "flaky" {
		node = fmt.Sprint(node, mood)
	}
	return script(node, typ, input)
}

// gated returns a document with a name. In one of three plans, it adds an approval.
func gated(rt *rapid.T, id, src string) string {
	var m map[string]any
	if err := json.Unmarshal([]byte(src), &m); err != nil {
		rt.Fatal(err)
	}
	m["id"] = id
	nodes, ok := m["nodes"].(map[string]any)
	if !ok || rapid.IntRange(0, 2).Draw(rt, "gated") > 0 {
		return string(marshal(rt, m))
	}
	n := nodes[fmt.Sprintf("n%d", rapid.IntRange(0, len(nodes)-1).Draw(rt, "gate"))].(map[string]any)
	if n["foreach"] == nil {
		n["type"], n["input"] = "approval", map[string]any{"message": "go on?"}
	}
	return string(marshal(rt, m))
}

// otherVersion returns another version of the plan, in which one node has another input.
func otherVersion(rt *rapid.T, src string) string {
	var m map[string]any
	if err := json.Unmarshal([]byte(src), &m); err != nil {
		rt.Fatal(err)
	}
	nodes, ok := m["nodes"].(map[string]any)
	if !ok {
		steps := m["steps"].([]any)
		steps[rapid.IntRange(0, len(steps)-1).Draw(rt, "mended")].(map[string]any)["params"] = map[string]any{"mended": true}
		return string(marshal(rt, m))
	}
	n := nodes[fmt.Sprintf("n%d", rapid.IntRange(0, len(nodes)-1).Draw(rt, "mended"))].(map[string]any)
	if n["type"] != "approval" {
		n["input"] = map[string]any{"mended": true}
	}
	return string(marshal(rt, m))
}

func marshal(rt *rapid.T, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		rt.Fatal(err)
	}
	return b
}

// TestPredictionIsExecution compares each preview with the execution. Kept steps never run again,
// ready steps run, every step that runs was named, and steps with side effects were marked.
func TestPredictionIsExecution(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	count := 0
	rapid.Check(t, func(rt *rapid.T) {
		count++
		src := gated(rt, fmt.Sprintf("plan-%d", count), allPlans(rt))
		if doc, _ := planner.Parse([]byte(src), planner.WithFormat(planner.FormatJSON)); doc == nil {
			rt.Skip("not a plan")
		}
		var mood atomic.Int64
		e := enginetest.OpenOn(t, s, moody(&mood), engine.Options{})
		defer e.Close()
		v, err := save(e, src)
		if err != nil {
			rt.Skip("not a plan for this installation")
		}
		run := e.Settle(e.Begin(v, propertyInput).ID)
		for range rapid.IntRange(1, 3).Draw(rt, "acts") {
			mood.Add(1)
			run = settleDoubts(rt, e, run)
			x := &prediction{rt: rt, e: e, src: src, source: run, before: map[string]bool{}, mood: mood.Load()}
			var ok bool
			if run, ok = x.act(x.request(src)); !ok {
				return
			}
		}
	})
}

// settleDoubts draws resolutions for some of the attempts in doubt.
func settleDoubts(rt *rapid.T, e *enginetest.Engine, run domain.Run) domain.Run {
	ctx := context.Background()
	for rapid.Bool().Draw(rt, "resolve") {
		d, err := e.Detail(ctx, run.ID)
		if err != nil {
			rt.Fatal(err)
		}
		i := slices.IndexFunc(d.Waits, func(w domain.Wait) bool { return w.Reason == domain.WaitInDoubt })
		if i < 0 {
			break
		}
		w := d.Waits[i]
		q := domain.ResolveRequest{Run: run.ID, Node: w.Node, Visit: w.Visit, Item: w.Item, Reason: "so it was",
			Action: rapid.SampledFrom([]string{"retry", "skip", "fail", "happened"}).Draw(rt, "became")}
		if q.Action == "happened" {
			q.Output = domain.RawJSON(`{"n":2}`)
		}
		if _, err := e.Resolve(ctx, enginetest.Operator, q); err != nil {
			rt.Fatalf("%+v: %v\n%s", q, err, e.Journal(run.ID))
		}
		run = e.Settle(run.ID)
	}
	return run
}

// request draws a possible action.
func (x *prediction) request(src string) domain.ActionRequest {
	rt, run := x.rt, x.source
	actions := []domain.Action{domain.ActionRerun, domain.ActionFork, domain.ActionFork}
	switch run.Status {
	case domain.RunFailed, domain.RunCancelled:
		actions = append(actions, domain.ActionResume, domain.ActionResume, domain.ActionResume)
	case domain.RunWaiting:
		actions = append(actions, domain.ActionCancel, domain.ActionCancel)
		if run.WaitReason == domain.WaitPaused { // after a resume of one step
			actions = append(actions, domain.ActionUnpause, domain.ActionUnpause, domain.ActionUnpause)
		}
	}
	req := domain.ActionRequest{Run: run.ID, Action: rapid.SampledFrom(actions).Draw(rt, "action"), Reason: "try"}
	if req.Action == domain.ActionResume {
		x.options(&req)
	}
	if req.Action != domain.ActionRerun && req.Action != domain.ActionFork {
		return req
	}
	if rapid.IntRange(0, 2).Draw(rt, "input") == 0 {
		req.Input = domain.RawJSON(
			rapid.SampledFrom([]string{`{"list":[1,2],"x":4}`, `{"list":[],"x":3}`, propertyInput}).Draw(rt, "other input"),
		)
	}
	if rapid.IntRange(0, 2).Draw(rt, "version") == 0 {
		if v, err := save(x.e, otherVersion(rt, src)); err == nil && v.PlanID == run.PlanID {
			req.Version = v.Number
		}
	}
	if req.Action == domain.ActionFork {
		pre, err := x.e.Preview(context.Background(), enginetest.Operator, req)
		if err != nil {
			rt.Fatal(err)
		}
		points := slices.DeleteFunc(pre.Points, func(p domain.ForkPoint) bool { return !p.Closed })
		at := rapid.SampledFrom(points).Draw(rt, "at")
		req.At = at.Seq
		if at.Node != "" && rapid.IntRange(0, 2).Draw(rt, "edit") == 0 {
			req.Edits = map[string]domain.RawJSON{fmt.Sprintf("%s#%d", at.Node, at.Visit): domain.RawJSON(`{"n":1}`)}
		}
		x.overrides(&req)
	}
	return req
}

// options draws the options of a resume.
func (x *prediction) options(req *domain.ActionRequest) {
	if rapid.Bool().Draw(x.rt, "options") {
		req.Attempts = rapid.IntRange(0, 3).Draw(x.rt, "attempts")
	}
	pre, err := x.e.Preview(context.Background(), enginetest.Operator, *req)
	if err != nil {
		x.rt.Fatal(err)
	}
	failed := slices.DeleteFunc(slices.Clone(pre.Again), func(s domain.PreviewStep) bool { return !s.Reopened() })
	if len(failed) > 0 && rapid.Bool().Draw(x.rt, "only one") {
		s := rapid.SampledFrom(failed).Draw(x.rt, "only")
		req.Only = fmt.Sprintf("%s#%d", s.Node, s.Visit)
	}
}

// overrides draws results for some of the steps whose side effects would be repeated.
func (x *prediction) overrides(req *domain.ActionRequest) {
	pre, err := x.e.Preview(context.Background(), enginetest.Operator, *req)
	if err != nil {
		return // the answer to an approval cannot be edited
	}
	p, err := x.e.Program(context.Background(), domain.AsWritten(pre.Hash))
	if err != nil {
		x.rt.Fatal(err)
	}
	for _, s := range pre.Repeats {
		if req.Instead == nil {
			req.Instead = map[string]domain.Override{}
		}
		name := fmt.Sprintf("%s#%d", s.Node, s.Visit)
		x.override(req, name, !s.Unrecorded)
		if (p.Nodes[p.Index[s.Node]].Foreach != nil) != (len(s.Items) > 0 || s.Unrecorded) {
			x.rt.Fatalf("%s has the items %v, unrecorded %t", name, s.Items, s.Unrecorded)
		}
		for _, i := range s.Items {
			x.override(req, fmt.Sprintf("%s[%d]", name, i.Item), true)
		}
	}
}

// override draws the override of a step, or none.
func (x *prediction) override(req *domain.ActionRequest, name string, recorded bool) {
	switch n := rapid.IntRange(0, 2).Draw(x.rt, "stands in"); {
	case n == 0 && recorded:
		req.Instead[name] = domain.Override{Recorded: true}
	case n == 1:
		req.Instead[name] = domain.Override{Output: domain.RawJSON(`{"n":3}`)}
	}
}

// act previews an action, performs it, and compares both.
func (x *prediction) act(req domain.ActionRequest) (domain.Run, bool) {
	ctx := context.Background()
	pre, err := x.e.Preview(ctx, enginetest.Operator, req)
	if domain.CodeOf(err) == domain.CodeForbidden { // the answer to an approval cannot be edited
		return domain.Run{}, false
	}
	if err != nil {
		x.rt.Fatalf("%s\npreview %+v: %v\n%s", x.src, req, err, x.e.Journal(x.source.ID))
	}
	if x.pre = pre; !pre.Allowed {
		if _, err := x.e.Act(ctx, enginetest.Operator, req); err == nil {
			x.rt.Fatalf("%s\n%s was refused (%s) and done", x.src, req.Action, pre.Refusal)
		}
		return domain.Run{}, false
	}
	for p := range x.ran(x.source.ID, 0, true) {
		x.before[p.node] = true
	}
	req.Digest = pre.Digest
	run, err := x.e.Act(ctx, enginetest.Operator, req)
	if err != nil {
		x.rt.Fatalf("%s\n%+v was previewed and fails: %v\n%s", x.src, req, err, x.e.Journal(x.source.ID))
	}
	from := x.source.LastSeq
	if run.ID != x.source.ID {
		from = run.LastSeq // the rows with which the run was created
	}
	run = x.e.Settle(run.ID)
	if req.Action == domain.ActionCancel {
		x.cancelled(run, from)
	} else {
		x.compare(req, run, from)
		if req.Action == domain.ActionFork || req.Action == domain.ActionRerun {
			x.judged(req, run, from)
		}
	}
	return run, true
}

func (x *prediction) journal(run string) []domain.Entry {
	rows, err := x.e.Store.Journal(context.Background(), run, 0)
	if err != nil {
		x.rt.Fatal(err)
	}
	return rows
}

// ran lists the visits that ran after a position. If resolved is true, it includes visits that a
// person's resolution settled.
func (x *prediction) ran(run string, after int64, resolved bool) map[passage]bool {
	ran := map[passage]bool{}
	for _, r := range x.journal(run) {
		if r.Seq > after && r.Node != "" && r.Kind != domain.EntryResolve && r.Status != domain.NodeSkipped &&
			r.Status != domain.NodeCancelled &&
			(resolved || !strings.Contains(r.Reason, "a person")) {
			ran[passage{r.Node, r.Visit}] = true
		}
	}
	return ran
}

func (x *prediction) fail(req domain.ActionRequest, run domain.Run, from int64, format string, args ...any) {
	x.rt.Helper()
	pre, _ := json.MarshalIndent(x.pre, "", " ")
	x.rt.Fatalf("%s\n%+v: %s\npreview %s\nbefore:\n%s\nafter, from row %d:\n%s", x.src, req, fmt.Sprintf(format, args...), pre,
		x.e.Journal(x.source.ID), from, x.e.Journal(run.ID))
}
