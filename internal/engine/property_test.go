package engine_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/plannertest"
	"github.com/kairosd/kairosd/planner/walk"
)

// outcome contains the facts of a run that must not depend on how it was executed.
type outcome struct {
	Status  domain.RunStatus
	Output  string
	Path    []string
	Outputs map[string]string
	Failed  []string // steps whose latest visit failed under on_error: continue
}

// comparable removes the facts that the executor's state does not contain: the positions of handled
// failures in the path, and outputs before a failure that an edge handled.
func (o outcome) comparable(doc *planner.Document, typ string) outcome {
	c := o
	c.Outputs = maps.Clone(o.Outputs)
	c.Path = slices.Clone(o.Path)
	for id, n := range allNodes(doc) {
		if n.Type == typ {
			c.Path = slices.DeleteFunc(c.Path, func(p string) bool { return p == id })
			if on := afterFlaky(doc, id); on == "edge" || on == walk.OnErrorSkip {
				delete(c.Outputs, id)
			}
		}
	}
	if len(c.Path) == 0 {
		c.Path = nil
	}
	return c
}

// allNodes returns the nodes of a graph, including its finally steps.
func allNodes(doc *planner.Document) map[string]planner.Node {
	all := maps.Clone(doc.Graph.Nodes)
	maps.Copy(all, doc.Graph.Finally)
	return all
}

// afterFlaky returns what handles the failure of a flaky node: "edge", or its on_error.
func afterFlaky(doc *planner.Document, id string) walk.OnError {
	p, err := doc.Program(scriptedRegistry().Catalog())
	if err != nil {
		panic(err) // the plan compiled before
	}
	edge, on := p.Nodes[p.Index[id]].AfterFailure(&flakyFailure)
	if edge >= 0 {
		return "edge"
	}
	return on
}

func outcomeOf(r domain.Result) outcome {
	o := outcome{Status: r.Status, Output: string(r.Output), Outputs: map[string]string{}}
	o.Path = slices.Clone(r.Path)
	slices.Sort(o.Path) // parallel nodes complete in any order
	for k, v := range r.Outputs {
		o.Outputs[k] = string(v)
	}
	for _, f := range r.FailedSteps {
		o.Failed = append(o.Failed, f.Node+" "+f.Code)
	}
	slices.Sort(o.Failed)
	return o
}

const propertyInput = `{"x": 3, "list": [1, 2, 3]}`

// Random plans run without interruption, with a restart at every checkpoint, and in memory. All take
// the same path and have the same outputs. Nothing with a durable result runs again. At every
// checkpoint, the live state equals the fold of the journal.
func TestAllPathsToAStateAgree(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	count := 0
	defer func() { proof.Figure(t, "random plans", count) }()
	rapid.Check(t, func(rt *rapid.T) {
		src := allPlans(rt)
		doc, problems := planner.Parse([]byte(src), planner.WithFormat(planner.FormatJSON))
		if doc == nil || problems.Err() != nil {
			rt.Skip("not a plan")
		}
		reg := scriptedRegistry()
		digests := map[int64]string{}
		var mu sync.Mutex
		straight := enginetest.OpenOn(t, s, reg, engine.Options{})
		straight.OnFlush(func(_ string, seq int64, digest string) {
			mu.Lock()
			defer mu.Unlock()
			digests[seq] = digest
		})
		v, err := save(straight, src)
		if err != nil {
			straight.Close()
			rt.Skip("not a plan for this installation")
		}
		count++
		run := straight.Begin(v, propertyInput)
		settleAnswering(rt, straight, run.ID)
		result, err := straight.Result(context.Background(), run.ID)
		if err != nil {
			rt.Fatal(err)
		}
		want := outcomeOf(result)
		checkFold(rt, straight, run.ID, v.Hash, digests)
		straight.Close()
		if doc.Graph == nil { // the library's executor takes graphs
		} else if memory, ok := inMemory(rt, doc); ok && want.Status == domain.RunCompleted {
			if diff := cmp.Diff(memory, want.comparable(doc, "flaky")); diff != "" {
				rt.Fatalf("%s\nin memory (-) and durable (+) differ:\n%s\n%s", src, diff, straight.Journal(run.ID))
			}
		} else if ok != (want.Status == domain.RunCompleted) {
			rt.Fatalf("%s\nin memory it completes: %v; durable: %s", src, ok, want.Status)
		}
		judged := byReference(rt, doc)
		if judged.Status != domain.RunCompleted && judged.Status == want.Status {
			judged = want // which other steps still ran depends on the time of the failure
		}
		if diff := cmp.Diff(judged, want, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("%s\nthe reference (-) and the durable run (+) differ:\n%s\n%s", src, diff, straight.Journal(run.ID))
		}
		for cut := 0; ; cut++ {
			if !cutAndResume(t, rt, s, v, cut, want, src) {
				break
			}
		}
	})
}

func save(e *enginetest.Engine, src string) (domain.Version, error) {
	_, v, _, _, err := e.SavePlan(context.Background(), enginetest.Operator, []byte(src), planner.FormatJSON, "upload", "")
	return v, err
}

// inMemory runs the plan with the library's executor.
func inMemory(rt *rapid.T, doc *planner.Document) (outcome, bool) {
	var path []string
	outputs := map[string]string{}
	handlers := map[string]planner.Handler{}
	for typ := range scripted {
		handlers[typ] = func(_ context.Context, n planner.Node, _ *planner.State) (any, error) {
			out, f := script(n.ID, typ, n.Input)
			if f != nil {
				return nil, f
			}
			return out, nil
		}
	}
	handlers["approval"] = func(_ context.Context, n planner.Node, _ *planner.State) (any, error) {
		m, _ := n.Input.(map[string]any)
		return map[string]any{
			"answer":   answerOf(m["message"]),
			"approved": m["message"] == "approve",
			"by":       enginetest.Operator.Name,
			"comment":  "",
			"values":   nil,
		}, nil
	}
	x := planner.NewExecutor(handlers)
	failed := map[string]string{}
	x.AuditHook = func(_ context.Context, ev planner.AuditEvent) {
		if delete(failed, ev.NodeID); ev.Status == planner.AuditFailed && ev.Error == flakyFailure.Error() {
			failed[ev.NodeID] = ev.NodeID + " " + flakyFailure.Code
		}
		if ev.Status == planner.AuditCompleted {
			path = append(path, ev.NodeID)
		}
	}
	state := planner.NewState()
	input, err := jsonvalue.Decode([]byte(propertyInput))
	if err != nil {
		rt.Fatal(err)
	}
	state.Outputs["input"] = input
	state, err = x.Execute(context.Background(), doc.Graph, state)
	if err != nil {
		return outcome{}, false
	}
	for id, value := range state.Outputs {
		if id == "input" || id == "memory" {
			continue
		}
		raw, err := jsonvalue.Encode(value)
		if err != nil {
			rt.Fatal(err)
		}
		outputs[id] = string(raw)
	}
	raw, err := jsonvalue.Encode(state.Last)
	if err != nil {
		rt.Fatal(err)
	}
	slices.Sort(path)
	for id, n := range allNodes(doc) {
		if n.Foreach != nil { // there is one event per item, but one visit
			path = slices.DeleteFunc(path, func(p string) bool { return p == id })
			if outputs[id] != "" {
				path = append(path, id)
			}
		}
		if n.Foreach != nil || afterFlaky(doc, id) != walk.OnErrorContinue {
			delete(failed, id)
		}
	}
	slices.Sort(path)
	o := outcome{Status: domain.RunCompleted, Output: string(raw), Outputs: outputs, Path: path, Failed: slices.Sorted(maps.Values(failed))}
	return o.comparable(doc, "flaky"), true
}

// byReference runs the plan with the reference interpreter, which shares no code with the walk.
func byReference(rt *rapid.T, doc *planner.Document) outcome {
	p, err := doc.Program(scriptedRegistry().Catalog())
	if err != nil {
		rt.Fatal(err)
	}
	return referenceOutcome(
		rt,
		p,
		domain.RawJSON(propertyInput),
		func(k walk.VisitKey, _ int, input any) (walk.Status, any, *walk.Failure) {
			if n := &p.Nodes[k.Node]; n.Type == walk.TypeApproval {
				out, f := scriptedAnswer(n, input)
				return "", out, f
			}
			out, f := script(p.Nodes[k.Node].ID, kindOf(&p.Nodes[k.Node]), input)
			return "", out, f
		},
	)
}

// referenceOutcome runs a program with the reference interpreter. does returns the result of a
// visit or item with an input. If its status is empty, the failure determines the result. Nodes
// that only pass on their input need no result.
func referenceOutcome(
	rt *rapid.T,
	p *walk.Program,
	rawInput domain.RawJSON,
	does func(k walk.VisitKey, item int, input any) (walk.Status, any, *walk.Failure),
) outcome {
	input, err := jsonvalue.Decode(rawInput)
	if err != nil {
		rt.Fatal(err)
	}
	text := func(v any) string {
		raw, err := jsonvalue.Encode(v)
		if err != nil {
			rt.Fatal(err)
		}
		return string(raw)
	}
	r := plannertest.New(p, walk.Facts{Input: input})
	o := outcome{Outputs: map[string]string{}}
	for open := r.Open(); len(open) > 0; open = r.Open() {
		k := open[0]
		n := &p.Nodes[k.Node]
		var d walk.Decision
		settle := func(item int) {
			s := walk.Settlement{VisitKey: k, Item: item, Status: walk.Completed}
			given, failure := r.Input(k, item)
			status, out, f := does(k, item, given)
			switch {
			case status != "":
				s.Status, s.Output, s.Failure = status, out, f
			case n.Type == walk.TypeNoop, n.Type == walk.TypeDecision:
				s.Output = r.Last(k)
			case failure != nil:
				s.Failure = failure
			case n.Type == walk.TypeSet:
				s.Output = given
			default:
				s.Output, s.Failure = out, f
			}
			if s.Failure != nil {
				s.Status, s.Output = walk.Failed, nil
			}
			var err error
			if d, err = r.Settle(s); err != nil {
				rt.Fatal(err)
			}
		}
		items := 0
		if whole, _, _ := does(k, -1, nil); n.Foreach == nil || whole != "" {
			settle(-1)
		} else {
			var failure *walk.Failure
			if items, failure = r.Items(k); failure != nil {
				rt.Fatal(failure) // every plan of this test has a list
			}
		}
		if n.Foreach != nil && items == 0 && d.Visit == "" && slices.Contains(r.Open(), k) {
			if d, err = r.Settle(walk.Settlement{VisitKey: k, Item: -1, Status: walk.Completed, Output: []any{}}); err != nil {
				rt.Fatal(err)
			}
		}
		for n.Foreach != nil && items > 0 && d.Visit == "" {
			settle(r.NextItem(k))
		}
		// A path continues through failures that an edge handled.
		if status, _ := r.Status(k.Node); status == walk.Completed || d.Handled == "edge" || d.Handled == "continue" {
			o.Path = append(o.Path, n.ID)
		}
		if out, ok := r.Output(k.Node); ok { // a result shows the latest completed visit
			o.Outputs[n.ID] = text(out)
		}
	}
	slices.Sort(o.Path)
	for i := range p.Nodes {
		if f := r.Continued(i); f != nil {
			o.Failed = append(o.Failed, p.Nodes[i].ID+" "+f.Code)
		}
	}
	slices.Sort(o.Failed)
	end := r.Outcome()
	o.Status, o.Output = domain.RunStatus(end.Status), text(end.Output)
	return o
}

func checkFold(rt *rapid.T, e *enginetest.Engine, run, hash string, digests map[int64]string) {
	ctx := context.Background()
	r, err := e.Store.Run(ctx, run)
	if err != nil {
		rt.Fatal(err)
	}
	journal, err := e.Store.Journal(ctx, run, 0)
	if err != nil {
		rt.Fatal(err)
	}
	p, err := e.Program(ctx, domain.AsWritten(hash))
	if err != nil {
		rt.Fatal(err)
	}
	for _, seq := range slices.Sorted(maps.Keys(digests)) {
		folded, err := e.FoldDigest(p, r, journal[:seq])
		if err != nil {
			rt.Fatalf("fold to %d: %v\n%s", seq, err, e.Journal(run))
		}
		if diff := cmp.Diff(digests[seq], folded); diff != "" {
			rt.Fatalf("live (-) and folded (+) state differ at %d:\n%s\n%s", seq, diff, e.Journal(run))
		}
	}
}

// cutAndResume runs the version with a store that fails after n checkpoints, and continues with a
// new engine. It returns false if the run needed at most n checkpoints.
func cutAndResume(t *testing.T, rt *rapid.T, s *store.Store, v domain.Version, n int, want outcome, src string) bool {
	reg := scriptedRegistry()
	cut := enginetest.NewCut(s, n)
	e := enginetest.OpenWith(t, s, cut, reg, engine.Options{})
	run := e.Begin(v, propertyInput)
	ctx, done := context.WithCancel(context.Background())
	whole := make(chan struct{})
	go func() {
		defer close(whole)
		for {
			r, err := e.WaitFor(ctx, run.ID, func(r domain.Run) bool { return r.Status.Final() || r.WaitReason == domain.WaitApproval })
			if err == nil && !r.Status.Final() {
				err = answerAll(ctx, e, run.ID)
			}
			if err != nil {
				<-ctx.Done()
				return
			}
			if r.Status.Final() {
				return
			}
		}
	}()
	select {
	case <-cut.Dead():
	case <-whole:
	}
	done()
	<-whole
	e.Close()
	journal, err := s.Journal(context.Background(), run.ID, 0)
	if err != nil {
		rt.Fatal(err)
	}
	durable := map[enginetest.Call]bool{}
	for _, row := range journal {
		if row.Final {
			durable[enginetest.Call{Node: row.Node, Visit: row.Visit, Item: row.Item}] = true
		}
	}
	before := len(reg.Calls())
	e = enginetest.OpenOn(t, s, reg, engine.Options{})
	defer e.Close()
	r := settleAnswering(rt, e, run.ID)
	for r.Status == domain.RunWaiting && r.WaitReason == domain.WaitInDoubt {
		// If the scripted node was called, it had its effect. Running it again returns the same
		// value.
		d, err := e.Detail(context.Background(), run.ID)
		if err != nil {
			rt.Fatal(err)
		}
		w := d.Waits[0]
		if _, err := e.Resolve(context.Background(), enginetest.Operator, domain.ResolveRequest{Run: run.ID, Node: w.Node,
			Visit: w.Visit, Item: w.Item, Action: "retry"}); err != nil {
			rt.Fatal(err)
		}
		r = settleAnswering(rt, e, run.ID)
	}
	result, err := e.Result(context.Background(), run.ID)
	if err != nil {
		rt.Fatal(err)
	}
	if got := outcomeOf(result); want.Status == domain.RunCompleted || got.Status == domain.RunCompleted {
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("%s\ncut after %d checkpoints, straight (-) and resumed (+) differ:\n%s\n%s", src, n, diff, e.Journal(run.ID))
		}
	} else if got.Status != want.Status {
		rt.Fatalf("%s\ncut after %d checkpoints: got %s, want %s\n%s", src, n, got.Status, want.Status, e.Journal(run.ID))
	}
	for _, c := range reg.Calls()[before:] {
		if durable[enginetest.Call{Node: c.Node, Visit: c.Visit, Item: c.Item}] {
			rt.Fatalf(
				"%s\ncut after %d checkpoints: %s visit %d item %d ran again though its completion was durable\n%s",
				src,
				n,
				c.Node,
				c.Visit,
				c.Item,
				e.Journal(run.ID),
			)
		}
	}
	select {
	case <-cut.Dead():
		return true
	default:
		return false
	}
}
