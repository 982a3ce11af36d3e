package walk_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/plannertest"
	"github.com/kairosd/kairosd/planner/walk"
	"pgregory.net/rapid"
)

// row is a record of a walk, as a journal keeps it.
type row struct {
	settled  walk.Settlement
	decision walk.Decision
	reset    *walk.Reset
	timeout  bool
}

// pair runs a walk and the reference side by side.
type pair struct {
	t       *rapid.T
	p       *walk.Program
	facts   walk.Facts
	chances plannertest.Outcomes
	walk    *walk.Walk
	ref     *plannertest.Reference
	running map[walk.VisitKey][]int // started items
	times   map[string]int
	rows    []row
}

func newPair(t *rapid.T, p *walk.Program, chances plannertest.Outcomes) *pair {
	f := walk.Facts{RunID: "run", Input: plannertest.Input()}
	if p.Each {
		f.Input = plannertest.BlockInput()
	}
	return &pair{t: t, p: p, facts: f, chances: chances, walk: walk.New(p, f), ref: plannertest.New(p, f),
		running: map[walk.VisitKey][]int{}, times: map[string]int{}}
}

// program generates a valid plan.
func program(t *rapid.T) (*walk.Program, string) { return programOf(t, plannertest.Plans()) }

func programOf(t *rapid.T, plans *rapid.Generator[string]) (*walk.Program, string) {
	src := plans.Draw(t, "plan")
	d, problems := planner.Parse([]byte(src), planner.WithFormat(planner.FormatJSON))
	if d == nil {
		t.Skip(problems)
	}
	p, err := d.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	return p, src
}

// work is a visit or an item that may settle.
type work struct {
	k    walk.VisitKey
	item int
	end  *walk.Settlement // set for a foreach with nothing to run
}

// ready lists the work that may settle. It starts items as far as they may start.
func (x *pair) ready() []work {
	var list []work
	open := x.ref.Open()
	got := x.walk.Open()
	slices.SortFunc(got, func(a, b walk.VisitKey) int { return a.Node - b.Node })
	x.same("open visits", open, got)
	for _, k := range open {
		x.same("last", x.ref.Last(k), x.walk.Last(k))
		n := &x.p.Nodes[k.Node]
		if n.Foreach == nil {
			x.sameInput(k, -1)
			list = append(list, work{k: k, item: -1})
			continue
		}
		count, failure := x.ref.Items(k)
		gotCount, gotFailure := x.walk.Items(k)
		x.same("items", count, gotCount)
		x.same("failure of items", codeOf(failure), codeOf(gotFailure))
		switch {
		case failure != nil:
			list = append(list, work{k, -1, &walk.Settlement{VisitKey: k, Item: -1, Status: walk.Failed, Failure: gotFailure}})
			continue
		case count == 0:
			list = append(list, work{k, -1, &walk.Settlement{VisitKey: k, Item: -1, Status: walk.Completed, Output: []any{}}})
			continue
		}
		for len(x.running[k]) < n.MaxParallel {
			i, got := x.ref.NextItem(k), x.walk.NextItem(k)
			x.same("next item", i, got)
			if i < 0 {
				break
			}
			x.sameInput(k, i)
			x.running[k] = append(x.running[k], i)
		}
		for _, i := range x.running[k] {
			list = append(list, work{k: k, item: i})
		}
	}
	return list
}

func (x *pair) sameInput(k walk.VisitKey, item int) {
	want, wantFailure := x.ref.Input(k, item)
	got, gotFailure := x.walk.Input(k, item)
	x.same("input", want, got)
	x.same("failure of input", codeOf(wantFailure), codeOf(gotFailure))
}

func codeOf(f *walk.Failure) string {
	if f == nil {
		return ""
	}
	return f.Code + " at " + f.Node
}

// settle settles a piece of work in both and compares the decisions.
func (x *pair) settle(w work) {
	key := fmt.Sprint(w.k, w.item)
	s := x.chances.Of(x.p, w.k, w.item, x.times[key])
	x.times[key]++
	if w.end != nil {
		s = *w.end
	}
	x.running[w.k] = slices.DeleteFunc(x.running[w.k], func(i int) bool { return i == w.item })
	want, err := x.ref.Settle(copied(s))
	if err != nil {
		x.t.Fatal(err)
	}
	clone := x.walk.Clone() // the walk must continue as if its clone had not changed
	if _, err := x.walk.Settle(copied(s)); err != nil {
		x.t.Fatal(err)
	}
	x.walk = clone
	got, err := x.walk.Settle(copied(s))
	if err != nil {
		x.t.Fatal(err)
	}
	x.same("decision of "+x.p.Nodes[w.k.Node].ID, decided(want), decided(got))
	x.rows = append(x.rows, row{settled: copied(s), decision: got})
	x.sameStatus()
}

func (x *pair) sameStatus() {
	for i := range x.p.Nodes {
		want, visits := x.ref.Status(i)
		got, gotVisits := x.walk.Status(i)
		if n := &x.p.Nodes[i]; len(n.Dependents) == 0 && (visits == 0 || n.Finally) && got == "" {
			continue // skipping it changes nothing
		}
		x.same("status of "+x.p.Nodes[i].ID, fmt.Sprint(want, visits), fmt.Sprint(got, gotVisits))
	}
}

// copied copies a settlement, because a walk may set the node of its failure.
func copied(s walk.Settlement) walk.Settlement {
	if s.Failure != nil {
		f := *s.Failure
		s.Failure = &f
	}
	return s
}

// decided returns a decision without the texts that explain it.
func decided(d walk.Decision) string {
	d.Settled = slices.Clone(d.Settled)
	for i := range d.Settled {
		d.Settled[i].Reason, d.Settled[i].Need = "", ""
	}
	slices.SortFunc(d.Settled, func(a, b walk.Consequence) int { return strings.Compare(a.Node, b.Node) })
	if d.Failure != nil {
		d.Failure = &walk.Failure{Code: d.Failure.Code, Node: d.Failure.Node}
	}
	b, _ := json.Marshal(d)
	return string(b)
}

func (x *pair) same(what string, want, got any) {
	x.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		x.t.Fatalf("%s: reference (-) and walk (+) differ after\n%s:\n%s", what, x.story(), diff)
	}
}

func (x *pair) sameOutcome() walk.Outcome {
	x.t.Helper()
	want, got := x.ref.Outcome(), x.walk.Outcome()
	x.same("failure", codeOf(want.Failure), codeOf(got.Failure))
	x.same("outcome", fmt.Sprint(want.Done, want.Status), fmt.Sprint(got.Done, got.Status))
	x.same("output", want.Output, got.Output)
	return got
}

func (x *pair) story() string {
	var b strings.Builder
	for _, r := range x.rows {
		if r.timeout {
			b.WriteString("  timeout\n")
			continue
		}
		if r.reset != nil {
			j, _ := json.Marshal(r.reset)
			fmt.Fprintf(&b, "  reset %s\n", j)
			continue
		}
		j, _ := json.Marshal(r.decision)
		fmt.Fprintf(
			&b,
			"  %s#%d[%d] %s %v: %s\n",
			x.p.Nodes[r.settled.Node].ID,
			r.settled.Visit,
			r.settled.Item,
			r.settled.Status,
			r.settled.Output,
			j,
		)
	}
	return b.String()
}

// refold replaces the walk with a replay of the record. lost means that the start of running items
// was not recorded.
func (x *pair) refold(lost bool) {
	w := walk.New(x.p, x.facts)
	for _, r := range x.rows {
		b, err := json.Marshal(r.decision)
		if err != nil {
			x.t.Fatal(err)
		}
		var d walk.Decision
		if err := json.Unmarshal(b, &d); err != nil {
			x.t.Fatal(err)
		}
		switch {
		case r.timeout:
			walk.TimeOut(w)
		case r.reset != nil:
			err = w.ReplayReset(*r.reset)
		default:
			err = w.Replay(copied(r.settled), d)
		}
		if err != nil {
			x.t.Fatalf("replay: %v, after\n%s", err, x.story())
		}
	}
	if lost {
		x.ref.Interrupt()
		x.running = map[walk.VisitKey][]int{}
	}
	for k, items := range x.running {
		for _, i := range items {
			w.StartItem(k, i)
		}
	}
	x.walk = w
}

// run continues to the end in a random order, with random replays.
func (x *pair) run(pick func(n int) int, refold func() (replay, lost bool)) walk.Outcome {
	for {
		list := x.ready()
		if len(list) == 0 {
			return x.sameOutcome()
		}
		x.settle(list[pick(len(list))])
		if replay, lost := refold(); replay {
			x.refold(lost)
		}
	}
}

// The walk decides what the reference decides: for any order of arrival, after a replay of any
// prefix, and after every resume.
func TestWalkAgreesWithTheReference(t *testing.T) {
	t.Parallel()
	agrees(t, plannertest.Plans())
}

// It also does so for races.
func TestRacesAgreeWithTheReference(t *testing.T) {
	t.Parallel()
	agrees(t, plannertest.Races())
}

// It also does so for the block of a step that runs for each item of a list.
func TestBlocksAgreeWithTheReference(t *testing.T) {
	t.Parallel()
	agrees(t, plannertest.Blocks())
}

func agrees(t *testing.T, plans *rapid.Generator[string]) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		p, src := programOf(rt, plans)
		rt.Log(src)
		x := newPair(rt, p, plannertest.DrawOutcomes().Draw(rt, "outcomes"))
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "next") }
		refold := func() (bool, bool) {
			if rapid.IntRange(0, 15).Draw(rt, "times out") == 0 {
				x.timeOut()
			}
			n := rapid.IntRange(0, 7).Draw(rt, "replay")
			return n > 5, n > 6
		}
		for range 3 {
			out := x.run(pick, refold)
			if out.Status == walk.Completed {
				return
			}
			if !x.reset() {
				return
			}
			if replay, lost := refold(); replay {
				x.refold(lost)
			}
		}
	})
}

// timeOut ends the time of the run in both, and cancels what is open.
func (x *pair) timeOut() {
	open := x.ref.Open()
	if len(open) == 0 || x.walk.Finishing() {
		return
	}
	x.ref.TimeOut()
	walk.TimeOut(x.walk)
	x.rows = append(x.rows, row{timeout: true})
	for _, k := range open {
		for _, i := range append(slices.Clone(x.running[k]), -1) {
			if slices.Contains(x.ref.Open(), k) {
				x.settle(work{k, i, &walk.Settlement{VisitKey: k, Item: i, Status: walk.Cancelled}})
			}
		}
		delete(x.running, k)
	}
}

// reset resumes both. It returns false if neither can be resumed.
func (x *pair) reset() bool {
	want, ok := x.ref.Reset()
	clone := x.walk.Clone() // the walk must continue as if its clone had not changed
	x.walk.Reset()
	x.walk = clone
	got, failure := x.walk.Reset()
	if !ok {
		if failure == nil || failure.Code != walk.CodeNotResumable {
			x.t.Fatalf("the walk resumes (%v) what the reference does not, after\n%s", failure, x.story())
		}
		return false
	}
	if failure != nil {
		x.t.Fatalf("the walk does not resume (%v) what the reference does, after\n%s", failure, x.story())
	}
	x.ref = want
	x.rows = append(x.rows, row{reset: &got})
	x.running = map[walk.VisitKey][]int{}
	x.sameStatus()
	return true
}

// Two walks of one plan with the same results agree on every decision, on the settled visits, and
// on the output, whatever the order of arrival.
func TestOrderOfArrivalDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p, src := program(rt)
		rt.Log(src)
		chances := plannertest.DrawOutcomes().Draw(rt, "outcomes")
		chances.Odd = false // the time of an operator's action is not part of the results
		never := func() (bool, bool) { return false, false }
		first := newPair(rt, p, chances)
		out := first.run(func(int) int { return 0 }, never)
		second := newPair(rt, p, chances)
		other := second.run(func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "next") }, never)
		if out.Status != other.Status {
			rt.Fatalf("one order ends %s, another %s:\n%s\n%s", out.Status, other.Status, first.story(), second.story())
		}
		if out.Status == walk.Failed && (first.walk.Stopping() || first.walk.Finishing()) {
			return // after a failure without continue_branches, or a rejection, only steps that were earlier have begun
		}
		if diff := cmp.Diff(first.sortedFacts(), second.sortedFacts()); diff != "" {
			rt.Fatalf("two orders differ (-,+):\n%s\n%s\n%s", diff, first.story(), second.story())
		}
		if diff := cmp.Diff(out.Output, other.Output); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// sortedFacts returns everything that must not depend on the order of arrival.
func (x *pair) sortedFacts() []string {
	var facts []string
	for _, r := range x.rows {
		d := r.decision
		for _, c := range d.Settled {
			c.Reason, c.Need = "", ""
			b, _ := json.Marshal(c)
			facts = append(facts, "then "+string(b))
		}
		// If several conditions fail at once, a decision has one failure. Settled holds all of
		// them.
		if d.Failure != nil && d.Failure.Code != walk.CodeCondition {
			facts = append(facts, "failure "+codeOf(d.Failure))
		}
		d.Settled, d.Failure = nil, nil
		if x.p.Nodes[r.settled.Node].Foreach != nil {
			continue // which item ended the visit depends on the order
		}
		facts = append(facts, fmt.Sprintf("%s#%d %s: %s", x.p.Nodes[r.settled.Node].ID, r.settled.Visit, r.settled.Status, decided(d)))
	}
	slices.Sort(facts)
	return facts
}
