package planner

import (
	"errors"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// compileResult compiles the template of the run's output.
func compileResult(k *compiler, v any) {
	if v == nil {
		return
	}
	at := k.d.tree.Get("result")
	t, err := walk.ParseTemplate(v, nil)
	if err != nil {
		text, suggestion := message.Verbatim(err.Error()), message.Message{}
		if e, ok := errors.AsType[*walk.TemplateError](err); ok {
			at, text, suggestion = k.column(at.At(e.At), e.Column), e.Localize(), e.Suggestion
		}
		k.r.Error(at, "", "ref.malformed", suggestion, "result: %s", text)
		return
	}
	for _, ref := range t.References() {
		if usesItem(ref.Reference) && !k.p.Each || ref.Root == walk.RefSecret || ref.IsCallback() {
			k.r.Error(at.At(ref.At), "", "ref.malformed",
				message.New("refer to input, last, memory, value, status.<node>, or output.<node>"),
				"the result cannot use ${%s}", ref.Text)
			return
		}
	}
	k.p.Result = t
}

// resultReads lists the steps whose outputs the plan's result reads.
func (k analyzer) resultReads(f func(name string, at *source.Tree, status bool)) {
	if k.p.Result == nil {
		return
	}
	for _, ref := range k.p.Result.References() {
		if ref.Node() != "" {
			f(ref.Node(), k.insideText(k.d.tree.Get("result").At(ref.At), "${"+ref.Text), ref.Root == walk.RefStatus)
		}
	}
}

// unknownResults reports names in the plan's result that no step has.
func (k analyzer) unknownResults() {
	k.resultReads(func(name string, at *source.Tree, _ bool) {
		i, ok := k.p.Index[name]
		if ok && k.p.Nodes[i].Finally {
			k.r.Error(at, "", "ref.not_ancestor", message.New("name a step under nodes"),
				"the result refers to the finally step %s, which runs after the result is known", jsonvalue.Quote(name))
		}
		if !ok {
			k.r.Error(at, "", "ref.node_unknown", k.r.Suggest(name, k.nodeNames, message.New("add the step, or correct the name")),
				"the result refers to step %s, which does not exist", jsonvalue.Quote(name))
		}
	})
}

// checkFailInput checks the input of a step of type fail.
func checkFailInput(r *reporter, s *spec) {
	fields, ok := s.Input.(map[string]any)
	if code, given := fields["code"].(string); given {
		ok = ok && walk.ValidID(code)
	}
	for name := range fields {
		ok = ok && (name == "code" || name == "message")
	}
	if !ok {
		r.Error(s.field("input"), s.ID, "node.fail_input", message.New("write input: {code: out_of_stock, message: …}"),
			"invalid input of step %s, which has the type fail", jsonvalue.Quote(s.ID))
	}
}
