package planner

import (
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
)

// rejections refuses edges and conditions that only a rejection could take: it fails
// the step, unless the step says on_reject: continue.
func (k *compiler) rejections() {
	if k.d.Graph != nil {
		list := k.d.tree.get("edges")
		for i := range k.p.Nodes {
			n := &k.p.Nodes[i]
			if n.Type != TypeApproval || n.OnReject == OnRejectContinue {
				continue
			}
			decided := false // some edge is taken after any approval
			for _, e := range n.Out {
				decided = decided || e.Cond.afterApproval(n, true) == yes
			}
			for _, e := range n.Out {
				t := list.items[e.Position]
				if v := t.get("condition"); v != nil {
					t = v
				}
				named := t.kind == treeString && e.Cond.Fallback() && t.text != "" && !choosing(k.specs[i].Input)
				switch {
				case named || e.Cond.Fallback() && decided:
					k.neverRejected(t, n.ID, "a rejection does not take this edge: it fails %s", clip(n.ID))
				case e.Cond.afterApproval(n, true) == no:
					k.neverRejected(t, n.ID, "this condition never holds: a rejection fails %s", clip(n.ID))
				}
			}
		}
	}
	for i := range k.p.Nodes {
		n, s := &k.p.Nodes[i], &k.specs[i]
		if n.WhenCond == nil {
			continue
		}
		for _, j := range n.Needs {
			asks := &k.p.Nodes[j]
			if asks.Type == TypeApproval && asks.OnReject != OnRejectContinue && n.WhenCond.afterApproval(asks, len(n.Needs) == 1) == no {
				k.neverRejected(s.field("when"), s.ID, "this condition never holds: a rejection fails %s", clip(asks.ID))
			}
		}
	}
}

// choosing reports whether an approval declares several answers that complete it: a
// default edge is then the way of those that no condition names.
func choosing(input any) bool {
	list, _, _, err := Answers(input)
	ways := 0
	for _, a := range list {
		if a.Kind != "reject" {
			ways++
		}
	}
	return err == nil && ways > 1
}

func (k *compiler) neverRejected(at *tree, node, format string, args ...any) {
	k.r.error(at, node, "approval.rejection", "write condition: failed for the way of a rejection, or on_reject: continue on the approval; an edge without a condition is the way of an approval", format, args...)
}

// truth is what is known of a condition before it is evaluated.
type truth int

const (
	unknown truth = iota
	yes
	no
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

func (t truth) not() truth {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}
	return unknown
}

// afterApproval says what the condition is once the node has been approved, whatever
// else is so. last: the node's output is the condition's `last`.
func (c *Condition) afterApproval(n *ProgramNode, last bool) truth {
	switch node := n.ID; {
	case c == nil || n.Foreach != nil: // of a foreach, the output is a list
		return unknown
	case c.kind == condPlain:
		r := c.operand
		of := r.Root == RefOutput && r.node == node || r.Root == RefLast && last
		if !of || len(r.path) != 1 || r.path[0] != "approved" {
			return unknown
		}
		s := scope{last: map[string]any{"approved": true}, output: func(string) (any, bool) { return map[string]any{"approved": true}, true }}
		holds, _, _ := c.evaluate(&s)
		return truthOf(holds)
	case c.kind == condExpr:
		return approvedTruth(c.expr.tree, node, last)
	}
	return unknown
}

// approvedTruth is afterApproval of an expression.
func approvedTruth(e celast.Expr, node string, last bool) truth {
	of := func(e celast.Expr) truth { return approvedTruth(e, node, last) }
	switch e.Kind() {
	case celast.LiteralKind:
		if b, ok := e.AsLiteral().(types.Bool); ok {
			return truthOf(bool(b))
		}
	case celast.SelectKind:
		if s := e.AsSelect(); !s.IsTestOnly() && s.FieldName() == "approved" && isOutputOf(s.Operand(), node, last) {
			return yes
		}
	case celast.CallKind:
		call := e.AsCall()
		args := call.Args()
		switch name := call.FunctionName(); {
		case name == "!_" && len(args) == 1:
			return of(args[0]).not()
		case len(args) != 2:
		case name == "_&&_" || name == "_||_":
			a, b, decides := of(args[0]), of(args[1]), truthOf(name == "_||_")
			switch {
			case a == decides || b == decides:
				return decides
			case a == unknown || b == unknown:
				return unknown
			}
			return decides.not()
		case name == "_==_" || name == "_!=_":
			a, b := of(args[0]), of(args[1])
			if a == unknown || b == unknown {
				return unknown
			}
			return truthOf((a == b) == (name == "_==_"))
		}
	}
	return unknown
}

// isOutputOf reports whether an expression is the output of a node.
func isOutputOf(e celast.Expr, node string, last bool) bool {
	isRoot := func(e celast.Expr, name string) bool { return e.Kind() == celast.IdentKind && e.AsIdent() == name }
	switch e.Kind() {
	case celast.IdentKind:
		return last && isRoot(e, "last")
	case celast.SelectKind:
		s := e.AsSelect()
		return isRoot(s.Operand(), "output") && s.FieldName() == node
	case celast.CallKind:
		args := e.AsCall().Args()
		if e.AsCall().FunctionName() == "_[_]" && len(args) == 2 && isRoot(args[0], "output") && args[1].Kind() == celast.LiteralKind {
			key, ok := args[1].AsLiteral().(types.String)
			return ok && string(key) == node
		}
	}
	return false
}
