package planner

import (
	"maps"
	"math"
	"slices"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

func decodeSteps(s *StepPlan, o *object) {
	steps := o.list("steps")
	if len(steps) == 0 {
		o.r.Error(o.t.Get("steps"), "", "plan.no_nodes", message.New("add a step"), "the plan has no steps")
	}
	if len(steps) > MaxNodes {
		o.r.Error(o.t.Get("steps"), "", "plan.too_many_nodes", message.New("split the plan into sub-plans"),
			"the plan has %d steps; at most %d are allowed", len(steps), MaxNodes)
		return
	}
	for _, t := range steps {
		s.Steps = append(s.Steps, decodeStep(t, o.r))
	}
	for _, t := range o.list("finally") {
		s.Finally = append(s.Finally, decodeStep(t, o.r))
	}
	if n := len(s.Steps) + len(s.Finally); n > MaxNodes {
		o.r.Error(o.t.Get("finally"), "", "plan.too_many_nodes", message.New("split the plan into sub-plans"),
			"the plan has %d steps; at most %d are allowed", n, MaxNodes)
	}
}

func decodeStep(t *source.Tree, r *reporter) Step {
	id := ""
	if v := t.Get("id"); v != nil && v.Kind == source.String {
		id = v.Text
	}
	o := newObject(t, r, "step", id)
	o.field("use") // replaced by the keys of the template
	s := Step{ID: o.text("id"), Order: int(o.integer("order", 0, math.MaxInt32)), SkillID: o.text("skillId"), AgentID: o.text("agentId"),
		Tool: o.text("tool"), Task: o.text("task"), Dependencies: o.texts("dependencies"), ExpectedOutput: o.text("expectedOutput"),
		Timeout: o.duration("timeout"), OnReject: o.text("on_reject")}
	if v := t.Get("id"); t.Kind == source.Map && (v == nil || v.Kind == source.String && v.Text == "") {
		r.Error(t, "", "step.id_missing", message.Message{}, "a step has no id")
	}
	s.Params = decodeParams(o)
	if v := o.field("outputSchema"); v != nil {
		s.OutputSchema = v.Value()
	}
	if c := o.object("condition", "condition"); c != nil {
		s.Condition = &StepCondition{Type: c.text("type"), Expr: c.text("expr"), Unknown: c.text("unknown")}
		switch s.Condition.Type {
		case "success", "failure", "always":
			if v := c.t.Get("expr"); v != nil && v.Kind != source.Null {
				r.Error(v, id, "condition.expr", message.New("write %s", "type: custom"), "expr needs a condition of type custom")
			}
			if v := c.t.Get("unknown"); v != nil && v.Kind != source.Null {
				r.Error(v, id, "condition.expr", message.New("write %s", "type: custom"), "unknown needs a condition of type custom")
			}
		case "custom":
			if s.Condition.Expr == "" {
				r.Error(c.t, id, "condition.expr", message.New("add expr: with an expression"), "a custom condition needs expr")
			}
			if u := s.Condition.Unknown; u != "" && u != walk.UnknownFail && u != walk.UnknownSkip {
				r.Error(c.t.Get("unknown"), id, "field.value", message.New("write fail or skip"), "unknown must be fail or skip, not %s",
					jsonvalue.Quote(u))
			}
		default:
			if c.bad {
				break
			}
			r.Error(c.t, id, "field.value", message.New("write success, failure, always, or custom"), "unknown condition type %s",
				jsonvalue.Quote(s.Condition.Type))
		}
		c.finish()
	}
	s.Retry = decodeStepRetry(o)
	s.OnError, s.ErrorRules = decodeOnError(o, func(o *object) *Retry { return stepRetry(decodeStepRetry(o)) })
	s.Undo = decodeStepUndo(o)
	checkOnReject(o, s.OnReject)
	o.finish()
	return s
}

func decodeParams(o *object) map[string]any {
	p := o.field("params")
	if p == nil {
		return nil
	}
	m, ok := p.Value().(map[string]any)
	if !ok {
		o.wrong(p, "params", message.New("an object"))
	}
	return m
}

func decodeStepRetry(o *object) *StepRetry {
	f := o.object("retry", "retry")
	if f == nil {
		return nil
	}
	if f.t.Get("maxAttempts") == nil && !f.bad {
		f.r.Error(f.t, f.node, "retry.max_attempts", message.New("set the number of attempts, including the first"),
			"retry needs maxAttempts")
	}
	retry := &StepRetry{MaxAttempts: max(1, int(f.integer("maxAttempts", 1, 1000)))}
	for _, e := range f.list("backoffMs") {
		one := &source.Tree{Kind: source.Map}
		one.Set("backoffMs", e)
		g := &object{t: one, r: f.r, node: f.node, what: "retry"}
		retry.BackoffMs = append(retry.BackoffMs, g.integer("backoffMs", 0, maxDuration.Milliseconds()))
	}
	f.finish()
	return retry
}

func decodeStepMetadata(s *StepPlan, o *object) {
	f := o.object("metadata", "metadata")
	if f == nil {
		return
	}
	s.Plan = PlanMetadata{CreatedBy: f.text("createdBy"), CreatedAt: f.text("createdAt"), Confidence: f.number("confidence", 0)}
	if s.Plan.Confidence > 1 {
		f.r.Error(f.t.Get("confidence"), "", "field.range", message.Message{}, "confidence must be from 0 to 1")
	}
	for _, e := range f.list("alternatives") {
		s.Plan.Alternatives = append(s.Plan.Alternatives, e.Value())
	}
	m, _ := f.t.Value().(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(f.read, k) {
			if s.Plan.Extra == nil {
				s.Plan.Extra = map[string]any{}
			}
			s.Plan.Extra[k] = m[k]
		}
	}
}
