package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner"
)

// passage is one visit of a node.
type passage struct {
	node  string
	visit int
}

// prediction is one preview and what then happened.
type prediction struct {
	rt     *rapid.T
	e      *enginetest.Engine
	src    string
	source kairos.Run
	pre    kairos.Preview
	before map[string]bool // nodes that ran in the source run
}

// moody is the scripted registry whose flaky nodes change their mind with the
// mood, so that a resume can succeed where the run failed.
func moody(mood *atomic.Int64) *enginetest.Registry {
	r := scriptedRegistry()
	r.Handle("flaky", planner.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		out, f := script(fmt.Sprint(c.Node.ID, mood.Load()), "flaky", c.Input)
		if f != nil {
			return engine.Result{}, f
		}
		return engine.Result{Output: out}, nil
	})
	return r
}

// gated names the plan, and puts an approval somewhere into one of three.
func gated(rt *rapid.T, id, src string) string {
	var m map[string]any
	if err := json.Unmarshal([]byte(src), &m); err != nil {
		rt.Fatal(err)
	}
	m["id"] = id
	if rapid.IntRange(0, 2).Draw(rt, "gated") > 0 {
		return string(marshal(rt, m))
	}
	nodes := m["nodes"].(map[string]any)
	n := nodes[fmt.Sprintf("n%d", rapid.IntRange(0, len(nodes)-1).Draw(rt, "gate"))].(map[string]any)
	if n["foreach"] == nil {
		n["type"], n["input"] = "approval", map[string]any{"message": "go on?"}
	}
	return string(marshal(rt, m))
}

// otherVersion is another version of the plan: one node is given another input.
func otherVersion(rt *rapid.T, src string) string {
	var m map[string]any
	if err := json.Unmarshal([]byte(src), &m); err != nil {
		rt.Fatal(err)
	}
	nodes := m["nodes"].(map[string]any)
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

// TestPredictionIsExecution: what a preview announces is what then runs. What
// it keeps never runs again, what is ready runs, nothing runs that it did not
// name, and what touches the world outside was said to.
func TestPredictionIsExecution(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	count := 0
	rapid.Check(t, func(rt *rapid.T) {
		count++
		src := gated(rt, fmt.Sprintf("plan-%d", count), plans(rt))
		if doc, _ := planner.Parse([]byte(src), planner.FormatJSON); doc == nil {
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
			x := &prediction{rt: rt, e: e, src: src, source: run, before: map[string]bool{}}
			var ok bool
			if run, ok = x.act(x.request(src)); !ok {
				return
			}
		}
	})
}

// request draws a verb that is possible.
func (x *prediction) request(src string) kairos.VerbRequest {
	rt, run := x.rt, x.source
	actions := []kairos.Action{kairos.ActionRerun, kairos.ActionFork, kairos.ActionFork}
	switch run.Status {
	case kairos.RunFailed, kairos.RunCancelled:
		actions = append(actions, kairos.ActionResume, kairos.ActionResume, kairos.ActionResume)
	case kairos.RunWaiting:
		actions = append(actions, kairos.ActionCancel, kairos.ActionCancel)
	}
	req := kairos.VerbRequest{Run: run.ID, Action: rapid.SampledFrom(actions).Draw(rt, "action"), Reason: "try"}
	if req.Action != kairos.ActionRerun && req.Action != kairos.ActionFork {
		return req
	}
	if rapid.IntRange(0, 2).Draw(rt, "input") == 0 {
		req.Input = kairos.RawJSON(rapid.SampledFrom([]string{`{"list":[1,2],"x":4}`, `{"list":[],"x":3}`, propertyInput}).Draw(rt, "other input"))
	}
	if rapid.IntRange(0, 2).Draw(rt, "version") == 0 {
		if v, err := save(x.e, otherVersion(rt, src)); err == nil && v.PlanID == run.PlanID {
			req.Version = v.Number
		}
	}
	if req.Action == kairos.ActionFork {
		pre, err := x.e.Preview(context.Background(), enginetest.Operator, req)
		if err != nil {
			rt.Fatal(err)
		}
		points := slices.DeleteFunc(pre.Points, func(p kairos.ForkPoint) bool { return !p.Closed })
		at := rapid.SampledFrom(points).Draw(rt, "at")
		req.At = at.Seq
		if at.Node != "" && rapid.IntRange(0, 2).Draw(rt, "edit") == 0 {
			req.Edits = map[string]kairos.RawJSON{fmt.Sprintf("%s#%d", at.Node, at.Visit): kairos.RawJSON(`{"n":1}`)}
		}
	}
	return req
}

// act previews, acts as previewed and compares.
func (x *prediction) act(req kairos.VerbRequest) (kairos.Run, bool) {
	ctx := context.Background()
	pre, err := x.e.Preview(ctx, enginetest.Operator, req)
	if kairos.CodeOf(err) == kairos.CodeForbidden { // an approval is not edited
		return kairos.Run{}, false
	}
	if err != nil {
		x.rt.Fatalf("%s\npreview %+v: %v\n%s", x.src, req, err, x.e.Journal(x.source.ID))
	}
	if x.pre = pre; !pre.Allowed {
		if _, err := x.e.Act(ctx, enginetest.Operator, req); err == nil {
			x.rt.Fatalf("%s\n%s was refused (%s) and done", x.src, req.Action, pre.Refusal)
		}
		return kairos.Run{}, false
	}
	for p := range x.ran(x.source.ID, 0) {
		x.before[p.node] = true
	}
	req.Digest = pre.Digest
	run, err := x.e.Act(ctx, enginetest.Operator, req)
	if err != nil {
		x.rt.Fatalf("%s\n%+v was previewed and fails: %v\n%s", x.src, req, err, x.e.Journal(x.source.ID))
	}
	from := x.source.LastSeq
	if run.ID != x.source.ID {
		from = run.LastSeq // what it was created with
	}
	run = x.e.Settle(run.ID)
	if req.Action == kairos.ActionCancel {
		x.cancelled(run, from)
	} else {
		x.compare(req, run, from)
	}
	return run, true
}

func (x *prediction) journal(run string) []kairos.Entry {
	rows, err := x.e.Store.Journal(context.Background(), run, 0)
	if err != nil {
		x.rt.Fatal(err)
	}
	return rows
}

// ran lists the visits that were at work after a position.
func (x *prediction) ran(run string, after int64) map[passage]bool {
	ran := map[passage]bool{}
	for _, r := range x.journal(run) {
		if r.Seq > after && r.Node != "" && r.Kind != kairos.EntryResolve && r.Status != kairos.NodeSkipped && r.Status != kairos.NodeCancelled {
			ran[passage{r.Node, r.Visit}] = true
		}
	}
	return ran
}

func (x *prediction) fail(req kairos.VerbRequest, run kairos.Run, from int64, format string, args ...any) {
	x.rt.Helper()
	pre, _ := json.MarshalIndent(x.pre, "", " ")
	x.rt.Fatalf("%s\n%+v: %s\npreview %s\nbefore:\n%s\nafter, from row %d:\n%s", x.src, req, fmt.Sprintf(format, args...), pre,
		x.e.Journal(x.source.ID), from, x.e.Journal(run.ID))
}

func (x *prediction) compare(req kairos.VerbRequest, run kairos.Run, from int64) {
	x.rt.Helper()
	ran := x.ran(run.ID, from)
	announced, effects := map[passage]bool{}, map[string]bool{}
	for _, step := range slices.Concat(x.pre.Again, x.pre.New) {
		announced[passage{step.Node, step.Visit}] = true
		if step.Visit > 0 && !ran[passage{step.Node, step.Visit}] {
			x.fail(req, run, from, "%s#%d was to run and did not", step.Node, step.Visit)
		}
	}
	for _, step := range x.pre.Again {
		if !x.before[step.Node] {
			x.fail(req, run, from, "%s is to run again and never ran", step.Node)
		}
	}
	for _, step := range x.pre.New {
		if x.before[step.Node] {
			x.fail(req, run, from, "%s is called new and ran before", step.Node)
		}
	}
	for _, step := range x.pre.Effects {
		effects[step.Node] = true
	}
	for _, step := range x.pre.Keep {
		if ran[passage{step.Node, step.Visit}] {
			x.fail(req, run, from, "%s#%d was to be kept and ran", step.Node, step.Visit)
		}
	}
	rows := x.journal(run.ID)
	for p := range ran {
		if !announced[p] && !announced[passage{p.node, 0}] {
			x.fail(req, run, from, "%s#%d ran and was not announced", p.node, p.visit)
		}
		touches := slices.ContainsFunc(rows, func(r kairos.Entry) bool {
			return r.Seq > from && r.Kind == kairos.EntryIntent && r.Node == p.node && (r.Effect == string(planner.EffectIdempotent) || r.Effect == string(planner.EffectUnsafe))
		})
		if touches && !effects[p.node] {
			x.fail(req, run, from, "%s touched the world outside and was not announced to", p.node)
		}
	}
	result, err := x.e.Result(context.Background(), run.ID)
	if err != nil {
		x.rt.Fatal(err)
	}
	kept := map[string]int{}
	for _, step := range x.pre.Keep {
		if step.Status == kairos.NodeCompleted {
			kept[step.Node]++
		}
	}
	for node, n := range kept {
		got := len(slices.DeleteFunc(slices.Clone(result.Path), func(p string) bool { return p != node }))
		if got < n {
			x.fail(req, run, from, "%d completed visits of %s were to be kept, %d are there", n, node, got)
		}
	}
}

// cancelled: nothing began, and what was open is cancelled.
func (x *prediction) cancelled(run kairos.Run, from int64) {
	req := kairos.VerbRequest{Run: run.ID, Action: kairos.ActionCancel}
	if run.Status != kairos.RunCancelled {
		x.fail(req, run, from, "the run is %s", run.Status)
	}
	if ran := x.ran(run.ID, from); len(ran) > 0 {
		x.fail(req, run, from, "%v ran after the cancel", ran)
	}
	rows := x.journal(run.ID)
	for _, step := range x.pre.Dropped {
		if step.Visit > 0 && !slices.ContainsFunc(rows, func(r kairos.Entry) bool {
			return r.Seq > from && r.Node == step.Node && r.Visit == step.Visit && r.Status == kairos.NodeCancelled
		}) {
			x.fail(req, run, from, "%s#%d was to be cancelled and was not", step.Node, step.Visit)
		}
	}
}
