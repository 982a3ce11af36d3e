package supervisor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/agent"
	"github.com/kairosd/kairosd/planner"
)

// Mode says who makes plans (ruling 33).
type Mode string

// Auto plans by rules where a skill matches and the preconditions hold, else by
// model.
const (
	Auto    Mode = "auto"
	ByRules Mode = "rules"
	ByModel Mode = "model"
)

// Config is what a supervisor is made of.
type Config struct {
	Mode Mode // empty: Auto
	// Skip the classifier: every query is planned.
	NoHeuristics bool
	Agents       []Agent
	DefaultAgent string
	Skills       []Skill
	Recorded     func(skill string) Recorded
	// Generator plans by model; nil: rules only, as with the offline provider.
	Generator *Generator
	// OnError is what a failed step of a plan made here does: fail (empty) or
	// replan.
	OnError string
}

// Supervisor decides what becomes of a query. It is safe for concurrent use.
type Supervisor struct {
	c          Config
	classifier *Classifier
	rules      *Rules
}

// New makes a supervisor.
func New(c Config) *Supervisor {
	if c.Mode == "" {
		c.Mode = Auto
	}
	return &Supervisor{c, NewClassifier(c.Agents, c.DefaultAgent), NewRules(c.Skills, c.Recorded)}
}

// Decision is what a query becomes: a plan, or the agent that answers directly.
type Decision struct {
	Classification Classification
	// Agent answers directly; empty: the plan is executed, in the name of the
	// supervisor.
	Agent  string
	Plan   *planner.StepPlan
	Reason string
	// By is "rules" or "model"; empty without a plan.
	By    string
	Usage agent.Usage
}

var directed = regexp.MustCompile(`^/([A-Za-z_][A-Za-z0-9_.-]*)\s+(\S(?s:.*))$`)

// Directed reads `/agentId text` (ruling 33).
func (s *Supervisor) Directed(query string) (agentID, text string, ok bool) {
	m := directed.FindStringSubmatch(strings.TrimSpace(query))
	if m == nil || !s.has(m[1]) {
		return "", query, false
	}
	return m[1], m[2], true
}

func (s *Supervisor) has(id string) bool {
	return slices.ContainsFunc(s.c.Agents, func(a Agent) bool { return a.ID == id && !a.System })
}

// Classify judges a query without a model.
func (s *Supervisor) Classify(query string) Classification { return s.classifier.Classify(query) }

// Plan is the planner by rules over every configured skill, for those who bring
// their own request.
func (s *Supervisor) Plan(r Request) (*planner.StepPlan, error) { return s.rules.Plan(r) }

// Decide says what becomes of a query (SPEC 7.2). agentID names the agent in
// directed mode: it answers without a plan. The error is an [*Error], or the
// provider's.
func (s *Supervisor) Decide(ctx context.Context, query, agentID string) (Decision, error) {
	d := Decision{Classification: s.classifier.Classify(query)}
	if agentID != "" {
		if !s.has(agentID) {
			return d, &Error{Code: "unknown_agent", Message: fmt.Sprintf("no agent %q is configured", agentID), Suggestion: "choose one of the configured agents"}
		}
		d.Agent, d.Reason = agentID, "the caller named the agent"
		return d, nil
	}
	if !d.Classification.RequiresPlanning && !s.c.NoHeuristics {
		d.Agent, d.Reason = d.Classification.SuggestedAgents[0], d.Classification.Reasoning
		return d, nil
	}
	var refused error
	if s.c.Mode != ByModel && len(s.c.Skills) > 0 {
		p, err := s.rules.Plan(Request{UserIntent: query, SystemContext: SystemContext{AvailableSkills: s.rules.Skills()}})
		if err == nil {
			p.Defaults.OnError = s.c.OnError
			d.Plan, d.By, d.Reason = p, "rules", "skills match what is asked"
			return d, nil
		}
		refused = err
	}
	if s.c.Mode == ByRules || s.c.Generator == nil {
		if d.Classification.Complexity == Moderate || len(s.c.Skills) == 0 {
			// Nothing says that one agent cannot answer it, and nothing can plan it.
			d.Agent, d.Reason = d.Classification.SuggestedAgents[0], "no rule plans it, and no model is configured to"
			return d, nil
		}
		return d, refused
	}
	g, err := s.c.Generator.Generate(ctx, query)
	d.Usage = g.Usage
	if err != nil {
		return d, err
	}
	d.Reason = g.Reasoning
	if g.Plan == nil {
		d.Agent = g.Direct
		return d, nil
	}
	if broken := CheckPlan(g.Plan, nil); len(broken) > 0 {
		return d, refuse(asViolations(broken))
	}
	g.Plan.Defaults.OnError = s.c.OnError
	d.Plan, d.By = g.Plan, "model"
	return d, nil
}

// AsError finds the planner's error in a chain.
func AsError(err error) (*Error, bool) { return errors.AsType[*Error](err) }

// Identity is who executes plans [004].
var Identity = Agent{ID: "supervisor", Name: "Supervisor", Icon: "🎯", Color: "#8B5CF6", System: true}
