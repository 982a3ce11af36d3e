package planner

import (
	"slices"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// read is one place where a step reads the output of another.
type read struct {
	reader int
	name   string
	at     func() *source.Tree
	in     readIn
	text   string // of the reference or condition
	// outgoing: on an edge out of the reading step, or in its undo. Its own output is visible, too.
	outgoing bool
	// plain: a plain condition, which treats a missing value as null. References and expressions
	// fail.
	plain bool
	// optional: the read has a default, or tests for a missing value.
	optional bool
	// status: it reads how the step ended, not its output.
	status bool
}

// readIn is the kind of place that holds a read.
type readIn int

const (
	inReference readIn = iota
	inForeach
	inCondition
)

// source describes the read for messages.
func (r read) source() message.Message {
	switch r.in {
	case inForeach:
		return message.Verbatim("foreach")
	case inCondition:
		return message.New("the condition %s", jsonvalue.Quote(r.text))
	}
	return message.New("the reference ${%s}", r.text)
}

// eachRead calls f for every read of one step's output by another, in order.
func (k analyzer) eachRead(f func(read)) {
	for i := range k.p.Nodes {
		n, s := &k.p.Nodes[i], &k.specs[i]
		if n.Input != nil {
			for _, ref := range n.Input.References() {
				if ref.Node() != "" {
					at := func() *source.Tree { return k.insideText(s.field("input").At(ref.At), "${"+ref.Text) }
					f(read{reader: i, name: ref.Node(), at: at, in: inReference, text: ref.Text, status: ref.Root == walk.RefStatus,
						optional: ref.HasDefault()})
				}
			}
		}
		if n.Computed != nil {
			for _, ref := range n.Computed.References() {
				if ref.Node() != "" {
					at := func() *source.Tree { return k.insideText(s.field("plan"), "${"+ref.Text) }
					f(read{reader: i, name: ref.Node(), at: at, in: inReference, text: ref.Text, status: ref.Root == walk.RefStatus,
						optional: ref.HasDefault()})
				}
			}
		}
		if n.Undo != nil && n.Undo.Input != nil {
			for _, ref := range n.Undo.Input.References() {
				if ref.Node() != "" {
					at := func() *source.Tree { return k.insideText(s.undo.field("input").At(ref.At), "${"+ref.Text) }
					f(read{reader: i, name: ref.Node(), at: at, in: inReference, text: ref.Text, status: ref.Root == walk.RefStatus,
						optional: ref.HasDefault(), outgoing: true})
				}
			}
		}
		inList := func() *source.Tree { return s.field("foreach") }
		for _, ref := range n.Foreach.References() {
			if ref.Node() != "" {
				f(read{reader: i, name: ref.Node(), at: inList, in: inForeach, status: ref.Root == walk.RefStatus,
					optional: ref.HasDefault()})
			}
		}
		names, _ := n.Foreach.Nodes()
		for _, name := range names {
			f(read{reader: i, name: name, at: inList, in: inForeach, optional: true})
		}
		for _, name := range n.Foreach.Statuses() {
			f(read{reader: i, name: name, at: inList, in: inForeach, status: true})
		}
		k.eachConditionRead(n.WhenCond, read{reader: i, at: func() *source.Tree { return s.field("when") }}, f)
		for _, e := range n.Out {
			at := func() *source.Tree { return k.d.tree.Get("edges").Items[e.Position].Get("condition") }
			k.eachConditionRead(e.Cond, read{reader: i, at: at, outgoing: true}, f)
		}
	}
}

// eachConditionRead calls f for every step that a condition reads.
func (k analyzer) eachConditionRead(c *walk.Condition, r read, f func(read)) {
	if c == nil {
		return
	}
	r.in, r.text, r.plain, r.optional = inCondition, c.Text, c.Plain(), true
	nodes, _ := c.Nodes()
	for _, r.name = range nodes {
		f(r)
	}
	r.status = true
	for _, r.name = range c.Statuses() {
		f(r)
	}
}

// kept finds the steps whose outputs may be read after their successors have started. A walk
// discards all other outputs.
func (k analyzer) kept() []bool {
	keep := make([]bool, len(k.p.Nodes))
	k.eachRead(func(r read) {
		if j, ok := k.p.Index[r.name]; ok && !r.status {
			keep[j] = true
		}
	})
	k.resultReads(func(name string, _ *source.Tree, status bool) {
		if j, ok := k.p.Index[name]; ok && !status {
			keep[j] = true
		}
	})
	any := func(c *walk.Condition) bool { _, all := c.Nodes(); return all }
	for i := range k.p.Nodes {
		n := &k.p.Nodes[i]
		_, list := n.Foreach.Nodes()
		if list || any(n.WhenCond) || slices.ContainsFunc(n.Out, func(e walk.ProgramEdge) bool { return any(e.Cond) }) {
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
	if n.Foreach != nil || slices.ContainsFunc(n.Out, func(e walk.ProgramEdge) bool { return !e.Rule && e.Cond.CatchesAll() }) {
		return false
	}
	for _, r := range n.Rules {
		switch {
		case r.OnError == walk.OnErrorContinue:
			return true
		case len(r.Codes) == 0 && (r.Edge >= 0 || r.OnError != ""):
			return false
		}
	}
	return n.OnError == walk.OnErrorContinue
}

// report adds an error. It adds a warning instead if a plain condition only treats the value as
// missing.
func (k analyzer) report(r read, code string, suggestion message.Message, format string, args ...any) {
	if r.plain {
		k.warn(r, code, suggestion, format, args...)
	} else if k.r.Full() {
		k.r.errors++
	} else {
		k.r.Error(r.at(), k.specs[r.reader].ID, code, suggestion, format, args...)
	}
}

// warn computes the position only for warnings that are listed.
func (k analyzer) warn(r read, code string, suggestion message.Message, format string, args ...any) {
	var at *source.Tree
	if k.r.warnings < maxWarnings {
		at = r.at()
	}
	k.r.Warn(at, k.specs[r.reader].ID, code, suggestion, format, args...)
}

// known finds the step that is read, or reports that it does not exist.
func (k analyzer) known(r read) (int, bool) {
	j, ok := k.p.Index[r.name]
	if !ok {
		suggestion := message.Message{}
		if (!r.plain || k.r.warnings < maxWarnings) && !k.r.Full() {
			suggestion = k.r.Suggest(r.name, k.nodeNames, message.New("add the step, or correct the name"))
			if advice := blockAdvice(k.d, r.name); !advice.IsZero() {
				suggestion = advice
			}
		}
		if i, isKey := k.names[r.name]; isKey && i >= 0 {
			suggestion = message.New("outputs are named by id: did you mean %s?", k.specs[i].ID)
		}
		k.report(r, "ref.node_unknown", suggestion, "%s refers to step %s, which does not exist", r.source(), jsonvalue.Quote(r.name))
	}
	return j, ok
}

// unknownReads checks only names, because the graph has errors.
func (k analyzer) unknownReads() {
	k.eachRead(func(r read) { k.known(r) })
	k.unknownResults()
}

// reads checks that everything a step reads has run before, so that results never depend on timing.
func (k analyzer) reads(v *view) {
	k.unknownResults()
	k.eachRead(func(r read) {
		j, ok := k.known(r)
		if !ok || r.outgoing && j == r.reader {
			return
		}
		id := k.specs[r.reader].ID
		switch {
		case v.owner[r.reader] < 0: // never reached; another warning reports it
		case k.p.Nodes[r.reader].Finally && !k.p.Nodes[j].Finally:
			if !r.optional && !r.status {
				k.warn(r, "ref.may_be_missing", message.New("add a default: ${output.%s ?? null}", r.name),
					"%s refers to step %s, which may not have run", r.source(), jsonvalue.Quote(r.name))
			}
		case !v.before(j, r.reader):
			suggestion := message.New("name a step that runs before it")
			if r.plain {
				suggestion = message.New("name a step that runs before it; this value is never found")
			}
			k.report(r, "ref.not_ancestor", suggestion, "%s refers to step %s, which does not run before step %s", r.source(),
				jsonvalue.Quote(r.name), jsonvalue.Quote(id))
		case k.p.Nodes[j].OnCycle && v.owner[j] != v.owner[r.reader]:
			r.plain = false
			k.report(r, "ref.on_cycle", message.New("name a step after the loop"),
				"%s refers to step %s, which is in a loop of another branch", r.source(), jsonvalue.Quote(r.name))
		case r.status: // every step has one
		case !r.optional && !v.surely(j, r.reader):
			k.warn(r, "ref.may_be_missing", message.New("add a default: ${output.%s ?? null}", r.name),
				"%s refers to step %s, which may not have run", r.source(), jsonvalue.Quote(r.name))
		case !r.optional && nullOnFailure(&k.p.Nodes[j]):
			k.warn(r, "ref.may_be_null", message.New("add a default: ${output.%s ?? null}", r.name),
				"%s is null if step %s fails, because of on_error: continue", r.source(), jsonvalue.Quote(r.name))
		}
	})
}
