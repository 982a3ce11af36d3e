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
	// Keywords by language; one of them in the intent asks for the skill.
	Keywords map[string][]string
	// Consumes are parameters that come from the step that Produces them.
	Produces, Consumes []string
	// Params names the parameters that the intent or the user's preferences may
	// fill; Defaults are used where nothing does.
	Params, Defaults map[string]any
	// DependsOn are skills that must run before, and are planned with it.
	DependsOn []string
	// From names the product that a parameter of Consumes takes, where it is called
	// otherwise.
	From map[string]string
	// OutputSchema is the JSON Schema of what the skill gives; nil: anything. A product
	// that it has as a member is taken from there.
	OutputSchema map[string]any
	// Implies are skills that are added where they are available. When steps, time or
	// budget are scarce, the last of them is dropped first.
	Implies []string
	// GuardedBy are skills that check what this one makes: they are added where they
	// are available, and never dropped.
	GuardedBy []string
	// MinComplexity adds the skill to intents at least that complex; 0: never.
	MinComplexity float64
	// Gate lets the step run only if the output of another step allows it.
	Gate            *Gate
	EstimatedMs     int64
	EstimatedTokens int64
	Retry           *planner.StepRetry
	Tool, Agent     string
	// Uses names what else a call of the skill needs: the agent's provider.
	Uses []string
	// Unsafe skills end in a tool or agent whose effect cannot be repeated.
	Unsafe bool
}

// Gate is a condition over the output of another skill's step: an expression
// in which `result` is that output.
type Gate struct {
	Skill string
	Expr  string
}

// resultWord is the word result in an expression, but for members of that name.
var resultWord = regexp.MustCompile(`(^|[^.\w"'])result\b`)

// over is the gate's expression over the output of a step.
func (g *Gate) over(step string) string {
	return resultWord.ReplaceAllString(g.Expr, "${1}"+fmt.Sprintf("output[%q]", step))
}

// GateSchema is the JSON Schema of what the gates of skills read of the output of one;
// nil: nothing reads it.
func GateSchema(id string, skills []Skill) (map[string]any, error) {
	var gates []string
	for _, s := range skills {
		if s.Gate != nil && s.Gate.Skill == id {
			gates = append(gates, s.Gate.Expr)
		}
	}
	schema, err := walk.GateSchema(gates...)
	if err != nil {
		return nil, fmt.Errorf("a gate on skill %s: %w", id, err)
	}
	return schema, nil
}

// resources names what rate limits and outages of which concern the skill.
func (s *Skill) resources() []string {
	out := []string{s.ID}
	for _, name := range append([]string{s.Tool, s.Agent}, s.Uses...) {
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

// member is the path of a product in the skill's output, for a reference. If it is empty, the
// output is the product.
func (s *Skill) member(product string) string {
	properties, _ := s.OutputSchema["properties"].(map[string]any)
	if _, ok := properties[product]; ok {
		return "." + product
	}
	return ""
}

// defaultRetry is [001]'s.
var defaultRetry = planner.StepRetry{MaxAttempts: 3, BackoffMs: []int64{1000, 2000, 4000}}
