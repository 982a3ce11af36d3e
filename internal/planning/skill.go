package planning

import (
	"fmt"
	"regexp"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// Skill is a planned capability, bound to a tool or an agent.
type Skill struct {
	ID, Description string
	// Keywords by language. The skill is requested if the request contains one of them.
	Keywords map[string][]string
	// Consumes are parameters that take the value of the same name in Produces of another step.
	Produces, Consumes []string
	// Params names the parameters that the request or the user's preferences may set. Defaults are
	// the values of parameters that neither sets.
	Params, Defaults map[string]any
	// DependsOn are skills that are planned together with this one and run before it.
	DependsOn []string
	// From maps a parameter of Consumes to a product with another name.
	From map[string]string
	// OutputSchema is the JSON Schema of the skill's output; nil accepts anything. If it has a
	// property named like a product, that property is the product.
	OutputSchema map[string]any
	// Implies are skills that are added if they are available. When steps, time, or budget are
	// scarce, the last one is dropped first.
	Implies []string
	// GuardedBy are skills that check this skill's output. They are added if they are available,
	// and never dropped.
	GuardedBy []string
	// MinComplexity adds the skill to requests of at least this complexity; 0 means never.
	MinComplexity float64
	// Gate, if set, lets the step run only if the output of another step satisfies a condition.
	Gate            *Gate
	EstimatedMs     int64
	EstimatedTokens int64
	Retry           *planner.StepRetry
	Tool, Agent     string
	// Uses names other resources that a call of the skill needs: the agent's provider.
	Uses []string
	// Unsafe is true if the skill runs a non-idempotent tool or agent.
	Unsafe bool
}

// Gate is a condition over the output of another skill's step. In Expr, `result` is that output.
type Gate struct {
	Skill string
	Expr  string
}

// resultWord matches the word result in an expression, except as the name of a member.
var resultWord = regexp.MustCompile(`(^|[^.\w"'])result\b`)

// over returns the gate's expression, applied to the output of a step.
func (g *Gate) over(step string) string {
	return resultWord.ReplaceAllString(g.Expr, "${1}"+fmt.Sprintf("output[%q]", step))
}

// GateSchema returns the JSON Schema of the parts of a skill's output that gates of other skills
// read. It returns nil if no gate reads the output.
func GateSchema(id string, skills []Skill) (map[string]any, error) {
	var gates []string
	for _, s := range skills {
		if s.Gate != nil && s.Gate.Skill == id {
			gates = append(gates, s.Gate.Expr)
		}
	}
	schema, err := walk.GateSchema(gates...)
	if err != nil {
		return nil, fmt.Errorf("the gate of skill %s: %w", id, err)
	}
	return schema, nil
}

// resources returns the names under which rate limits and outages concern the skill.
func (s *Skill) resources() []string {
	out := []string{s.ID}
	for _, name := range append([]string{s.Tool, s.Agent}, s.Uses...) {
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

// member returns the path of a product in the skill's output, for a reference. If the path is
// empty, the output is the product.
func (s *Skill) member(product string) string {
	properties, _ := s.OutputSchema["properties"].(map[string]any)
	if _, ok := properties[product]; ok {
		return "." + product
	}
	return ""
}

// defaultRetry has the values of [001].
var defaultRetry = planner.StepRetry{MaxAttempts: 3, BackoffMs: []int64{1000, 2000, 4000}}
