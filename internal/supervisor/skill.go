package supervisor

import "github.com/kairosd/kairosd/planner"

// Skill is a planned capability, bound to a tool or an agent (SPEC 7.3, ruling
// 35).
type Skill struct {
	ID, Description string
	// Keywords by language; one of them in the intent asks for the skill.
	Keywords map[string][]string
	// Consumes are parameters that come from the step that Produces them.
	Produces, Consumes []string
	// Params names the parameters that the intent or the user's preferences may
	// fill; Defaults are used where nothing does.
	Params, Defaults map[string]any
	// DependsOn are skills that must run before, and are planned with it.
	DependsOn []string
	// Implies are skills that are added where they are available.
	Implies []string
	// MinComplexity adds the skill to intents at least that complex; 0: never.
	MinComplexity float64
	// Gate lets the step run only if another one's output says so.
	Gate            *Gate
	EstimatedMs     int64
	EstimatedTokens int64
	Retry           *planner.StepRetry
	Tool, Agent     string
	// Unsafe skills end in a tool or agent whose effect cannot be repeated.
	Unsafe bool
}

// Gate is a condition over the output of another skill's step: an expression
// in which `result` is that output.
type Gate struct {
	Skill string
	Expr  string
}

// defaultRetry is [001]'s.
var defaultRetry = planner.StepRetry{MaxAttempts: 3, BackoffMs: []int64{1000, 2000, 4000}}
