package planning

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/conversation"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/model"
	"github.com/kairosd/kairosd/internal/planning/prompts"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// Generator requests plans from a model.
type Generator struct {
	Provider llm.Provider
	// Name is the name of the provider, for messages.
	Name, Model string
	// MaxSteps is the maximum number of steps of a plan; 0 means 8. MaxTokens is the maximum number
	// of tokens of an answer; 0 means 1024.
	MaxSteps, MaxTokens int
	// Temperature of the model; nil means 0.1.
	Temperature *float64
	Agents      []Agent
	// State is the daemon's own state, for the prompt; nil means none.
	State *SystemContext
	// OnProgress, if set, receives every attempt.
	OnProgress func(domain.DraftNote)
}

// repairs is the number of times that a model may correct an invalid answer.
const repairs = 2

// Generated is the result of a model's planning: a plan, or the agent that answers directly.
type Generated struct {
	Plan      *planner.StepPlan
	Direct    string
	Reasoning string
	Usage     llm.Usage
	// requested are agents that the answer names and that are not selectable.
	requested map[string]bool
}

// Generate requests a plan from the model. It returns an invalid answer to the model with its
// problems, at most twice. After that, the error is an [*Error] NO_VALID_PLAN with the last answer.
// Errors of the provider are returned unchanged.
func (g *Generator) Generate(ctx context.Context, query string) (Generated, error) {
	var out Generated
	known := g.selectable()
	if len(known) == 0 {
		e := noPlan(domain.Messagef("no agent is available to planners"), domain.Messagef("set selectable: true for at least one agent"))
		if lines := unavailableLines(g.State); len(lines) > 0 {
			e = noPlan(domain.Messagef("no agent is available to planners (%s)", strings.Join(lines, "; ")),
				domain.Messagef("Make an agent available, or try again later"))
		}
		return out, e
	}
	who := strings.Trim(g.Name+"/"+g.Model, "/")
	report := func(n domain.DraftNote) {
		if n.Who = who; g.OnProgress != nil {
			g.OnProgress(n)
		}
	}
	names := make([]string, len(known))
	for i, a := range known {
		names[i] = a.ID
	}
	report(domain.DraftNote{Phase: domain.PhaseChoosing, Text: strings.Join(names, ", ")})
	messages := []llm.Message{{Role: llm.RoleSystem, Text: prompts.System(known, g.maxSteps(), stateLines(g.State))}}
	for _, e := range prompts.Examples(known) {
		messages = append(messages, llm.Message{Role: llm.RoleUser, Text: e.Question}, llm.Message{Role: llm.RoleAssistant, Text: e.Answer})
	}
	messages = append(messages, llm.Message{Role: llm.RoleUser, Text: query})
	temperature, tokens := g.Temperature, g.MaxTokens
	if temperature == nil {
		t := 0.1
		temperature = &t
	}
	if tokens == 0 {
		tokens = 1024
	}
	var problems []domain.Message
	answer, dropped := "", false
	for attempt := range 1 + repairs {
		report(domain.DraftNote{Phase: domain.PhaseDrafting, Attempt: attempt + 1, Problems: problems})
		request := llm.Request{Model: g.Model, Messages: messages, MaxTokens: tokens, Temperature: temperature, Schema: answerSchema}
		r, err := g.Provider.Complete(ctx, request)
		if f, ok := errors.AsType[*walk.Failure](err); ok && !dropped && f.Code == model.CodeUnavailable && !f.Permanent &&
			ctx.Err() == nil {
			dropped = true // one dropped connection does not end planning
			report(domain.DraftNote{Phase: domain.PhaseDrafting, Attempt: attempt + 1, Problems: []domain.Message{f.Localize()}})
			r, err = g.Provider.Complete(ctx, request)
		}
		if err != nil {
			return out, fmt.Errorf("plan by model: %w", err)
		}
		out.Usage.InputTokens += r.Usage.InputTokens
		out.Usage.OutputTokens += r.Usage.OutputTokens
		out.Usage.Cost += r.Usage.Cost
		answer = r.Text
		var v map[string]any
		v, problems = g.read(answer)
		out.recordRequested(v, known)
		report(domain.DraftNote{Phase: domain.PhaseValidating, Attempt: attempt + 1, Problems: problems})
		if len(problems) == 0 {
			g.build(&out, v)
			return out, nil
		}
		messages = append(
			messages,
			llm.Message{Role: llm.RoleAssistant, Text: answer},
			llm.Message{
				Role: llm.RoleUser,
				Text: "This cannot be used:\n- " + strings.Join(sentences(problems), "\n- ") + "\nAnswer again with the whole JSON object.",
			},
		)
	}
	e := noPlan(domain.Messagef("the model's response cannot be used: %s", strings.Join(sentences(problems), "; ")), rephrase())
	e.Answer = answer
	return out, e
}

// sentences converts messages into text for a model.
func sentences(list []domain.Message) []string {
	out := make([]string, len(list))
	for i, m := range list {
		out[i] = m.String()
	}
	return out
}

// stateLines describes the daemon's own state to a planning model, one line each.
func stateLines(c *SystemContext) []string {
	if c == nil {
		return nil
	}
	out := []string{fmt.Sprintf("Load: %.0f %% of the slots for steps are taken.", 100*c.SystemLoad)}
	for _, name := range slices.Sorted(maps.Keys(c.RateLimits)) {
		l := c.RateLimits[name]
		out = append(out, fmt.Sprintf("Rate limit of %s: %d of %d requests are left.", name, l.Remaining, l.Limit))
	}
	for _, line := range unavailableLines(c) {
		out = append(out, "Not available: "+line)
	}
	return out
}

// unavailableLines lists unavailable tools, agents, and providers with the reasons, one line each.
func unavailableLines(c *SystemContext) []string {
	if c == nil {
		return nil
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c.Unavailable)) {
		out = append(out, name+": "+c.Unavailable[name])
	}
	return out
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

// answerSchema accepts both forms of an answer. The method read checks the fields that each form
// requires, because a model can correct its precise problems.
var answerSchema = map[string]any{"type": "object", "required": []any{"requiresMultiStep", "reasoning"}, "properties": map[string]any{
	"requiresMultiStep": map[string]any{"type": "boolean"}, "reasoning": map[string]any{"type": "string"},
	"confidence": map[string]any{"type": "number", "minimum": 0, "maximum": 1},
	"summary": map[string]any{
		"type": "string",
	}, "assumptions": map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
	"directAgentId": map[string]any{"type": "string"},
	"steps": map[string]any{
		"type": "array",
		"items": map[string]any{"type": "object", "required": []any{"agentId", "task"}, "properties": map[string]any{
			"agentId": map[string]any{
				"type": "string",
			}, "task": map[string]any{"type": "string"}, "reasoning": map[string]any{"type": "string"},
			"expectedOutput": map[string]any{"type": "string", "enum": []any{"text", "data", "visualization", "confirmation"}}}},
	}}}

// read parses an answer and lists every problem it has.
func (g *Generator) read(text string) (map[string]any, []domain.Message) {
	v, ok := conversation.JSONAnswer(text)
	m, isObject := v.(map[string]any)
	if !ok || !isObject {
		return nil, []domain.Message{domain.Messagef("it is not one JSON object")}
	}
	var problems []domain.Message
	add := func(format string, args ...any) { problems = append(problems, domain.Messagef(format, args...)) }
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
			add("%s %q is not an agent of the list", where, id)
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
	if _, ok := confidenceOf(m["confidence"]); m["confidence"] != nil && !ok {
		add("confidence must be a number from 0 to 1")
	}
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

// build converts a valid answer into a plan.
func (g *Generator) build(out *Generated, m map[string]any) {
	text := func(v any) string { s, _ := v.(string); return s }
	out.Reasoning = text(m["reasoning"])
	if multi, _ := m["requiresMultiStep"].(bool); !multi {
		out.Direct = text(m["directAgentId"])
		return
	}
	p := newPlan(text(m["summary"]))
	p.Plan.Confidence, _ = confidenceOf(m["confidence"])
	steps, _ := m["steps"].([]any)
	reasons := map[string]any{}
	for i, s := range steps {
		s, _ := s.(map[string]any)
		if why := text(s["reasoning"]); why != "" {
			reasons[fmt.Sprintf("step-%d", i+1)] = why
		}
		p.Steps = append(
			p.Steps,
			planner.Step{
				ID:             fmt.Sprintf("step-%d", i+1),
				Order:          i + 1,
				AgentID:        text(s["agentId"]),
				Task:           text(s["task"]),
				ExpectedOutput: text(s["expectedOutput"]),
			},
		)
	}
	if len(reasons) > 0 {
		extra(p, reasonsKey, reasons)
	}
	if list, _ := m["assumptions"].([]any); len(list) > 0 {
		extra(p, assumedKey, list)
	}
	if len(out.requested) > 0 {
		var list []any
		for _, id := range slices.Sorted(maps.Keys(out.requested)) {
			list = append(list, id)
		}
		extra(p, wantedKey, list)
	}
	out.Plan = p
}

// confidenceOf reads a confidence: a number greater than 0, at most 1.
func confidenceOf(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return math.Round(f*100) / 100, err == nil && f >= 0 && f <= 1
}

// Metadata keys for a model's comments on its plan: the reason for each step, the assumptions, and
// the agents that it requested and that are not available.
const (
	reasonsKey = "reasons"
	assumedKey = "assumptions"
	wantedKey  = "wanted"
)

// recordRequested records agents that an answer names and that are not in the list.
func (out *Generated) recordRequested(m map[string]any, known []prompts.Agent) {
	note := func(v any) {
		id, _ := v.(string)
		if id == "" || utf8.RuneCountInString(id) > 128 || len(out.requested) >= 20 ||
			slices.ContainsFunc(known, func(a prompts.Agent) bool { return a.ID == id }) {
			return
		}
		if out.requested == nil {
			out.requested = map[string]bool{}
		}
		out.requested[id] = true
	}
	note(m["directAgentId"])
	steps, _ := m["steps"].([]any)
	for _, s := range steps {
		if s, ok := s.(map[string]any); ok {
			note(s["agentId"])
		}
	}
}
