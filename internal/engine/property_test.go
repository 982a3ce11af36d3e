package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
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

// script is what every scripted node does: a small value that follows from the
// node and its input, and for some nodes now and then a failure.
func script(node, typ string, input any) (any, *walk.Failure) {
	raw, err := jsonvalue.Encode(input)
	if err != nil {
		return nil, &walk.Failure{Code: "input", Message: err.Error()}
	}
	h := fnv.New32a()
	h.Write([]byte(node))
	h.Write(raw)
	n := h.Sum32()
	if typ == "flaky" && n%3 == 0 {
		f := flakyFailure
		return nil, &f
	}
	return map[string]any{"n": json.Number(fmt.Sprint(n % 5))}, nil
}

var flakyFailure = walk.Failure{Code: "flaky", Message: "this input does not work", Permanent: true, NoEffect: true}

var scripted = map[string]walk.Effect{"calc": walk.EffectPure, "call": walk.EffectIdempotent, "look": walk.EffectRead,
	"charge": walk.EffectUnsafe, "flaky": walk.EffectIdempotent}

func scriptedRegistry() *enginetest.Registry {
	r := enginetest.NewRegistry()
	for typ, effect := range scripted {
		h := func(_ context.Context, c *engine.Call) (engine.Result, error) {
			out, f := script(c.Node.ID, typ, c.Input)
			if f != nil {
				return engine.Result{}, f
			}
			return engine.Result{Output: out}, nil
		}
		r.Handle(typ, effect, h).Tool(toolPrefix+typ, effect, h)
	}
	return r
}

// toolPrefix begins the names of the scripted types as tools, for steps.
const toolPrefix = "do_"

// kindOf is the scripted type of a node or step.
func kindOf(n *walk.ProgramNode) string {
	if n.Type == walk.TypeTool {
		return strings.TrimPrefix(n.Tool, toolPrefix)
	}
	return n.TypeName
}

// allPlans draws a graph or a step plan.
func allPlans(t *rapid.T) string {
	if rapid.IntRange(0, 3).Draw(t, "kind") > 0 {
		return plans(t)
	}
	return stepPlan(t)
}

// ask makes a node one that asks a person. The question says what the answer is.
func ask(t *rapid.T, node map[string]any) string {
	node["type"], node["input"] = "approval", map[string]any{"message": rapid.SampledFrom([]string{"approve", "approve", "reject"}).Draw(t, "answer")}
	if on := rapid.SampledFrom([]string{"", "continue"}).Draw(t, "on_reject"); on != "" {
		node["on_reject"] = on
	}
	return "approval"
}

// scriptedAnswer is what the answer to a question comes to.
func scriptedAnswer(n *walk.ProgramNode, input any) (any, *walk.Failure) {
	m, _ := input.(map[string]any)
	out, f := n.Answered(answerOf(m["message"]), m["message"] == "approve", enginetest.Operator.Name, "", nil)
	if f != nil {
		return nil, f
	}
	return out, nil
}

// answerAll answers every open request of a run as its question says.
func answerAll(ctx context.Context, e *enginetest.Engine, run string) error {
	list, err := e.Store.Approvals(ctx, domain.ApprovalFilter{Run: run, Status: "open"})
	if err != nil {
		return err
	}
	for _, p := range list.Items {
		_, err := e.Decide(ctx, enginetest.Operator, domain.DecideRequest{Approval: p.ID, Approve: p.Message == "approve", Digest: p.Digest})
		if err != nil && domain.CodeOf(err) != domain.CodeConflict { // the answer before may have ended the run
			return err
		}
	}
	return nil
}

// settleAnswering waits until a run is over or waits for something but an answer.
func settleAnswering(rt *rapid.T, e *enginetest.Engine, run string) domain.Run {
	r := e.Settle(run)
	for r.WaitReason == domain.WaitApproval {
		if err := answerAll(context.Background(), e, run); err != nil {
			rt.Fatal(err)
		}
		r = e.Settle(run)
	}
	return r
}

// stepPlan draws steps in order, or with dependencies and conditions.
func stepPlan(t *rapid.T) string {
	var steps []any
	inOrder := rapid.Bool().Draw(t, "in order")
	for i := range rapid.IntRange(1, 6).Draw(t, "steps") {
		s := map[string]any{"id": fmt.Sprintf("n%d", i), "order": i + 1,
			"tool": toolPrefix + rapid.SampledFrom([]string{"calc", "call", "look", "charge", "flaky"}).Draw(t, "tool")}
		if rapid.IntRange(0, 7).Draw(t, "asks") == 0 {
			s["tool"] = ask(t, s)
			s["params"] = s["input"]
			delete(s, "type")
			delete(s, "input")
		}
		if on := rapid.SampledFrom([]string{"", "continue", "skip"}).Draw(t, "on_error"); on != "" {
			s["on_error"] = on
		}
		var of []any
		for j := range i {
			if !inOrder && rapid.IntRange(0, 2).Draw(t, "dependency") == 0 {
				of = append(of, fmt.Sprintf("n%d", j))
			}
		}
		if of != nil {
			s["dependencies"] = of
		}
		if of != nil || inOrder && i > 0 {
			if c := rapid.SampledFrom([]string{"", "", "failure", "always"}).Draw(t, "condition"); c != "" {
				s["condition"] = map[string]any{"type": c}
			}
		}
		steps = append(steps, s)
	}
	b, err := json.Marshal(map[string]any{"steps": steps})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// plans draws a random plan: a graph walked by tokens, with branches and
// bounded loops, or one of needs, with joins, foreach and failures.
func plans(t *rapid.T) string {
	n := rapid.IntRange(1, 8).Draw(t, "nodes")
	types := []string{"set", "calc", "call", "look", "charge", "flaky", "noop", "decision"}
	nodes, edges := map[string]any{}, []any{}
	id := func(i int) string { return fmt.Sprintf("n%d", i) }
	byNeeds := rapid.Bool().Draw(t, "needs")
	for i := range n {
		typ := rapid.SampledFrom(types).Draw(t, "type")
		node := map[string]any{"type": typ}
		if rapid.IntRange(0, 7).Draw(t, "asks") == 0 {
			typ = ask(t, node)
		}
		if typ == "set" || typ == "call" && rapid.Bool().Draw(t, "input") {
			node["input"] = map[string]any{"from": id(i), "x": "${input.x}"}
		}
		if typ == "flaky" {
			if on := rapid.SampledFrom([]string{"", "continue", "skip"}).Draw(t, "on_error"); on != "" {
				node["on_error"] = on
			}
		}
		if byNeeds {
			var needs []any
			for j := range i {
				if rapid.IntRange(0, 2).Draw(t, "need") == 0 {
					needs = append(needs, id(j))
				}
			}
			if len(needs) > 0 {
				node["needs"] = needs
				if when := rapid.SampledFrom([]string{"", "", "always", "failure"}).Draw(t, "when"); when != "" {
					node["when"] = when
				}
			}
			if (typ == "call" || typ == "calc" || typ == "flaky") && rapid.IntRange(0, 2).Draw(t, "fan") == 0 {
				node["foreach"], node["input"] = "${input.list}", map[string]any{"item": "${item}"}
				node["max_parallel"] = rapid.IntRange(1, 3).Draw(t, "parallel")
			}
		} else {
			if i+1 < n {
				if rapid.Bool().Draw(t, "branch") {
					to := rapid.IntRange(i+1, n-1).Draw(t, "to")
					value := rapid.IntRange(0, 4).Draw(t, "value")
					edges = append(edges, map[string]any{"from": id(i), "to": id(to), "condition": fmt.Sprintf("last.n==%d", value)})
				}
				if typ == "flaky" && rapid.Bool().Draw(t, "error edge") {
					edges = append(edges, map[string]any{"from": id(i), "to": id(n - 1), "condition": "failed"})
				}
				edges = append(edges, map[string]any{"from": id(i), "to": id(i + 1)})
			} else if i > 0 && rapid.Bool().Draw(t, "loop") {
				back := rapid.IntRange(0, i-1).Draw(t, "back")
				edges = append(edges, map[string]any{"from": id(i), "to": id(back), "condition": "last.n!=1"})
			}
			node["max_visits"] = 6
		}
		nodes[id(i)] = node
	}
	doc := map[string]any{"nodes": nodes}
	if !byNeeds {
		doc["edges"], doc["start"] = edges, "n0"
	}
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// facts of a run that must not depend on how it was executed.
type outcome struct {
	Status  domain.RunStatus
	Output  string
	Path    []string
	Outputs map[string]string
	Failed  []string // steps whose latest visit failed under on_error: continue
}

// comparable leaves out what the executor's state does not hold: where failures that
// were handled stand in the path, and outputs before a failure that an edge handled.
func (o outcome) comparable(doc *planner.Document, typ string) outcome {
	c := o
	c.Outputs = maps.Clone(o.Outputs)
	c.Path = slices.Clone(o.Path)
	for id, n := range doc.Graph.Nodes {
		if n.Type == typ {
			c.Path = slices.DeleteFunc(c.Path, func(p string) bool { return p == id })
			if handedOn(doc, id) || n.OnError == "skip" {
				delete(c.Outputs, id)
			}
		}
	}
	if len(c.Path) == 0 {
		c.Path = nil
	}
	return c
}

// handedOn reports whether an edge handles the failure of a node.
func handedOn(doc *planner.Document, id string) bool {
	return slices.ContainsFunc(doc.Graph.Edges, func(e planner.Edge) bool { return e.From == id && e.Condition == "failed" })
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

// TestEveryWayAgrees runs random plans straight, cut at every checkpoint and
// taken up by a new engine, and in memory: same path, same outputs, and nothing
// whose completion was durable runs again. At every checkpoint the live state
// equals the fold of the journal.
func TestEveryWayAgrees(t *testing.T) {
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
			judged = want // what else still ran depends on when the failure came
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

// inMemory runs the plan by the library's executor.
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
		return map[string]any{"answer": answerOf(m["message"]), "approved": m["message"] == "approve", "by": enginetest.Operator.Name, "comment": "", "values": nil}, nil
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
	for id, n := range doc.Graph.Nodes {
		if n.Foreach != "" { // one event per item, one visit
			path = slices.DeleteFunc(path, func(p string) bool { return p == id })
			if outputs[id] != "" {
				path = append(path, id)
			}
		}
		if n.Foreach != "" || n.OnError != "continue" || handedOn(doc, id) {
			delete(failed, id)
		}
	}
	slices.Sort(path)
	o := outcome{Status: domain.RunCompleted, Output: string(raw), Outputs: outputs, Path: path, Failed: slices.Sorted(maps.Values(failed))}
	return o.comparable(doc, "flaky"), true
}

// byReference runs the plan by the reference interpreter, which shares nothing
// with the walk.
func byReference(rt *rapid.T, doc *planner.Document) outcome {
	p, err := doc.Program(scriptedRegistry().Catalog())
	if err != nil {
		rt.Fatal(err)
	}
	return referenceOutcome(rt, p, domain.RawJSON(propertyInput), func(k walk.VisitKey, _ int, input any) (walk.Status, any, *walk.Failure) {
		if n := &p.Nodes[k.Node]; n.Type == walk.TypeApproval {
			out, f := scriptedAnswer(n, input)
			return "", out, f
		}
		out, f := script(p.Nodes[k.Node].ID, kindOf(&p.Nodes[k.Node]), input)
		return "", out, f
	})
}

// referenceOutcome runs a program by the reference interpreter. does says what
// becomes of a visit or item that is given an input; an empty status leaves it to
// the failure and, for nodes that only pass on what they get, to them.
func referenceOutcome(rt *rapid.T, p *walk.Program, rawInput domain.RawJSON, does func(k walk.VisitKey, item int, input any) (walk.Status, any, *walk.Failure)) outcome {
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
		// A path goes through failures that an edge took on from.
		if status, _ := r.Status(k.Node); status == walk.Completed || d.Handled == "edge" || d.Handled == "continue" {
			o.Path = append(o.Path, n.ID)
		}
		if out, ok := r.Output(k.Node); ok { // a result shows the latest visit that completed
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
	p, err := e.Program(ctx, hash)
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

// cutAndResume runs the version with a store that dies after n checkpoints, and
// continues with a new engine; false: the run needed no more than n.
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
		// The scripted node did have its effect, if it was called at all: running
		// it again gives what it gave.
		d, err := e.Detail(context.Background(), run.ID)
		if err != nil {
			rt.Fatal(err)
		}
		w := d.Waits[0]
		if _, err := e.Resolve(context.Background(), enginetest.Operator, domain.ResolveRequest{Run: run.ID, Node: w.Node, Visit: w.Visit, Item: w.Item, Action: "retry"}); err != nil {
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
			rt.Fatalf("%s\ncut after %d checkpoints: %s visit %d item %d ran again though its completion was durable\n%s", src, n, c.Node, c.Visit, c.Item, e.Journal(run.ID))
		}
	}
	select {
	case <-cut.Dead():
		return true
	default:
		return false
	}
}

// answerOf is the id of the answer that a question with such a message gets.
func answerOf(message any) string {
	if message == "approve" {
		return "approve"
	}
	return "reject"
}
