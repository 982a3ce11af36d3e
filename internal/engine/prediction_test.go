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

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
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
	source domain.Run
	pre    domain.Preview
	before map[string]bool // nodes that ran in the source run
	mood   int64
}

// moody is the scripted registry whose flaky nodes change their mind with the
// mood, so that a resume can succeed where the run failed, and whose unsafe nodes
// now and then end without saying whether they had their effect.
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

// gated names the plan, and puts an approval somewhere into one of three.
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

// otherVersion is another version of the plan: one node is given another input.
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

// TestPredictionIsExecution: what a preview announces is what then runs. What
// it keeps never runs again, what is ready runs, nothing runs that it did not
// name, and what touches the world outside was said to.
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

// settleDoubts says of some of the attempts in doubt what became of them.
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

// request draws a verb that is possible.
func (x *prediction) request(src string) domain.VerbRequest {
	rt, run := x.rt, x.source
	actions := []domain.Action{domain.ActionRerun, domain.ActionFork, domain.ActionFork}
	switch run.Status {
	case domain.RunFailed, domain.RunCancelled:
		actions = append(actions, domain.ActionResume, domain.ActionResume, domain.ActionResume)
	case domain.RunWaiting:
		actions = append(actions, domain.ActionCancel, domain.ActionCancel)
		if run.WaitReason == domain.WaitPaused { // after a resume of one step
			actions = append(actions, domain.ActionContinue, domain.ActionContinue, domain.ActionContinue)
		}
	}
	req := domain.VerbRequest{Run: run.ID, Action: rapid.SampledFrom(actions).Draw(rt, "action"), Reason: "try"}
	if req.Action == domain.ActionResume {
		x.options(&req)
	}
	if req.Action != domain.ActionRerun && req.Action != domain.ActionFork {
		return req
	}
	if rapid.IntRange(0, 2).Draw(rt, "input") == 0 {
		req.Input = domain.RawJSON(rapid.SampledFrom([]string{`{"list":[1,2],"x":4}`, `{"list":[],"x":3}`, propertyInput}).Draw(rt, "other input"))
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
		x.standIns(&req)
	}
	return req
}

// options draws what a resume is asked for besides going on.
func (x *prediction) options(req *domain.VerbRequest) {
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

// standIns draws results for some of the steps whose side effects would happen a
// second time.
func (x *prediction) standIns(req *domain.VerbRequest) {
	pre, err := x.e.Preview(context.Background(), enginetest.Operator, *req)
	if err != nil {
		return // an approval is not edited
	}
	p, err := x.e.Program(context.Background(), pre.Hash)
	if err != nil {
		x.rt.Fatal(err)
	}
	for _, s := range pre.Repeats {
		if req.Instead == nil {
			req.Instead = map[string]domain.StandIn{}
		}
		name := fmt.Sprintf("%s#%d", s.Node, s.Visit)
		x.standIn(req, name, !s.Unrecorded)
		if (p.Nodes[p.Index[s.Node]].Foreach != nil) != (len(s.Items) > 0 || s.Unrecorded) {
			x.rt.Fatalf("%s has the items %v, unrecorded %t", name, s.Items, s.Unrecorded)
		}
		for _, i := range s.Items {
			x.standIn(req, fmt.Sprintf("%s[%d]", name, i.Item), true)
		}
	}
}

// standIn draws what stands in for a step, or that nothing does.
func (x *prediction) standIn(req *domain.VerbRequest, name string, recorded bool) {
	switch n := rapid.IntRange(0, 2).Draw(x.rt, "stands in"); {
	case n == 0 && recorded:
		req.Instead[name] = domain.StandIn{Recorded: true}
	case n == 1:
		req.Instead[name] = domain.StandIn{Output: domain.RawJSON(`{"n":3}`)}
	}
}

// act previews, acts as previewed and compares.
func (x *prediction) act(req domain.VerbRequest) (domain.Run, bool) {
	ctx := context.Background()
	pre, err := x.e.Preview(ctx, enginetest.Operator, req)
	if domain.CodeOf(err) == domain.CodeForbidden { // an approval is not edited
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
		from = run.LastSeq // what it was created with
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

// ran lists the visits that were at work after a position; with told, also those
// that a person's word settled.
func (x *prediction) ran(run string, after int64, told bool) map[passage]bool {
	ran := map[passage]bool{}
	for _, r := range x.journal(run) {
		if r.Seq > after && r.Node != "" && r.Kind != domain.EntryResolve && r.Status != domain.NodeSkipped && r.Status != domain.NodeCancelled && (told || !strings.Contains(r.Reason, "a person")) {
			ran[passage{r.Node, r.Visit}] = true
		}
	}
	return ran
}

func (x *prediction) fail(req domain.VerbRequest, run domain.Run, from int64, format string, args ...any) {
	x.rt.Helper()
	pre, _ := json.MarshalIndent(x.pre, "", " ")
	x.rt.Fatalf("%s\n%+v: %s\npreview %s\nbefore:\n%s\nafter, from row %d:\n%s", x.src, req, fmt.Sprintf(format, args...), pre,
		x.e.Journal(x.source.ID), from, x.e.Journal(run.ID))
}

func (x *prediction) compare(req domain.VerbRequest, run domain.Run, from int64) {
	x.rt.Helper()
	ran := x.ran(run.ID, from, false)
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
	for _, step := range x.pre.InDoubt {
		if ran[passage{step.Node, step.Visit}] && len(step.Items) == 0 {
			x.fail(req, run, from, "%s#%d was to wait for a person's word and ran", step.Node, step.Visit)
		}
	}
	for _, step := range slices.Concat(x.pre.Given, x.pre.Later) {
		if ran[passage{step.Node, step.Visit}] && step.Visit > 0 && len(step.Items) == 0 {
			x.fail(req, run, from, "%s#%d was not to run and did", step.Node, step.Visit)
		}
	}
	x.stoodIn(req, run, from)
	if req.Only != "" && !run.Status.Final() && run.WaitReason != domain.WaitPaused && !ran[passage{strings.Split(req.Only, "#")[0], x.pre.Again[0].Visit}] {
		x.fail(req, run, from, "%s did not run", req.Only)
	}
	x.decisions(req, run, from)
	x.items(req, run, from)
	for _, step := range x.pre.Keep {
		if ran[passage{step.Node, step.Visit}] {
			x.fail(req, run, from, "%s#%d was to be kept and ran", step.Node, step.Visit)
		}
	}
	rows := x.journal(run.ID)
	for p := range ran {
		// What stands in for a list stands in for nothing when the list is empty.
		empty := slices.ContainsFunc(rows, func(r domain.Entry) bool {
			return r.Node == p.node && r.Visit == p.visit && r.Item < 0 && r.Final && r.Attempt == 0 && string(r.Output) == "[]"
		}) && slices.ContainsFunc(x.pre.Given, func(s domain.PreviewStep) bool { return s.Node == p.node })
		if !announced[p] && !announced[passage{p.node, 0}] && !empty {
			x.fail(req, run, from, "%s#%d ran and was not announced", p.node, p.visit)
		}
		touches := slices.ContainsFunc(rows, func(r domain.Entry) bool {
			return r.Seq > from && r.Kind == domain.EntryIntent && r.Node == p.node && (r.Effect == string(walk.EffectIdempotent) || r.Effect == string(walk.EffectUnsafe))
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
		if step.Status == domain.NodeCompleted {
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

// stoodIn: that for which a result stood in did not run, and has that result.
func (x *prediction) stoodIn(req domain.VerbRequest, run domain.Run, from int64) {
	x.rt.Helper()
	given := map[string]bool{}
	for _, step := range x.pre.Given {
		for _, i := range step.Items {
			given[fmt.Sprintf("%s#%d[%d]", step.Node, step.Visit, i)] = step.Visit > 0
		}
	}
	for _, r := range x.journal(run.ID) {
		if r.Seq <= from || r.Node == "" || r.Kind == domain.EntryResolve || r.Status == domain.NodeSkipped || r.Status == domain.NodeCancelled {
			continue
		}
		name := fmt.Sprintf("%s#%d", r.Node, r.Visit)
		item := fmt.Sprintf("%s[%d]", name, r.Item)
		said, ok := req.Instead[item]
		if !ok {
			// What is recorded stands in for the items that are recorded: the preview
			// names those of a visit that is open.
			if said, ok = req.Instead[name]; ok && said.Recorded && r.Item >= 0 {
				ok = given[item]
			}
		}
		if ok != given[item] && given[item] {
			x.fail(req, run, from, "%s was announced as given, and nobody gave it", item)
		}
		if !ok || r.Item < 0 && r.Reason == "" && r.Kind == domain.EntryResult && r.Attempt == 0 {
			continue // a visit of no items, or whose list is none
		}
		switch {
		case !strings.HasPrefix(r.Reason, "a person gave"):
			x.fail(req, run, from, "a result stood in for %s, and it ran", item)
		case !said.Recorded && string(r.Output) != string(said.Output):
			x.fail(req, run, from, "%s was given %s and has %s", item, said.Output, r.Output)
		}
	}
}

// decisions: where the run was foretold to go, it went, if it came there.
func (x *prediction) decisions(req domain.VerbRequest, run domain.Run, from int64) {
	x.rt.Helper()
	for _, d := range x.pre.Decisions {
		for _, r := range x.journal(run.ID) {
			var went walk.Decision
			if r.Node != d.Node || r.Visit != d.Visit || !r.Final || r.Item >= 0 || r.Status != domain.NodeCompleted {
				continue
			}
			if len(r.Decision) > 0 && json.Unmarshal(r.Decision, &went) != nil {
				x.rt.Fatal("decision cannot be read")
			}
			if went.To != d.To {
				x.fail(req, run, from, "%s#%d was to lead to %q and led to %q", d.Node, d.Visit, d.To, went.To)
			}
		}
	}
}

// items: of a list that goes on, an item that completed is not run again, unless
// the preview names it.
func (x *prediction) items(req domain.VerbRequest, run domain.Run, from int64) {
	x.rt.Helper()
	rows := x.journal(run.ID)
	for _, step := range slices.Concat(x.pre.Again, x.pre.New) {
		if len(step.Items) == 0 {
			continue
		}
		done := map[int]bool{}
		for _, r := range rows {
			if r.Node != step.Node || r.Visit != step.Visit || r.Item < 0 {
				continue
			}
			if r.Seq <= from {
				done[r.Item] = r.Final && r.Status == domain.NodeCompleted
			} else if done[r.Item] && r.Kind != domain.EntryResolve && !slices.Contains(step.Items, r.Item) {
				x.fail(req, run, from, "item %d of %s#%d had completed, was not announced, and ran again", r.Item, step.Node, step.Visit)
			}
		}
	}
}

// judged: a fork that completes comes to what the reference interpreter comes to,
// given what was kept of the source and what the script says of the rest.
func (x *prediction) judged(req domain.VerbRequest, run domain.Run, from int64) {
	x.rt.Helper()
	if run.Status != domain.RunCompleted {
		return // what a run settles that fails or waits depends on timing
	}
	p, err := x.e.Program(context.Background(), run.Hash)
	if err != nil {
		x.rt.Fatal(err)
	}
	kept := map[walk.VisitKey]map[int]domain.Entry{}
	for _, r := range x.journal(run.ID) {
		if r.Final && (r.Seq <= from || strings.HasPrefix(r.Reason, "a person gave")) {
			k := walk.VisitKey{Node: p.Index[r.Node], Visit: r.Visit}
			if kept[k] == nil {
				kept[k] = map[int]domain.Entry{}
			}
			kept[k][r.Item] = r
		}
	}
	want := referenceOutcome(x.rt, p, run.Input, func(k walk.VisitKey, item int, input any) (walk.Status, any, *walk.Failure) {
		n := &p.Nodes[k.Node]
		r, ok := kept[k][item]
		if !ok {
			out, f := moodyScript(x.mood, n.ID, kindOf(n), input)
			return "", out, f
		}
		if r.Failure != nil {
			return walk.Failed, nil, &walk.Failure{Code: r.Failure.Code, Message: r.Failure.Message, Node: n.ID}
		}
		out, err := jsonvalue.Decode(r.Output)
		if err != nil && len(r.Output) > 0 {
			x.rt.Fatal(err)
		}
		return walk.Status(r.Status), out, nil
	})
	result, err := x.e.Result(context.Background(), run.ID)
	if err != nil {
		x.rt.Fatal(err)
	}
	if diff := cmp.Diff(want, outcomeOf(result), cmpopts.EquateEmpty()); diff != "" {
		x.fail(req, run, from, "the reference (-) and the fork (+) differ:\n%s", diff)
	}
}

// cancelled: nothing began, and what was open is cancelled.
func (x *prediction) cancelled(run domain.Run, from int64) {
	req := domain.VerbRequest{Run: run.ID, Action: domain.ActionCancel}
	if run.Status != domain.RunCancelled {
		x.fail(req, run, from, "the run is %s", run.Status)
	}
	if ran := x.ran(run.ID, from, true); len(ran) > 0 {
		x.fail(req, run, from, "%v ran after the cancel", ran)
	}
	rows := x.journal(run.ID)
	for _, step := range x.pre.Dropped {
		if step.Visit > 0 && !slices.ContainsFunc(rows, func(r domain.Entry) bool {
			return r.Seq > from && r.Node == step.Node && r.Visit == step.Visit && r.Status == domain.NodeCancelled
		}) {
			x.fail(req, run, from, "%s#%d was to be cancelled and was not", step.Node, step.Visit)
		}
	}
}
