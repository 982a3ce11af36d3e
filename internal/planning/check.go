package planning

import (
	"fmt"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// Broken is a contract that a plan does not keep.
type Broken struct {
	Rule string `json:"rule"` // POST-PLAN-001 …
	Text string `json:"text"`

	message, advice domain.Message
	resource        bool
}

// CheckPlan checks the postconditions POST-PLAN-001 to 003 and the invariant
// INV-PLAN-002 of a step plan, whoever made it, and with a request also
// POST-PLAN-004. INV-PLAN-001 is a property of planning twice.
func CheckPlan(p *planner.StepPlan, r *Request) []Broken {
	var out []Broken
	add := func(rule, format string, args ...any) {
		out = append(out, Broken{Rule: rule, Text: fmt.Sprintf(format, args...), message: domain.Messagef(format, args...)})
	}
	order := map[string]int{}
	whole := len(p.Steps) > 0
	for _, s := range p.Steps {
		order[s.ID] = s.Order
		if s.SkillID == "" && s.AgentID == "" && s.Tool == "" || s.Order < 0 {
			whole = false
		}
	}
	if !whole {
		add("POST-PLAN-001", "Plan must have at least one valid step")
	}
	var unknown, late []string
	for _, s := range p.Steps {
		for _, d := range s.Dependencies {
			before, ok := order[d]
			switch {
			case !ok:
				unknown = append(unknown, d)
			case before >= s.Order:
				late = append(late, fmt.Sprintf("%s before %s", d, s.ID))
			}
		}
	}
	if len(unknown) > 0 {
		add("POST-PLAN-002", "All step dependencies must reference valid steps (unknown: %s)", strings.Join(unknown, ", "))
	}
	if len(late) > 0 {
		add("POST-PLAN-003", "Step dependencies must be executed before dependent steps (%s)", strings.Join(late, ", "))
	}
	if r != nil {
		var over []violation
		c := r.Constraints
		if c.MaxSteps > 0 && len(p.Steps) > c.MaxSteps {
			over = append(over, tooManySteps(len(p.Steps), c.MaxSteps))
		}
		if c.Timeout != nil && float64(p.EstimatedDurationMs) > *c.Timeout {
			over = append(over, tooSlow(float64(p.EstimatedDurationMs), *c.Timeout))
		}
		if c.Budget > 0 && p.EstimatedCost > c.Budget {
			over = append(over, tooManyTokens("POST-PLAN-004", p.EstimatedCost, c.Budget))
		}
		for _, v := range over {
			out = append(out, Broken{Rule: v.rule, Text: v.text.String(), message: v.text, advice: v.advice, resource: v.resource})
		}
	}
	if cyclic(p) {
		add("INV-PLAN-002", "Plan must have no cyclic dependencies")
	}
	return out
}

// cyclic reports whether following dependencies leads back to a step.
func cyclic(p *planner.StepPlan) bool {
	needs := map[string][]string{}
	for _, s := range p.Steps {
		needs[s.ID] = s.Dependencies
	}
	const open, done = 1, 2
	state := map[string]int{}
	type frame struct {
		id   string
		next int
	}
	for _, s := range p.Steps {
		stack := []frame{{id: s.ID}}
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if f.next == 0 {
				if state[f.id] == done {
					stack = stack[:len(stack)-1]
					continue
				}
				state[f.id] = open
			}
			if f.next == len(needs[f.id]) {
				state[f.id] = done
				stack = stack[:len(stack)-1]
				continue
			}
			d := needs[f.id][f.next]
			f.next++
			if state[d] == open {
				return true
			}
			stack = append(stack, frame{id: d})
		}
	}
	return false
}

func asViolations(list []Broken) []violation {
	out := make([]violation, len(list))
	for i, b := range list {
		out[i] = violation{b.Rule, b.message, b.advice, b.resource}
	}
	return out
}
