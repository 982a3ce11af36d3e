package planner

import (
	"errors"
	"strings"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// when checks the condition of a step with needs.
func (k *compiler) when(n *walk.ProgramNode, s *spec) {
	n.When = walk.WhenSuccess
	if s.When == "" {
		return
	}
	if len(s.Needs) == 0 {
		suggestion := message.New("add needs:, or put the condition on an edge")
		if s.step {
			suggestion = message.New("add dependencies:, or remove the condition")
		}
		k.r.error(
			s.field("when"),
			s.ID,
			"when.without_needs",
			suggestion,
			"step %s has a condition, but depends on no step",
			jsonvalue.Quote(s.ID),
		)
	}
	switch w := walk.When(s.When); w {
	case walk.WhenSuccess, walk.WhenFailure, walk.WhenAlways:
		n.When = w
		return
	}
	var err error
	n.When = walk.WhenCondition
	at, text := s.field("when"), s.When
	if s.custom != "" {
		text = s.custom
		if v := at.get("expr"); v != nil {
			at = v
		}
		n.WhenCond, err = k.condition(text, walk.ParseExpression)
		n.WhenUnknown = s.unknown
	} else {
		n.WhenCond, err = k.condition(text, walk.ParseCondition)
	}
	switch {
	case err != nil:
		n.WhenCond = nil
		k.syntax(err, at, s.ID, "when")
	case n.WhenCond.Fallback() || n.WhenCond.OnFailure():
		k.r.error(
			at,
			s.ID,
			"when.condition",
			message.New("write success, failure, always, or a comparison"),
			"invalid condition %s of when",
			jsonvalue.Quote(s.When),
		)
	default:
		k.comparedAsText(n.WhenCond, at, s.ID)
	}
}

// comparedAsText warns of a plain condition whose author probably meant an expression.
func (k *compiler) comparedAsText(c *walk.Condition, at *tree, node string) {
	if !c.Plain() {
		return
	}
	for _, sign := range []string{"&&", "||", "==", "!=", "<=", ">=", " < ", " > "} {
		if strings.Contains(c.Value(), sign) {
			k.r.warn(at, node, "condition.plain", message.New("did you mean expr: %s?", strings.TrimSpace(c.Text)),
				"the value %s contains %s, but is compared as text", jsonvalue.Quote(c.Value()), strings.TrimSpace(sign))
			return
		}
	}
}

// itemUse reports references to the item outside a foreach.
func (k *compiler) itemUse(n *walk.ProgramNode, s *spec) {
	if n.Input == nil {
		return
	}
	for _, ref := range n.Input.References() {
		if ref.Root == walk.RefItem || ref.Root == walk.RefIndex {
			k.r.error(
				k.insideText(s.field("input").at(ref.At), "${"+ref.Text),
				s.ID,
				"ref.item",
				message.New("add foreach: with the list"),
				"${%s} is used outside a foreach",
				ref.Text,
			)
		}
	}
}

// foreach checks the list that a step runs over.
func (k *compiler) foreach(n *walk.ProgramNode, s *spec) {
	if s.Foreach == "" {
		k.itemUse(n, s)
		if s.MaxParallel > 0 {
			k.r.warn(
				s.field("max_parallel"),
				s.ID,
				"node.max_parallel",
				message.New("add foreach:, or remove it"),
				"max_parallel has no effect without foreach",
			)
		}
		return
	}
	text := strings.TrimSpace(s.Foreach)
	if inner, ok := strings.CutPrefix(text, "${"); ok {
		if text, ok = strings.CutSuffix(inner, "}"); !ok {
			k.r.error(
				s.field("foreach"),
				s.ID,
				"ref.malformed",
				message.New("add }, or remove ${"),
				"foreach: unclosed reference: ${ without }",
			)
			return
		}
	}
	ref, err := walk.ParseReference(text)
	if err != nil {
		e, ok := errors.AsType[*walk.SyntaxError](err)
		if !ok {
			e = &walk.SyntaxError{Message: message.Verbatim(err.Error())}
		}
		k.r.error(
			k.column(s.field("foreach"), e.Column+max(0, strings.Index(s.Foreach, text))),
			s.ID,
			"ref.malformed",
			e.Suggestion,
			"foreach: %s",
			e.Message,
		)
		return
	}
	switch ref.Root {
	case walk.RefItem, walk.RefIndex, walk.RefRun, walk.RefSecret:
		k.r.error(
			s.field("foreach"),
			s.ID,
			"foreach.reference",
			message.New("refer to input, last, memory, or output.<node>"),
			"%s is not a list",
			jsonvalue.Quote(s.Foreach),
		)
		return
	}
	n.Foreach = ref
}
