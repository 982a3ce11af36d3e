package supervisor

import (
	"fmt"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// The words of a planning request [001].
type (
	Request       = kairos.PlanningRequest
	UserContext   = kairos.UserContext
	SystemContext = kairos.SystemContext
	RateLimit     = kairos.RateLimit
	Constraints   = kairos.Constraints
)

// Codes of a request that gets no plan [001].
const (
	CodeInsufficientResources = "INSUFFICIENT_RESOURCES"
	CodeNoValidPlan           = "NO_VALID_PLAN"
)

// Error says why there is no plan.
type Error = kairos.PlanError

// newPlan begins a plan; what it is called follows from the request.
func newPlan(goal string) *planner.StepPlan {
	return &planner.StepPlan{Name: goal, Description: goal, Plan: planner.PlanMetadata{CreatedBy: "planner"}}
}

// bound makes constraints the limits and the priority of a plan's runs (ruling 35).
func bound(p *planner.StepPlan, c Constraints) {
	if t := c.TimeLimit(); t > 0 {
		p.Limits.MaxDuration = planner.Duration(t)
	}
	if c.Budget > 0 {
		p.Limits.MaxTokens = int64(c.Budget)
	}
	if c.Priority != "" {
		if p.Plan.Extra == nil {
			p.Plan.Extra = map[string]any{}
		}
		p.Plan.Extra[planner.MetadataPriority] = c.Priority
	}
}

// violation is a broken rule.
type violation struct{ rule, text string }

// refuse makes the error of violated rules: what a request cannot have at all is
// NO_VALID_PLAN; too small a budget alone can be mended (ruling 35).
func refuse(list []violation) *Error {
	e := &Error{Code: CodeInsufficientResources, Message: "Cannot create plan within budget constraints", Recoverable: true, Suggestion: "Increase budget or simplify request"}
	var texts []string
	for _, v := range list {
		if v.rule != "PRE-PLAN-003" {
			e.Code, e.Message, e.Recoverable, e.Suggestion = CodeNoValidPlan, "Cannot create valid execution plan for request", false, "Rephrase request or make skills available"
		}
		e.Violations = append(e.Violations, v.rule)
		texts = append(texts, v.text)
	}
	if len(texts) > 0 {
		e.Message += ": " + strings.Join(texts, "; ")
	}
	return e
}

// preconditions lists every violated rule PRE-PLAN-001 to 003. a is what the
// intent asks for, and tokens what the required skills are estimated to need.
func preconditions(r Request, a Analysis, usable map[string]bool, tokens int64) []violation {
	var out []violation
	if strings.TrimSpace(r.UserIntent) == "" || len(r.SystemContext.AvailableSkills) == 0 || r.Constraints.Timeout != nil && *r.Constraints.Timeout <= 0 {
		out = append(out, violation{"PRE-PLAN-001", "Planning request must have valid intent and available skills"})
	}
	var missing []string
	for _, id := range a.RequiredSkills {
		if !usable[id] {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		out = append(out, violation{"PRE-PLAN-002", fmt.Sprintf("All required skills must be available (missing: %s)", strings.Join(missing, ", "))})
	}
	if r.Constraints.Budget > 0 && float64(tokens) > r.Constraints.Budget {
		out = append(out, violation{"PRE-PLAN-003", "Sufficient token budget must be available"})
	}
	return out
}
