package planning

import (
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Types of a planning request [001], which the domain defines.
type (
	Request       = domain.PlanningRequest
	UserContext   = domain.UserContext
	SystemContext = domain.SystemContext
	RateLimit     = domain.RateLimit
	Constraints   = domain.Constraints
)

// Error codes of a request that gets no plan [001].
const (
	CodeInsufficientResources = "INSUFFICIENT_RESOURCES"
	CodeNoValidPlan           = "NO_VALID_PLAN"
)

// Error is the reason why there is no plan.
type Error = domain.PlanError

// newPlan returns an empty plan named after the goal of the request.
func newPlan(goal string) *planner.StepPlan {
	return &planner.StepPlan{Name: goal, Description: goal, Plan: planner.PlanMetadata{CreatedBy: "planner"}}
}

// bound sets the limits and the priority of a plan's runs from the constraints. It also stores the
// user's preferences for the agents of the steps.
func bound(p *planner.StepPlan, r Request) {
	c := r.Constraints
	if t := c.TimeLimit(); t > 0 {
		p.Limits.MaxDuration = walk.Duration(t)
	}
	if c.Budget > 0 {
		p.Limits.MaxTokens = int64(c.Budget)
	}
	if c.Priority != "" {
		extra(p, planner.MetadataPriority, c.Priority)
	}
	if len(r.UserContext.Preferences) > 0 {
		if v, err := jsonvalue.Normalize(r.UserContext.Preferences); err == nil {
			extra(p, planner.MetadataPreferences, v)
		}
	}
}

// violation is a violated rule and a suggestion. resource is true if the request could be planned
// with more tokens, time, or calls.
type violation struct {
	rule         string
	text, advice domain.Message
	resource     bool
}

func tooManySteps(needed, allowed int) violation {
	return violation{
		rule:   "POST-PLAN-004",
		text:   domain.Messagef("Plan must respect all constraints (%d steps are needed, %d are allowed)", needed, allowed),
		advice: domain.Messagef("Allow at least %d steps (maxSteps), or simplify the request", needed),
	}
}

func tooManyTokens(rule string, needed, allowed float64) violation {
	text := domain.Messagef("Plan must respect all constraints (%.0f tokens are needed, %.0f are allowed)", needed, allowed)
	if rule == "PRE-PLAN-003" {
		text = domain.Messagef("Sufficient token budget must be available (%.0f tokens are needed, %.0f are allowed)", needed, allowed)
	}
	return violation{rule: rule, text: text,
		advice: domain.Messagef("Increase budget or simplify request: at least %d tokens", int64(needed)), resource: true}
}

func tooSlow(ms, allowed float64) violation {
	return violation{
		rule:     "POST-PLAN-004",
		text:     domain.Messagef("Plan must respect all constraints (%.0f ms are estimated, %.0f ms are allowed)", ms, allowed),
		advice:   domain.Messagef("Allow at least %.0f ms (timeout), or simplify the request", ms),
		resource: true,
	}
}

// noPlan returns the error of a request that cannot be planned.
func noPlan(why, advice domain.Message) *Error {
	return domain.NewPlanError(CodeNoValidPlan, domain.Messagef("Cannot create valid execution plan for request: %s", why), advice)
}

func rephrase() domain.Message { return domain.Messagef("Rephrase request or make skills available") }

// refuse converts violated rules into an error. The code is INSUFFICIENT_RESOURCES if larger limits
// would allow a plan, and NO_VALID_PLAN otherwise.
func refuse(list []violation) *Error {
	var rules []string
	var texts, advice domain.Message
	resource := true
	known := map[string]bool{}
	for _, v := range list {
		resource = resource && v.resource
		rules = append(rules, v.rule)
		texts = joined(texts, v.text)
		if english := v.advice.String(); english != "" && !known[english] {
			known[english] = true
			advice = joined(advice, v.advice)
		}
	}
	if advice.IsZero() {
		advice = rephrase()
	}
	var e *Error
	if resource {
		e = domain.NewPlanError(
			CodeInsufficientResources,
			domain.Messagef("Cannot create plan within budget constraints: %s", texts),
			advice,
		)
		e.Recoverable = true
	} else {
		e = noPlan(texts, advice)
	}
	e.Violations = rules
	return e
}

// joined concatenates messages.
func joined(a, b domain.Message) domain.Message {
	if a.IsZero() {
		return b
	}
	return domain.Messagef("%s; %s", a, b)
}

// preconditions lists all violated rules of PRE-PLAN-001 to 003. a is the analysis of the request,
// why contains the reasons against skills, and tokens is the estimated need of the required skills.
func preconditions(r Request, a Analysis, usable map[string]bool, why map[string]string, tokens int64) []violation {
	var out []violation
	invalid := func(detail, advice string) {
		out = append(
			out,
			violation{
				rule:   "PRE-PLAN-001",
				text:   domain.Messagef("Planning request must have valid intent and available skills (%s)", detail),
				advice: domain.Messagef(advice),
			},
		)
	}
	if strings.TrimSpace(r.UserIntent) == "" {
		invalid("the request is empty", "Describe what you want")
	}
	if len(r.SystemContext.AvailableSkills) == 0 {
		invalid("no skill is available", "Rephrase request or make skills available")
	}
	if t := r.Constraints.Timeout; t != nil && *t <= 0 {
		out = append(out, badTimeout(*t))
	}
	var missing []string
	for _, id := range a.RequiredSkills {
		if usable[id] {
			continue
		}
		if reason := why[id]; reason != "" {
			id += " (" + reason + ")"
		}
		missing = append(missing, id)
	}
	if len(missing) > 0 {
		out = append(
			out,
			violation{
				rule:   "PRE-PLAN-002",
				text:   domain.Messagef("All required skills must be available (missing: %s)", strings.Join(missing, ", ")),
				advice: domain.Messagef("Rephrase request or make skills available"),
			},
		)
	}
	if r.Constraints.Budget > 0 && float64(tokens) > r.Constraints.Budget {
		out = append(out, tooManyTokens("PRE-PLAN-003", float64(tokens), r.Constraints.Budget))
	}
	return out
}

func badTimeout(ms float64) violation {
	return violation{
		rule:   "PRE-PLAN-001",
		text:   domain.Messagef("Planning request must have valid intent and available skills (timeout is %g ms)", ms),
		advice: domain.Messagef("Set a timeout above 0, or omit it"),
	}
}
