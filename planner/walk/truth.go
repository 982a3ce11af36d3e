package walk

import (
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
)

// Truth is the value of a condition as far as it is known before evaluation.
type Truth int

const (
	TruthUnknown Truth = iota
	TruthYes
	TruthNo
)

func truthOf(b bool) Truth {
	if b {
		return TruthYes
	}
	return TruthNo
}

func (t Truth) not() Truth {
	switch t {
	case TruthYes:
		return TruthNo
	case TruthNo:
		return TruthYes
	}
	return TruthUnknown
}

// AfterApproval returns the value that the condition has after the node was approved, whatever the
// other values are. last means that `last` is the output of the node.
func (c *Condition) AfterApproval(n *ProgramNode, last bool) Truth {
	switch node := n.ID; {
	case c == nil || n.Foreach != nil: // the output of a foreach is a list
		return TruthUnknown
	case c.kind == condPlain:
		r := c.operand
		of := r.Root == RefOutput && r.node == node || r.Root == RefLast && last
		if !of || len(r.path) != 1 || r.path[0] != "approved" {
			return TruthUnknown
		}
		s := scope{
			last:   map[string]any{"approved": true},
			output: func(string) (any, bool) { return map[string]any{"approved": true}, true },
		}
		holds, _, _ := c.evaluate(&s)
		return truthOf(holds)
	case c.kind == condExpr:
		return approvedTruth(c.expr.tree, node, last)
	}
	return TruthUnknown
}

// approvedTruth is AfterApproval for an expression.
func approvedTruth(e celast.Expr, node string, last bool) Truth {
	of := func(e celast.Expr) Truth { return approvedTruth(e, node, last) }
	switch e.Kind() {
	case celast.LiteralKind:
		if b, ok := e.AsLiteral().(types.Bool); ok {
			return truthOf(bool(b))
		}
	case celast.SelectKind:
		if s := e.AsSelect(); !s.IsTestOnly() && s.FieldName() == "approved" && isOutputOf(s.Operand(), node, last) {
			return TruthYes
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
			case a == TruthUnknown || b == TruthUnknown:
				return TruthUnknown
			}
			return decides.not()
		case name == "_==_" || name == "_!=_":
			a, b := of(args[0]), of(args[1])
			if a == TruthUnknown || b == TruthUnknown {
				return TruthUnknown
			}
			return truthOf((a == b) == (name == "_==_"))
		}
	}
	return TruthUnknown
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
