package planner

import (
	"fmt"
	"slices"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// read is one place where a node reads another's output.
type read struct {
	reader int
	name   string
	at     func() *tree
	what   string // for messages, e.g. "the condition …"
	// outgoing: on an edge out of the reader, which sees its own output too.
	outgoing bool
	// plain conditions find nothing where references and expressions fail.
	plain bool
	// optional reads have a default, or test for themselves.
	optional bool
}

// eachRead calls f for everything that nodes read of one another, in order.
func (k analyzer) eachRead(f func(read)) {
	for i := range k.p.Nodes {
		n, s := &k.p.Nodes[i], &k.specs[i]
		if n.Input != nil {
			for _, ref := range n.Input.References() {
				if ref.Root == walk.RefOutput {
					at := func() *tree { return k.insideText(s.field("input").at(ref.At), "${"+ref.Text) }
					f(read{reader: i, name: ref.Node(), at: at, what: "the reference ${" + ref.Text + "}", optional: ref.HasDefault()})
				}
			}
		}
		if n.Foreach != nil && n.Foreach.Root == walk.RefOutput {
			f(read{reader: i, name: n.Foreach.Node(), at: func() *tree { return s.field("foreach") }, what: "foreach", optional: n.Foreach.HasDefault()})
		}
		if nodes, _ := n.WhenCond.Nodes(); len(nodes) > 0 {
			for _, name := range nodes {
				f(read{reader: i, name: name, at: func() *tree { return s.field("when") }, what: "the condition " + jsonvalue.Quote(n.WhenCond.Text), plain: n.WhenCond.Plain(), optional: true})
			}
		}
		for _, e := range n.Out {
			nodes, _ := e.Cond.Nodes()
			for _, name := range nodes {
				f(read{reader: i, name: name, at: func() *tree { return k.d.tree.get("edges").items[e.Position].get("condition") },
					what: "the condition " + jsonvalue.Quote(e.Text), outgoing: true, plain: e.Cond.Plain(), optional: true})
			}
		}
	}
}

// kept finds the nodes whose outputs somebody may still ask for after their own
// settlement; a walk forgets all others.
func (k analyzer) kept() []bool {
	keep := make([]bool, len(k.p.Nodes))
	k.eachRead(func(r read) {
		if j, ok := k.p.Index[r.name]; ok {
			keep[j] = true
		}
	})
	any := func(c *walk.Condition) bool { _, all := c.Nodes(); return all }
	for i := range k.p.Nodes {
		n := &k.p.Nodes[i]
		if any(n.WhenCond) || slices.ContainsFunc(n.Out, func(e walk.ProgramEdge) bool { return any(e.Cond) }) {
			for j := range keep {
				keep[j] = true
			}
			break
		}
		keep[i] = keep[i] || len(n.Dependents) > 0 || k.p.UsesNeeds && len(n.Out) == 0
	}
	return keep
}

// nullOnFailure reports whether the output of n is null when it fails.
func nullOnFailure(n *walk.ProgramNode) bool {
	return n.OnError == walk.OnErrorContinue && n.Foreach == nil &&
		!slices.ContainsFunc(n.Out, func(e walk.ProgramEdge) bool { return e.Cond.OnFailure() })
}

// report is an error, but a warning where a plain condition will merely find
// nothing.
func (k analyzer) report(r read, code, suggestion, format string, args ...any) {
	if r.plain {
		k.warn(r, code, suggestion, format, args...)
	} else if k.r.full() {
		k.r.errors++
	} else {
		k.r.error(r.at(), k.specs[r.reader].ID, code, suggestion, format, args...)
	}
}

// warn finds the place only of warnings that are listed.
func (k analyzer) warn(r read, code, suggestion, format string, args ...any) {
	var at *tree
	if k.r.warnings < maxWarnings {
		at = r.at()
	}
	k.r.warn(at, k.specs[r.reader].ID, code, suggestion, format, args...)
}

// known finds the node that is read, or reports that there is none.
func (k analyzer) known(r read) (int, bool) {
	j, ok := k.p.Index[r.name]
	if !ok {
		suggestion := ""
		if !r.plain || k.r.warnings < maxWarnings {
			suggestion = k.r.suggest(r.name, k.nodeNames, "add the node, or correct the name")
		}
		if i, isKey := k.names[r.name]; isKey && i >= 0 {
			suggestion = fmt.Sprintf("outputs go by id: did you mean %s?", k.specs[i].ID)
		}
		k.report(r, "ref.node_unknown", suggestion, "%s names %s, which is no node", r.what, jsonvalue.Quote(r.name))
	}
	return j, ok
}

// unknownReads checks names alone, where the graph is too broken for more.
func (k analyzer) unknownReads() {
	k.eachRead(func(r read) { k.known(r) })
}

// reads checks everything that nodes read against what may have run before, so
// that results never depend on timing.
func (k analyzer) reads(v *view) {
	k.eachRead(func(r read) {
		j, ok := k.known(r)
		if !ok || r.outgoing && j == r.reader {
			return
		}
		id := k.specs[r.reader].ID
		switch {
		case v.owner[r.reader] < 0: // never reached, which is a warning already
		case !v.before(j, r.reader):
			suggestion := "name a node that comes before"
			if r.plain {
				suggestion = "name a node that comes before: this one is never found"
			}
			k.report(r, "ref.not_ancestor", suggestion, "%s names %s, which never runs before %s", r.what, jsonvalue.Quote(r.name), jsonvalue.Quote(id))
		case k.p.Nodes[j].OnCycle && v.owner[j] != v.owner[r.reader]:
			r.plain = false
			k.report(r, "ref.on_cycle", "name a node after the loop", "%s names %s, which lies on a cycle of another branch", r.what, jsonvalue.Quote(r.name))
		case !r.optional && !v.surely(j, r.reader):
			k.warn(r, "ref.may_be_missing", fmt.Sprintf("give a default: ${output.%s ?? null}", r.name), "%s names %s, which may not have run", r.what, jsonvalue.Quote(r.name))
		case !r.optional && nullOnFailure(&k.p.Nodes[j]):
			k.warn(r, "ref.may_be_null", fmt.Sprintf("give a default: ${output.%s ?? null}", r.name),
				"%s is null when %s fails, because of on_error: continue", r.what, jsonvalue.Quote(r.name))
		}
	})
}
