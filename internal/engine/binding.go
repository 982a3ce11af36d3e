package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
)

// This file binds an approval to what was approved: what the person was shown, and the
// values that the steps after it use.

// bound lists the nodes whose outputs the approval step i is bound to: those that led
// to it, and those that the steps after it read, but for the steps after it themselves.
func (p *program) bound(i int) []int {
	after := p.after(i)
	found := map[int]bool{}
	add := func(list []int) {
		for _, n := range list {
			if n != i && !after[n] {
				found[n] = true
			}
		}
	}
	add(p.entered[i])
	add(p.Reads(i))
	for n := range after {
		add(p.entered[n])
		add(p.Reads(n))
	}
	return slices.Sorted(maps.Keys(found))
}

// after is the set of nodes that edges and needs lead to from a node.
func (p *program) after(i int) map[int]bool {
	seen := map[int]bool{}
	queue := p.next(i)
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		if !seen[n] {
			seen[n] = true
			queue = append(queue, p.next(n)...)
		}
	}
	return seen
}

// next lists the nodes that a node leads to at once.
func (p *program) next(i int) []int {
	var list []int
	for _, e := range p.Nodes[i].Out {
		list = append(list, e.To)
	}
	return append(list, p.Nodes[i].Dependents...)
}

// binding is the digest that an approval step's request is bound to: the request
// itself, the version and the input of the run, and every output that is known and
// that the step or one after it uses.
func (a *actor) binding(k planner.VisitKey, item int, input any) string {
	h := sha256.New()
	part := func(name string, raw []byte) { fmt.Fprintf(h, "%s\x00%d\x00%s\x00", name, len(raw), raw) }
	encode := func(v any) []byte {
		raw, err := planner.EncodeValue(v)
		if err != nil {
			return []byte(err.Error()) // a value of JSON: only its nesting can be too deep
		}
		return raw
	}
	part("request", fmt.Appendf(nil, "%s %s %s %d %d", a.id, a.run.PlanKey, a.prog.Nodes[k.Node].ID, k.Visit, item))
	part("version", []byte(a.prog.Hash))
	part("question", encode(input))
	f := a.s.Foreach[k]
	if f == nil {
		f = &runstate.Foreach{}
	}
	if f.Values == nil { // the items of one visit share it
		values := sha256.New()
		fmt.Fprintf(values, "input %d %s\x00", len(a.run.Input), a.run.Input)
		fmt.Fprintf(values, "last %s\x00", encode(a.s.Walk.Last(k)))
		for _, n := range a.prog.bound(k.Node) {
			if out, ok := a.s.Walk.Output(a.prog.Nodes[n].ID); ok {
				fmt.Fprintf(values, "%s %s\x00", a.prog.Nodes[n].ID, encode(out))
			}
		}
		f.Values = values.Sum(nil)
	}
	part("values", f.Values)
	return hex.EncodeToString(h.Sum(nil))
}

// approvedFacts decides which answers of a run hold in a fork of it.
type approvedFacts struct {
	b     *branch
	req   domain.VerbRequest
	edits map[string]domain.RawJSON // by visit
}

// changed says why the answer to an approval step does not hold in the fork; "": it
// holds, or the row is of another step. before are the edited visits that settled
// before it.
func (f approvedFacts) changed(c candidate, before map[string]bool) string {
	b := f.b
	i, ok := b.prog.Index[c.Node]
	if !ok || b.prog.Nodes[i].Type != planner.TypeApproval || f.req.Action != domain.ActionFork {
		return "" // a run that is planned anew keeps its answers: new unsafe steps have a request of their own
	}
	if !b.followed(c.Seq) {
		return "what was approved has changed: the run follows another version"
	}
	if f.req.Input != nil && !sameJSON(f.req.Input, b.view.run.Input) {
		return "what was approved has changed: the run has another input"
	}
	after := b.prog.after(i)
	for _, visit := range slices.Sorted(maps.Keys(f.edits)) {
		if node, _, _ := visitOf(visit, nil); before[visit] || !after[b.prog.Index[node]] {
			return fmt.Sprintf("what was approved has changed: the output of %s was edited", node)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.req.Instead)) {
		visit, _, err := itemOf(name)
		if err != nil || f.req.Instead[name].Recorded {
			continue // refused where stand-ins are read; or the value is the run's own
		}
		node, _, err := visitOf(visit, func(string) int { return 1 })
		if n, ok := b.prog.Index[node]; err == nil && ok && !after[n] {
			return fmt.Sprintf("what was approved has changed: a stub stands in for %s", node)
		}
	}
	return ""
}

// followed reports whether the forked run followed the fork's version when a row was
// written, or later: what a run was planned anew with keeps its answers.
func (b *branch) followed(seq int64) bool {
	if b.prog.Hash == b.view.prog.Hash {
		return true
	}
	for i := range b.view.journal {
		if e := &b.view.journal[i]; e.Kind == domain.EntryReplan && e.Seq > seq && runstate.VersionAt(b.view.journal, e.Seq-1, "") == b.prog.Hash {
			return true
		}
	}
	return false
}

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(x, y domain.RawJSON) bool {
	a, err := runstate.Decode(x)
	if err != nil {
		return false
	}
	b, err := runstate.Decode(y)
	if err != nil {
		return false
	}
	first, err := planner.EncodeValue(a)
	if err != nil {
		return false
	}
	second, err := planner.EncodeValue(b)
	return err == nil && bytes.Equal(first, second)
}
