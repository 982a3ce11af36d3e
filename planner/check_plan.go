package planner

import (
	"errors"
	"strings"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonschema"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// subPlan checks the plans that a step of type plan may run.
func subPlan(k *compiler, n *walk.ProgramNode, s *spec) {
	if !strings.Contains(s.Plan, "${") {
		if len(s.Plans) > 0 {
			k.r.Error(s.field("plans"), s.ID, "node.plans", message.New("remove it, or compute the plan: plan: \"${…}\""),
				"step %s always runs the plan %s, so it needs no list", jsonvalue.Quote(s.ID), jsonvalue.Quote(s.Plan))
			return
		}
		planName(k, n, s, s.Plan, s.field("plan"))
		return
	}
	if IsFileName(s.Plan) {
		k.r.Error(s.field("plan"), s.ID, "plan.file", message.New("compute a plan id, and list the files: plans: [./a.yaml, ./b.yaml]"),
			"a computed plan cannot be a file")
		return
	}
	t, err := walk.ParseTemplate(s.Plan, nil)
	if e, ok := errors.AsType[*walk.TemplateError](err); ok {
		k.r.Error(k.column(s.field("plan"), e.Column), s.ID, "ref.malformed", e.Suggestion, "plan: %s", e.Localize())
		return
	}
	for _, ref := range t.References() {
		if ref.Root == walk.RefSecret || ref.IsCallback() {
			k.r.Error(s.field("plan"), s.ID, "ref.malformed", message.New("refer to input, last, item, value, or output.<node>"),
				"plan cannot use ${%s}", ref.Text)
			return
		}
	}
	if len(s.Plans) == 0 {
		k.r.Error(s.field("plan"), s.ID, "node.plans", message.New("list the plans that it can name: plans: [a, b]"),
			"step %s computes the name of its plan, and has no list of plans", jsonvalue.Quote(s.ID))
		return
	}
	n.Computed, n.Plans = t, s.Plans
	for i, name := range s.Plans {
		at := s.field("plans")
		if i < len(at.Items) {
			at = at.Items[i]
		}
		planName(k, n, s, name, at)
	}
}

// planName checks one plan that a step runs: its name, and if the plan is stored, the input.
func planName(k *compiler, n *walk.ProgramNode, s *spec, name string, at *source.Tree) {
	key, version, versioned := strings.Cut(name, "@")
	switch {
	case key == "":
		k.r.Error(at, s.ID, "node.plan_missing", message.New("add plan: with the id of a plan, or id@version"),
			"step %s names no plan", jsonvalue.Quote(s.ID))
	case IsFileName(name):
		k.r.Error(at, s.ID, "plan.file",
			message.New("store the files together with kairos plans add FILE, or write the id of a stored plan"),
			"%s names a file, which this document was sent without", jsonvalue.Quote(name))
	case versioned && !validVersion(version):
		k.r.Error(at, s.ID, "node.plan_version", message.New("write it like billing@3"), "invalid plan version %s",
			jsonvalue.Quote(version))
	case key == k.d.ID && !versioned:
		k.r.Warn(at, s.ID, "subplan.recursion", message.New("add a condition that ends it; at most 8 levels run"),
			"the plan runs itself")
	case k.c != nil && k.c.Plan != nil:
		info, ok := k.c.Plan(name, k.d.Profile)
		if !ok {
			advice := message.New("store it before a run starts")
			if looksLikeFile(name) {
				advice = message.New("to name a file, write ./%s", name)
			}
			k.r.Warn(at, s.ID, "subplan.unknown", advice, "the plan %s is not stored", jsonvalue.Quote(name))
			return
		}
		planInput(k, n, s, name, info)
	}
}

// IsFileName reports whether the name of a plan in a step is the path of a file. Package planfile replaces it with
// the id of the plan in the file.
func IsFileName(name string) bool {
	return strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../")
}

func looksLikeFile(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") || strings.HasSuffix(name, ".json")
}

// planInput warns of a literal input that the plan does not accept.
func planInput(k *compiler, n *walk.ProgramNode, s *spec, name string, info PlanInfo) {
	if info.Input == nil || n.Input == nil || len(n.Input.References()) > 0 {
		return
	}
	schema, err := jsonschema.Parse(info.Input)
	if err != nil {
		return // the other plan has this problem
	}
	for _, p := range schema.Validate(s.Input) {
		k.r.Warn(s.field("input").At(p.Path), s.ID, "node.input_invalid", message.Message{}, "plan %s will reject this input: %s", name, p)
	}
}
