// Package plannertest compares the walk with a second implementation. It has a slow interpreter
// that was written from the specification alone, and generators of plans, outcomes, and orders of
// arrival to compare both with.
package plannertest

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kairosd/kairosd/planner/walk"
)

// Reference walks a program in the slow and simple way. It keeps all events as a list and evaluates
// the whole plan again after each settlement. It shares with [walk.Walk] only the compiled program
// and the evaluation of conditions, templates, and references.
type Reference struct {
	p     *walk.Program
	facts walk.Facts
	input any     // as references read it
	item  any     // of a block that runs for each item of a list
	index int     // of that item, or -1
	log   []event // all events, in order

	nodes   []node
	failure *walk.Failure
	failed  bool // by an unhandled failure
	refused bool // by a rejection that no step handled
	decided bool // by a decision rather than a node
	overdue bool // it has not ended within the timeout of the plan
	last    any
	again   []node        // while a reset settles again what it keeps: the nodes before it
	end     *walk.Outcome // set when the finally steps begin
}

// event is a settlement, or the start of an item of a foreach.
type event struct {
	walk.Settlement
	start bool
}

// node is the state of one node of the plan.
type node struct {
	began   int    // number of iterations that began
	before  int    // of them, those of earlier ends of the run
	open    *visit // ready or running
	held    *visit // decided while the run was stopping; it never began
	settled bool
	// followed is the number of nodes that need it, in file order, for which its settlement counts. Nodes
	// that nothing reaches any more settle first.
	followed int
	status   walk.Status
	output   any // of the latest completed iteration
	has      bool
	failure  *walk.Failure
	// continued: the latest iteration failed under on_error: continue. Nodes that need it treat it
	// as completed.
	continued bool
	// handed: it failed and an edge handled that, or, in a plan of steps in order, it was skipped because
	// of such a step.
	handed bool
	chosen bool // of a node with needs: ready or skipped
	raced  bool // failed in a race that continued, or that another step had won
	late   bool // settled after another step had won the race
	// unhandled: the latest iteration failed and nothing handled it, or it was cancelled.
	unhandled bool
}

type visit struct {
	n     int
	last  any
	items []item
	list  []any // nil until the list of a foreach is resolved
	known bool
}

type item struct {
	started bool
	status  walk.Status
	output  any
	failure *walk.Failure
}

// New starts at the program's roots.
func New(p *walk.Program, f walk.Facts) *Reference {
	r := &Reference{p: p, facts: f, input: f.Input, index: -1, nodes: make([]node, len(p.Nodes))}
	r.takeItem()
	for i := range p.Nodes {
		if slices.Contains(p.Roots, i) && p.Nodes[i].WhenCond == nil {
			r.begin(i, r.input)
		}
	}
	d := &walk.Decision{}
	for _, i := range p.Roots {
		if p.Nodes[i].WhenCond != nil {
			r.activate(i, d)
		}
	}
	r.bury(d) // nodes that are never reached
	r.finish(d)
	return r
}

// Open lists the iterations that are ready and not settled, in file order.
func (r *Reference) Open() []walk.VisitKey {
	keys := []walk.VisitKey{}
	for i := range r.nodes {
		if v := r.nodes[i].open; v != nil {
			keys = append(keys, walk.VisitKey{Node: i, Visit: v.n})
		}
	}
	return keys
}

// Status returns how a node's latest iteration settled, and how many began.
func (r *Reference) Status(i int) (walk.Status, int) {
	n := &r.nodes[i]
	if !n.settled {
		return "", n.began
	}
	return n.status, n.began
}

// Continued returns the failure of a node's latest iteration under on_error: continue, or nil if
// there was none.
func (r *Reference) Continued(i int) *walk.Failure {
	if !r.nodes[i].continued {
		return nil
	}
	return r.nodes[i].failure
}

// Output is the output of a node's latest completed iteration.
func (r *Reference) Output(i int) (any, bool) { return r.nodes[i].output, r.nodes[i].has }

// Last is the last output at the start of an open iteration.
func (r *Reference) Last(k walk.VisitKey) any { return r.nodes[k.Node].open.last }

// Input is the input of an open iteration, or of one of its items.
func (r *Reference) Input(k walk.VisitKey, index int) (any, *walk.Failure) {
	v, n := r.nodes[k.Node].open, &r.p.Nodes[k.Node]
	s := r.env(v.last)
	if index >= 0 {
		if _, f := r.Items(k); f != nil {
			return nil, f
		}
		s.Item, s.Index = v.list[index], index
	}
	switch {
	case n.Input != nil:
		out, f := n.Input.Render(s)
		if f == nil && index >= 0 && n.Block != nil {
			out = map[string]any{"item": s.Item, "index": number(index), "input": out}
		}
		return out, at(f, n.ID)
	case index >= 0 && n.Block != nil:
		return map[string]any{"item": s.Item, "index": number(index)}, nil
	case index >= 0:
		return s.Item, nil
	}
	return v.last, nil
}

func number(n int) json.Number { return json.Number(fmt.Sprint(n)) }

// takeItem takes the item out of the input of a block that runs for each item of a list.
func (r *Reference) takeItem() {
	if !r.p.Each {
		return
	}
	m, _ := r.facts.Input.(map[string]any)
	if m["index"] == nil {
		return // a run that no step started
	}
	if _, err := fmt.Sscan(fmt.Sprint(m["index"]), &r.index); err != nil {
		panic(err) // made by Input
	}
	r.item, r.input = m["item"], m["item"]
	if in, ok := m["input"]; ok {
		r.input = in
	}
}

// Items resolves the list of an open foreach iteration and returns its length.
func (r *Reference) Items(k walk.VisitKey) (int, *walk.Failure) {
	v, n := r.nodes[k.Node].open, &r.p.Nodes[k.Node]
	if !v.known {
		list, f := n.Foreach.Resolve(r.env(v.last))
		if f != nil {
			return 0, at(f, n.ID)
		}
		v.list, v.items, v.known = list, make([]item, len(list)), true
	}
	return len(v.list), nil
}

// NextItem starts the next item in index order, or returns -1 if none may start. After a failure,
// no new item starts. Items that a crash interrupted run again, because an open iteration must have
// something that runs.
func (r *Reference) NextItem(k walk.VisitKey) int {
	v := r.nodes[k.Node].open
	next, over, running := -1, false, false
	for i := range v.items {
		it := &v.items[i]
		over = over || it.status == walk.Cancelled || it.status == walk.Failed && !continued(&r.p.Nodes[k.Node], it.failure)
		running = running || it.started && it.status == ""
		if !it.started && next < 0 {
			next = i
		}
	}
	if over && running || next < 0 {
		return -1
	}
	r.start(k, next)
	return next
}

func (r *Reference) start(k walk.VisitKey, item int) {
	r.nodes[k.Node].open.items[item].started = true
	r.log = append(r.log, event{walk.Settlement{VisitKey: k, Item: item}, true})
}

// Interrupt simulates a crash: everything that was running has not started.
func (r *Reference) Interrupt() {
	for i := range r.nodes {
		if v := r.nodes[i].open; v != nil {
			for j := range v.items {
				v.items[j].started = v.items[j].status != ""
			}
		}
	}
}

// Outcome is how the run ended. Call it when no iteration is open.
func (r *Reference) Outcome() walk.Outcome {
	if len(r.Open()) > 0 {
		return walk.Outcome{}
	}
	switch {
	case r.end != nil:
		return *r.end
	case r.overdue && r.failure == nil:
		return walk.Outcome{Done: true, Status: walk.Failed, Failure: r.p.Overdue()}
	case r.overdue, r.failed:
		return walk.Outcome{Done: true, Status: walk.Failed, Failure: r.failure}
	}
	if r.p.Result != nil {
		out, f := r.p.Result.Render(r.env(r.last))
		if f != nil {
			f.Code = walk.CodeResult
			return walk.Outcome{Done: true, Status: walk.Failed, Failure: f}
		}
		return walk.Outcome{Done: true, Status: walk.Completed, Output: out}
	}
	return walk.Outcome{Done: true, Status: walk.Completed, Output: r.output()}
}

func (r *Reference) output() any {
	needs := len(r.p.Roots) > 1 || slices.ContainsFunc(r.p.Nodes,
		func(n walk.ProgramNode) bool { return len(n.Needs) > 0 && !n.Finally })
	if !needs {
		return r.last
	}
	var sinks []int
	for i := range r.p.Nodes {
		if len(r.p.Nodes[i].Out) == 0 && len(r.needing(i)) == 0 && !r.p.Nodes[i].Finally {
			sinks = append(sinks, i)
		}
	}
	if len(sinks) == 1 {
		return r.nodes[sinks[0]].output
	}
	m := map[string]any{}
	for _, i := range sinks {
		if n := &r.nodes[i]; n.settled && (n.status == walk.Completed || n.continued) {
			m[r.p.Nodes[i].ID] = n.output
		}
	}
	return m
}

func (r *Reference) env(last any) walk.Env {
	s := walk.Env{RunID: r.facts.RunID, Slot: r.facts.Slot, Input: r.input, Memory: r.facts.Memory, Last: last, Item: r.item,
		Index: r.index, Outputs: map[string]any{}, Continued: map[string]bool{}, Statuses: map[string]walk.Status{}, Values: r.p.Values}
	for i := range r.nodes {
		s.Statuses[r.p.Nodes[i].ID] = walk.Skipped
		if r.nodes[i].settled {
			s.Statuses[r.p.Nodes[i].ID] = r.nodes[i].status
		}
		if race := r.race(i); race >= 0 && (r.nodes[i].open != nil || r.nodes[i].late) && r.first(race) >= 0 && r.first(race) != i {
			s.Statuses[r.p.Nodes[i].ID] = walk.Cancelled
		}
		s.Continued[r.p.Nodes[i].ID] = r.nodes[i].continued
		if r.nodes[i].has {
			s.Outputs[r.p.Nodes[i].ID] = r.nodes[i].output
		}
	}
	return s
}

func (r *Reference) begin(i int, last any) {
	r.nodes[i].began++
	r.nodes[i].open = &visit{n: r.nodes[i].began, last: last}
}

// needing lists the nodes that need a node, in file order.
func (r *Reference) needing(i int) []int {
	var list []int
	for j := range r.p.Nodes {
		if slices.Contains(r.p.Nodes[j].Needs, i) {
			list = append(list, j)
		}
	}
	return list
}

// TimeOut stops the run because it has not ended within the timeout of the plan. Nothing starts any more,
// except finally steps. The open iterations are then settled as cancelled.
func (r *Reference) TimeOut() { r.overdue = true }

// stopping reports whether the run accepts no new iterations because of an unhandled failure or a
// cancellation. If branches continue after a failure, only a rejection stops the run.
func (r *Reference) stopping() bool {
	return r.overdue || r.refused || r.failed && !r.p.ContinueBranches
}

// rejection reports whether a failure is the rejection of an approval.
func rejection(def *walk.ProgramNode, f *walk.Failure) bool {
	return def.Type == "approval" && f != nil && f.Code == "rejected"
}

func (r *Reference) fail(f *walk.Failure, node string, decided bool) {
	if f == nil {
		f = (&walk.Failure{Code: walk.CodeFailed, Node: node}).WithMessage("node %q failed", node)
	}
	if r.end != nil {
		return // the outcome is known
	}
	if r.failure == nil {
		r.failure = f
	}
	r.failed = true
	r.decided = r.decided || decided
}

// finish starts the finally steps once nothing else is open. They change neither the outcome nor each
// other, except by needs.
func (r *Reference) finish(d *walk.Decision) {
	if r.end != nil || len(r.Open()) > 0 || len(r.p.Finally) == 0 {
		return
	}
	end := r.Outcome()
	r.end, r.failed, r.refused, r.overdue = &end, false, false, false
	for _, i := range r.p.Finally {
		if r.p.Nodes[i].WhenCond == nil {
			r.begin(i, r.joined(&r.p.Nodes[i]))
		}
	}
	for _, i := range r.p.Finally {
		if r.p.Nodes[i].WhenCond != nil {
			r.activate(i, d)
		}
	}
}

func at(f *walk.Failure, node string) *walk.Failure {
	if f != nil {
		f.Node = node
	}
	return f
}
