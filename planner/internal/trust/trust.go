// Package trust follows untrusted input through a plan, its blocks, and its sub-plans.
//
// A run should combine at most two of these: untrusted input, private data of the server, and a way to
// change other systems. If it combines all three, an approval should come between the untrusted input and
// the change. The reason is that text which a model or a tool reads can control what it does next.
//
// A run includes its child runs. Otherwise a plan could be divided at the border of a block or a sub-plan,
// so that each part has only two of the three.
package trust

import (
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// Facts describes steps.
type Facts interface {
	// Untrusted reports whether the output of a step may contain untrusted input.
	Untrusted(n *walk.ProgramNode) bool
	// Private describes the private data that a step reads. It is zero if there is none.
	Private(n *walk.ProgramNode) message.Message
	// Changes reports whether a step of a plan may change other systems without an approval of that call.
	Changes(n *walk.ProgramNode, plan string) bool
	// Plan returns a stored plan, or nil.
	Plan(name string) *walk.Program
}

// Finding is a step that may change other systems after the run read untrusted input, without an approval
// between, in a run with private data.
type Finding struct {
	// Path leads to the step: the steps that contain it, and then the step.
	Path []*walk.ProgramNode
	// Plan is the plan of the step.
	Plan string
	// Undo is set if the undo of the step may change other systems.
	Undo bool
	// Private describes the private data.
	Private message.Message
	from    *source
}

// From is the step whose output may contain untrusted input. It is nil for the input of the run.
func (f *Finding) From() *walk.ProgramNode { return f.from.node }

// Step is the step that may change other systems.
func (f *Finding) Step() *walk.ProgramNode { return f.Path[len(f.Path)-1] }

// maxDepth limits the plans that contain each other. Runs have at most 8 ancestors.
const maxDepth = 9

// maxFindings limits the findings of a program.
const maxFindings = 100

// RuleOfTwo finds the steps of a plan that break the rule. untrustedInput reports that the input of runs
// may be untrusted.
func RuleOfTwo(p *walk.Program, facts Facts, untrustedInput bool) []Finding {
	a := &analysis{Facts: facts, plans: map[string]*walk.Program{}, found: map[visit]*summary{}}
	private := a.private(p, map[*walk.Program]bool{}, 0)
	if private.IsZero() {
		return nil
	}
	a.untrustedInput = untrustedInput
	list := a.follow(p, nil, 0).findings
	for i := range list {
		list[i].Private = private
	}
	return list
}

// source is a step whose output may contain untrusted input.
type source struct {
	node *walk.ProgramNode // nil for the input of the run
}

// outside stands for a source outside the program that is followed.
var outside = &source{}

// visit is a program that starts with or without untrusted input.
type visit struct {
	program *walk.Program
	tainted bool
}

// summary is what a visit of a program leads to.
type summary struct {
	// out is the source of the untrusted input in its output, if it completes. failed is a source in the
	// program, whatever ends it. Nil means that there is none.
	out, failed *source
	findings    []Finding
}

type analysis struct {
	Facts
	untrustedInput bool
	plans          map[string]*walk.Program
	found          map[visit]*summary
}

// children returns the programs that a step runs: its block, or its sub-plans as far as they are stored.
func (a *analysis) children(n *walk.ProgramNode, depth int) []*walk.Program {
	switch {
	case n.Type != walk.TypePlan || depth >= maxDepth:
		return nil
	case n.Block != nil:
		return []*walk.Program{n.Block.Program}
	}
	var list []*walk.Program
	for _, name := range n.PlanNames() {
		p, known := a.plans[name]
		if !known {
			p = a.Plan(name)
			a.plans[name] = p
		}
		if p != nil {
			list = append(list, p)
		}
	}
	return list
}

// private returns the first private data that a step of the program reads.
func (a *analysis) private(p *walk.Program, seen map[*walk.Program]bool, depth int) message.Message {
	seen[p] = true
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if m := a.Private(n); !m.IsZero() {
			return m
		}
		if n.Undo != nil {
			if m := a.Private(n.Undo); !m.IsZero() {
				return m
			}
		}
		for _, child := range a.children(n, depth) {
			if seen[child] {
				continue
			}
			if m := a.private(child, seen, depth+1); !m.IsZero() {
				return m
			}
		}
	}
	return message.Message{}
}

// follow computes the summary of a program. entry is the source of the untrusted input that its first steps
// receive, or nil. The summary calls it outside.
func (a *analysis) follow(p *walk.Program, entry *source, depth int) *summary {
	key := visit{p, entry != nil}
	s := a.found[key]
	if s == nil {
		s = &summary{}
		if entry != nil { // until it is known, a plan that runs itself passes on what it receives
			s.out, s.failed = outside, outside
		}
		a.found[key] = s
		*s = *newFlow(a, p, entry != nil, depth).summary()
	}
	return s
}

// seenFrom replaces the source outside by the source of the caller.
func (s *source) seenFrom(entry *source) *source {
	if s == outside {
		return entry
	}
	return s
}

// flow follows untrusted input along the steps of one program.
type flow struct {
	a     *analysis
	p     *walk.Program
	depth int
	// in is the nearest source whose output reaches a step without an approval between. own is the source of
	// a step that produces or reads untrusted input itself. Nil means that there is none.
	in, own []*source
	entry   bool
}

func newFlow(a *analysis, p *walk.Program, entry bool, depth int) *flow {
	f := &flow{a: a, p: p, depth: depth, entry: entry, in: make([]*source, len(p.Nodes)), own: make([]*source, len(p.Nodes))}
	var next []int
	enter := func(i int, s *source) {
		if s != nil && f.in[i] == nil && p.Nodes[i].Type != walk.TypeApproval {
			f.in[i] = s
			next = append(next, i)
		}
	}
	for i := range p.Nodes {
		switch {
		case a.Untrusted(&p.Nodes[i]):
			f.own[i] = &source{&p.Nodes[i]}
		case depth == 0 && a.untrustedInput && readsInput(p, i):
			f.own[i] = &source{}
		}
		next = append(next, i)
	}
	if entry {
		for _, i := range p.Roots {
			enter(i, outside)
		}
	}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		out, failed := f.leaves(at)
		n := &p.Nodes[at]
		for _, e := range n.Out {
			switch {
			case e.To == walk.End:
			case e.Cond.OnFailure():
				enter(e.To, failed)
			default:
				enter(e.To, out)
			}
		}
		for _, d := range n.Dependents {
			if p.Nodes[d].When.AfterFailure() {
				enter(d, failed)
			} else {
				enter(d, out)
			}
		}
		if !n.Finally { // the finally steps run whatever ended the others
			for _, i := range p.Finally {
				enter(i, failed)
			}
		}
	}
	return f
}

// leaves returns the source in the output of a step, and the source that remains if it fails.
func (f *flow) leaves(i int) (out, failed *source) {
	n := &f.p.Nodes[i]
	reaches := f.in[i]
	if f.own[i] != nil {
		reaches = f.own[i]
	}
	programs := f.a.children(n, f.depth)
	if len(programs) == 0 {
		return reaches, reaches
	}
	for _, p := range programs {
		s := f.a.follow(p, reaches, f.depth+1)
		if out == nil {
			out = s.out.seenFrom(reaches)
		}
		if failed == nil {
			failed = s.failed.seenFrom(reaches)
		}
	}
	if out == nil && goesOn(n) {
		out = failed
	}
	return out, failed
}

// goesOn reports whether a failure of a step counts as its end, without an edge.
func goesOn(n *walk.ProgramNode) bool {
	goes := func(e walk.OnError) bool { return e == walk.OnErrorContinue || e == walk.OnErrorSkip }
	return goes(n.OnError) || slices.ContainsFunc(n.Rules, func(r walk.ErrorRule) bool { return goes(r.OnError) })
}

// summary returns the result of the flow.
func (f *flow) summary() *summary {
	s := &summary{}
	for i := range f.p.Nodes {
		n := &f.p.Nodes[i]
		out, failed := f.leaves(i)
		if s.failed == nil {
			s.failed = failed
		}
		if s.out == nil && last(f.p, n) {
			s.out = out
		}
		f.check(i, s)
	}
	return s
}

// check adds the findings at a step.
func (f *flow) check(i int, s *summary) {
	n := &f.p.Nodes[i]
	plan := walk.PlanOf(f.p.ID)
	add := func(x Finding) {
		if len(s.findings) < maxFindings {
			s.findings = append(s.findings, x)
		}
	}
	if n.Undo != nil && f.a.Changes(n.Undo, plan) {
		if from := f.undoReads(i); from != nil {
			add(Finding{Path: []*walk.ProgramNode{n}, Plan: plan, Undo: true, from: from})
		}
	}
	reaches := f.in[i]
	if f.own[i] != nil {
		reaches = f.own[i]
	}
	for _, p := range f.a.children(n, f.depth) {
		for _, x := range f.a.follow(p, reaches, f.depth+1).findings {
			x.Path, x.from = append([]*walk.ProgramNode{n}, x.Path...), x.from.seenFrom(reaches)
			add(x)
		}
	}
	if reaches != nil && f.a.Changes(n, plan) {
		add(Finding{Path: []*walk.ProgramNode{n}, Plan: plan, from: reaches})
	}
}

// undoReads returns a source whose output the undo of a step reads.
func (f *flow) undoReads(i int) *source {
	n := &f.p.Nodes[i]
	for _, ref := range n.UndoReferences() {
		from := i
		switch ref.Root {
		case walk.RefInput, walk.RefItem:
			switch {
			case f.entry:
				return outside
			case f.depth == 0 && f.a.untrustedInput && ref.Root == walk.RefInput:
				return &source{}
			}
			continue
		case walk.RefLast:
		case walk.RefOutput:
			j, ok := f.p.Index[ref.Node()]
			if !ok {
				continue
			}
			from = j
		default:
			continue
		}
		if from != i {
			if out, _ := f.leaves(from); out != nil {
				return out
			}
		} else if f.a.Untrusted(n) {
			return &source{n}
		} else if programs := f.a.children(n, f.depth); len(programs) > 0 {
			if out, _ := f.leaves(i); out != nil {
				return out
			}
		}
	}
	return nil
}

// last reports whether a program may end after a step.
func last(p *walk.Program, n *walk.ProgramNode) bool {
	if n.Finally {
		return true
	}
	fallback := false
	for _, e := range n.Out {
		if e.To == walk.End {
			return true
		}
		fallback = fallback || e.Cond.Fallback()
	}
	if fallback || n.EndsOK {
		return n.EndsOK
	}
	return !slices.ContainsFunc(n.Dependents, func(d int) bool { return !mayBeSkipped(&p.Nodes[d]) })
}

// mayBeSkipped reports whether a step may be skipped although the steps that it needs completed.
func mayBeSkipped(n *walk.ProgramNode) bool { return n.WhenCond != nil || n.When == walk.WhenFailure }

// readsInput reports whether a step reads the input of the run. A first step without an input of its
// own receives it.
func readsInput(p *walk.Program, i int) bool {
	n := &p.Nodes[i]
	switch {
	case n.Type == walk.TypeApproval:
		return false
	case n.Foreach != nil && strings.Contains(n.Foreach.Text, string(walk.RefInput)):
		return true
	case n.Input == nil:
		return slices.Contains(p.Roots, i)
	}
	return slices.ContainsFunc(n.Input.References(), func(r walk.TemplateRef) bool { return r.Root == walk.RefInput })
}
