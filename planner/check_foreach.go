package planner

import (
	"errors"
	"strings"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// rules maps each rule of `when` to its meaning.
var rules = map[string]walk.When{
	"success": walk.WhenSuccess, "any_success": walk.WhenAnySuccess, "none_failed": walk.WhenNoneFailed, "failure": walk.WhenFailure,
	"always": walk.WhenAlways, "all_done": walk.WhenAlways,
}

// when checks the rule and the condition of a step.
func (k *compiler) when(n *walk.ProgramNode, s *spec) {
	n.When = walk.WhenSuccess
	at := s.field("when")
	if len(s.Race) > 0 {
		n.When = walk.WhenFirst
		return
	}
	if rule, ok := rules[s.When]; ok && s.After == "" && s.custom == "" {
		n.When = rule
		if len(s.Needs) == 0 {
			withoutNeeds(k.r, s)
		}
		return
	}
	if s.After != "" {
		rule, ok := rules[string(s.After)]
		switch {
		case !ok:
			k.r.Error(at.At([]string{"after"}), s.ID, "when.condition",
				k.r.Suggest(string(s.After), func() []string { return keys(rules) },
					message.New("write success, any_success, none_failed, failure, or always")),
				"unknown rule %s of when", jsonvalue.Quote(string(s.After)))
		case len(s.Needs) == 0:
			withoutNeeds(k.r, s)
		}
		n.When = rule
	}
	if s.When == "" && s.custom == "" {
		return
	}
	if at.Kind == source.Map {
		at = at.At([]string{"if"})
	}
	parse, text := walk.ParseCondition, s.When
	if s.custom != "" {
		parse, text, n.WhenUnknown = walk.ParseExpression, s.custom, s.unknown
		if v := s.field("when").Get("expr"); v != nil {
			at = v
		}
	}
	cond, err := k.condition(text, parse)
	switch {
	case err != nil:
		k.syntax(err, at, s.ID, "when")
	case cond.Fallback() || cond.OnFailure():
		k.r.Error(at, s.ID, "when.condition", message.New("write success, any_success, none_failed, failure, always, or a comparison"),
			"invalid condition %s of when", jsonvalue.Quote(s.When))
	case len(s.Needs) == 0 && s.step && !s.finally:
		withoutNeeds(k.r, s)
	case len(s.Needs) == 0 && cond.ReadsMemory():
		k.r.Error(at, s.ID, "when.condition", message.New("write needs: with a step that runs first"),
			"the condition of a first step cannot read memory, which is loaded later")
	default:
		n.WhenCond = cond
		k.comparedAsText(cond, at, s.ID)
	}
}

// withoutNeeds reports a `when` that only makes sense for a step that needs others.
func withoutNeeds(r *reporter, s *spec) {
	suggestion := message.New("add needs:, or put the condition on an edge")
	switch {
	case s.step && s.finally:
		suggestion = message.New("write %s", "condition: {type: custom, expr: \"last.status == 'failed'\"}")
	case s.step:
		suggestion = message.New("add dependencies:, or remove the condition")
	case s.finally:
		suggestion = message.New("write %s", "when: last.status==failed")
	}
	r.Error(s.field("when"), s.ID, "when.without_needs", suggestion,
		"step %s has a condition, but depends on no step", jsonvalue.Quote(s.ID))
}

// comparedAsText warns of a plain condition whose author probably meant an expression.
func (k *compiler) comparedAsText(c *walk.Condition, at *source.Tree, node string) {
	if !c.Plain() {
		return
	}
	for _, sign := range []string{"&&", "||", "==", "!=", "<=", ">=", " < ", " > "} {
		if strings.Contains(c.Value(), sign) {
			k.r.Warn(at, node, "condition.plain", message.New("did you mean expr: %s?", strings.TrimSpace(c.Text)),
				"the value %s contains %s, but is compared as text", jsonvalue.Quote(c.Value()), strings.TrimSpace(sign))
			return
		}
	}
}

// usesItem reports whether a reference reads the item of a list, or its index.
func usesItem(ref *walk.Reference) bool { return ref.Root == walk.RefItem || ref.Root == walk.RefIndex }

// itemUse reports references to the item outside a foreach. s may be the undo of a step.
func (k *compiler) itemUse(n *walk.ProgramNode, s *spec) {
	if k.p.Each {
		return
	}
	if n.Computed != nil {
		for _, ref := range n.Computed.References() {
			if usesItem(ref.Reference) {
				k.r.Error(k.insideText(s.field("plan"), "${"+ref.Text), s.ID, "ref.item",
					message.New("add foreach: with the list"), "${%s} is used outside a foreach", ref.Text)
			}
		}
	}
	if n.Input == nil {
		return
	}
	for _, ref := range n.Input.References() {
		if usesItem(ref.Reference) {
			k.r.Error(k.insideText(s.field("input").At(ref.At), "${"+ref.Text), s.ID, "ref.item",
				message.New("add foreach: with the list"), "${%s} is used outside a foreach", ref.Text)
		}
	}
}

// foreach checks the list that a step runs over.
func (k *compiler) foreach(n *walk.ProgramNode, s *spec) {
	if s.Foreach == nil || s.Foreach == "" {
		k.itemUse(n, s)
		if s.MaxParallel > 0 {
			k.r.Warn(s.field("max_parallel"), s.ID, "node.max_parallel", message.New("add foreach:, or remove it"),
				"max_parallel has no effect without foreach")
		}
		return
	}
	at := s.field("foreach")
	list, err := walk.ParseList(s.Foreach)
	if e, ok := errors.AsType[*walk.TemplateError](err); ok {
		k.r.Error(k.column(at.At(e.At), e.Column), s.ID, "ref.malformed", e.Suggestion, "foreach: %s", e.Message)
		return
	}
	if e, ok := errors.AsType[*walk.SyntaxError](err); ok {
		if at.Kind == source.String {
			at = k.column(at, e.Column)
		}
		k.r.Error(at, s.ID, "foreach.reference", e.Suggestion, "foreach: %s", e.Message)
		return
	}
	for _, ref := range list.References() {
		if usesItem(ref) && !k.p.Each || ref.Root == walk.RefSecret || ref.IsCallback() {
			k.r.Error(at, s.ID, "foreach.reference", message.New("refer to input, last, memory, value, or output.<node>"),
				"foreach: the list cannot use ${%s}", ref.Text)
			return
		}
	}
	n.Foreach = list
}
