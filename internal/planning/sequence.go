package planning

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// serial reports whether the steps of a plan run one after the other because the system load is 0.9
// or more.
func serial(r Request) bool { return r.SystemContext.SystemLoad >= 0.9 }

// needed reports whether a chosen skill depends on id.
func (p *Rules) needed(id string, chosen []string) bool {
	return slices.ContainsFunc(chosen, func(c string) bool { return slices.Contains(p.byID[c].DependsOn, id) })
}

// sequence is phases 3 and 4. It sorts the skills topologically with a stable order, adds only
// dependencies that carry a value or a gate, connects data by reference, and sets retries.
func (p *Rules) sequence(r Request, a Analysis, chosen []string) (*planner.StepPlan, error) {
	plan := newPlan(a.Goal)
	ids := map[string]string{}
	left := slices.Clone(chosen)
	for len(left) > 0 {
		at := slices.IndexFunc(left, func(id string) bool {
			return !slices.ContainsFunc(p.before(id, chosen), func(d string) bool { return ids[d] == "" })
		})
		if at < 0 {
			return nil, refuse(
				[]violation{
					{
						rule:   "INV-PLAN-002",
						text:   domain.Messagef("the dependencies of %s form a cycle", strings.Join(left, ", ")),
						advice: domain.Messagef("Correct depends_on of these skills"),
					},
				},
			)
		}
		s := p.byID[left[at]]
		left = slices.Delete(left, at, at+1)
		n := len(plan.Steps) + 1
		step := planner.Step{
			ID:      fmt.Sprintf("step-%d", n),
			Order:   n,
			SkillID: s.ID,
			Params:  p.params(s, a, r, ids, chosen),
			Retry:   cmp.Or(s.Retry, &defaultRetry),
		}
		if s.Agent != "" {
			step.Task = cmp.Or(s.Description, s.ID) // an agent requires a task, a tool does not
		}
		for _, d := range p.before(s.ID, chosen) {
			step.Dependencies = append(step.Dependencies, ids[d])
		}
		if g := s.Gate; g != nil && ids[g.Skill] != "" {
			step.Condition = &planner.StepCondition{Type: "custom", Expr: g.over(ids[g.Skill]), Unknown: walk.UnknownSkip}
		}
		if serial(r) && n > 1 {
			if last := fmt.Sprintf("step-%d", n-1); !slices.Contains(step.Dependencies, last) {
				step.Dependencies = append(step.Dependencies, last)
			}
		}
		ids[s.ID] = step.ID
		plan.Steps = append(plan.Steps, step)
	}
	return plan, nil
}

// before returns the chosen skills that must run before a skill: its dependencies and its gate.
func (p *Rules) before(id string, chosen []string) []string {
	s := p.byID[id]
	var out []string
	for _, c := range chosen {
		if c != id && (slices.Contains(s.DependsOn, c) || s.Gate != nil && s.Gate.Skill == c) {
			out = append(out, c)
		}
	}
	return out
}

// params sets a step's parameters: values of earlier steps, then preferences, then values in the
// request, then defaults.
func (p *Rules) params(s *Skill, a Analysis, r Request, ids map[string]string, chosen []string) map[string]any {
	out := maps.Clone(s.Defaults)
	if out == nil {
		out = map[string]any{}
	}
	for name := range s.Params {
		if v, ok := a.Parameters[name]; ok {
			out[name] = v
		} else if name == "topic" {
			out[name] = a.Goal // a request without a topic is the topic itself
		}
		if v, ok := r.UserContext.Preferences[name]; ok {
			out[name] = v
		}
	}
	for _, name := range s.Consumes {
		for _, id := range slices.Backward(chosen) {
			product := cmp.Or(s.From[name], name)
			if step := ids[id]; step != "" && slices.Contains(p.byID[id].Produces, product) {
				out[name] = step + ".result" + p.byID[id].member(product)
			}
		}
	}
	return out
}
