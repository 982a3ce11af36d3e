package supervisor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kairosd/kairosd/agent"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/supervisor/prompts"
	"github.com/kairosd/kairosd/planner"
)

// Generator asks a model for a plan (SPEC 7.4).
type Generator struct {
	Provider agent.Provider
	// Name of the provider, for people.
	Name, Model string
	// MaxSteps bounds a plan; 0: 8. MaxTokens bounds an answer; 0: 1024.
	MaxSteps, MaxTokens int
	// Temperature; nil: 0.1.
	Temperature *float64
	Agents      []Agent
	// Tell hears of every attempt; nil: nobody does.
	Tell func(kairos.DraftNote)
}

// repairs is how often a model may mend an answer that cannot be used.
const repairs = 2

// Generated is what a model made of a query: a plan, or the agent that answers
// directly.
type Generated struct {
	Plan      *planner.StepPlan
	Direct    string
	Reasoning string
	Usage     agent.Usage
	// wanted are agents that an answer named and that may not be planned.
	wanted map[string]bool
}

// Generate asks for a plan. An answer that breaks the rules is sent back with
// its problems twice; then the error is an [*Error] NO_VALID_PLAN with the last
// answer. Errors of the provider are returned as they are.
func (g *Generator) Generate(ctx context.Context, query string) (Generated, error) {
	var out Generated
	known := g.selectable()
	if len(known) == 0 {
		return out, &Error{Code: CodeNoValidPlan, Message: "Cannot create valid execution plan for request: no agent may be planned", Suggestion: "configure agents that may be selected"}
	}
	who := strings.Trim(g.Name+"/"+g.Model, "/")
	tell := func(n kairos.DraftNote) {
		if n.Who = who; g.Tell != nil {
			g.Tell(n)
		}
	}
	names := make([]string, len(known))
	for i, a := range known {
		names[i] = a.ID
	}
	tell(kairos.DraftNote{Phase: kairos.PhaseChoosing, Text: strings.Join(names, ", ")})
	messages := []agent.Message{{Role: agent.RoleSystem, Text: prompts.System(known, g.maxSteps())}}
	for _, e := range prompts.Examples(known) {
		messages = append(messages, agent.Message{Role: agent.RoleUser, Text: e.Question}, agent.Message{Role: agent.RoleAssistant, Text: e.Answer})
	}
	messages = append(messages, agent.Message{Role: agent.RoleUser, Text: query})
	temperature, tokens := g.Temperature, g.MaxTokens
	if temperature == nil {
		t := 0.1
		temperature = &t
	}
	if tokens == 0 {
		tokens = 1024
	}
	var problems []string
	answer := ""
	for attempt := range 1 + repairs {
		tell(kairos.DraftNote{Phase: kairos.PhaseDrafting, Attempt: attempt + 1, Problems: problems})
		r, err := g.Provider.Complete(ctx, agent.Request{Model: g.Model, Messages: messages, MaxTokens: tokens, Temperature: temperature, Schema: answerSchema})
		if err != nil {
			return out, fmt.Errorf("plan by model: %w", err)
		}
		out.Usage.InputTokens += r.Usage.InputTokens
		out.Usage.OutputTokens += r.Usage.OutputTokens
		out.Usage.Cost += r.Usage.Cost
		answer = r.Text
		var v map[string]any
		v, problems = g.read(answer)
		out.wants(v, known)
		tell(kairos.DraftNote{Phase: kairos.PhaseValidating, Attempt: attempt + 1, Problems: problems})
		if len(problems) == 0 {
			g.build(&out, v)
			return out, nil
		}
		messages = append(messages, agent.Message{Role: agent.RoleAssistant, Text: answer},
			agent.Message{Role: agent.RoleUser, Text: "This cannot be used:\n- " + strings.Join(problems, "\n- ") + "\nAnswer again with the whole JSON object."})
	}
	return out, &Error{Code: CodeNoValidPlan, Message: "Cannot create valid execution plan for request: the model's answer cannot be used: " + strings.Join(problems, "; "),
		Suggestion: "Rephrase request or make skills available", Answer: answer}
}

func (g *Generator) maxSteps() int {
	if g.MaxSteps > 0 {
		return g.MaxSteps
	}
	return 8
}

func (g *Generator) selectable() []prompts.Agent {
	var out []prompts.Agent
	for _, a := range g.Agents {
		if !a.System && a.Selectable {
			out = append(out, prompts.Agent{ID: a.ID, Name: a.Name, Description: a.Description, Capabilities: a.Capabilities})
		}
	}
	return out
}

// answerSchema holds both forms of an answer; which fields each needs is checked
// by read, whose problems a model can act on.
var answerSchema = map[string]any{"type": "object", "required": []any{"requiresMultiStep", "reasoning"}, "properties": map[string]any{
	"requiresMultiStep": map[string]any{"type": "boolean"}, "reasoning": map[string]any{"type": "string"},
	"summary": map[string]any{"type": "string"}, "assumptions": map[string]any{"type": "array", "items": map[string]any{"type": "string"}}, "directAgentId": map[string]any{"type": "string"},
	"steps": map[string]any{"type": "array", "items": map[string]any{"type": "object", "required": []any{"agentId", "task"}, "properties": map[string]any{
		"agentId": map[string]any{"type": "string"}, "task": map[string]any{"type": "string"}, "reasoning": map[string]any{"type": "string"},
		"expectedOutput": map[string]any{"type": "string", "enum": []any{"text", "data", "visualization", "confirmation"}}}}}}}

// read parses an answer and lists every problem it has.
func (g *Generator) read(text string) (map[string]any, []string) {
	v, ok := agent.JSONAnswer(text)
	m, isObject := v.(map[string]any)
	if !ok || !isObject {
		return nil, []string{"it is not one JSON object"}
	}
	var problems []string
	add := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	length := func(where string, v any, least, most int, required bool) {
		s, ok := v.(string)
		switch n := utf8.RuneCountInString(s); {
		case v == nil && !required:
		case !ok:
			add("%s must be a text", where)
		case n < least || n > most:
			add("%s has %d characters; %d to %d are allowed", where, n, least, most)
		}
	}
	allowed := func(where string, v any) {
		id, _ := v.(string)
		if !slices.ContainsFunc(g.selectable(), func(a prompts.Agent) bool { return a.ID == id }) {
			add("%s %q is no agent of the list", where, id)
		}
	}
	multi, ok := m["requiresMultiStep"].(bool)
	if !ok {
		add("requiresMultiStep must be true or false")
		return m, problems
	}
	length("reasoning", m["reasoning"], 0, 500, true)
	if !multi {
		allowed("directAgentId", m["directAgentId"])
		return m, problems
	}
	length("summary", m["summary"], 10, 500, true)
	if list, ok := m["assumptions"].([]any); m["assumptions"] != nil && (!ok || len(list) > 8) {
		add("assumptions must be a list of at most 8 texts")
	} else {
		for i, v := range list {
			length(fmt.Sprintf("assumptions[%d]", i), v, 1, 200, true)
		}
	}
	steps, _ := m["steps"].([]any)
	if len(steps) == 0 || len(steps) > g.maxSteps() {
		add("there are %d steps; 1 to %d are allowed", len(steps), g.maxSteps())
	}
	for i, s := range steps {
		where := fmt.Sprintf("steps[%d].", i)
		s, ok := s.(map[string]any)
		if !ok {
			add("steps[%d] must be an object", i)
			continue
		}
		allowed(where+"agentId", s["agentId"])
		length(where+"task", s["task"], 5, 500, true)
		length(where+"reasoning", s["reasoning"], 0, 200, false)
		if e := s["expectedOutput"]; e != nil && !slices.Contains([]any{"text", "data", "visualization", "confirmation"}, e) {
			add("%sexpectedOutput must be text, data, visualization or confirmation", where)
		}
	}
	return m, problems
}

// build makes a plan of an answer without problems.
func (g *Generator) build(out *Generated, m map[string]any) {
	text := func(v any) string { s, _ := v.(string); return s }
	out.Reasoning = text(m["reasoning"])
	if multi, _ := m["requiresMultiStep"].(bool); !multi {
		out.Direct = text(m["directAgentId"])
		return
	}
	p := newPlan(text(m["summary"]))
	steps, _ := m["steps"].([]any)
	reasons := map[string]any{}
	for i, s := range steps {
		s, _ := s.(map[string]any)
		if why := text(s["reasoning"]); why != "" {
			reasons[fmt.Sprintf("step-%d", i+1)] = why
		}
		p.Steps = append(p.Steps, planner.Step{ID: fmt.Sprintf("step-%d", i+1), Order: i + 1, AgentID: text(s["agentId"]), Task: text(s["task"]), ExpectedOutput: text(s["expectedOutput"])})
	}
	if len(reasons) > 0 {
		extra(p, reasonsKey, reasons)
	}
	if list, _ := m["assumptions"].([]any); len(list) > 0 {
		extra(p, assumedKey, list)
	}
	if len(out.wanted) > 0 {
		var list []any
		for _, id := range slices.Sorted(maps.Keys(out.wanted)) {
			list = append(list, id)
		}
		extra(p, wantedKey, list)
	}
	out.Plan = p
}

// Where metadata keeps what a model said of its plan: why each step is there, what
// it takes for granted, and whom it would have liked.
const (
	reasonsKey = "reasons"
	assumedKey = "assumptions"
	wantedKey  = "wanted"
)

// wants notes the agents that an answer names and that are not on the list.
func (out *Generated) wants(m map[string]any, known []prompts.Agent) {
	note := func(v any) {
		id, _ := v.(string)
		if id == "" || utf8.RuneCountInString(id) > 128 || len(out.wanted) >= 20 || slices.ContainsFunc(known, func(a prompts.Agent) bool { return a.ID == id }) {
			return
		}
		if out.wanted == nil {
			out.wanted = map[string]bool{}
		}
		out.wanted[id] = true
	}
	note(m["directAgentId"])
	steps, _ := m["steps"].([]any)
	for _, s := range steps {
		if s, ok := s.(map[string]any); ok {
			note(s["agentId"])
		}
	}
}
