package planning_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/planning"
)

// The topic is the user's own phrase. Tone, length, and keywords are taken whole or left out.
func TestParametersOfARequest(t *testing.T) {
	t.Parallel()
	skills := blog()
	skills[0].Params["keywords"] = nil
	for intent, want := range map[string]map[string]any{
		"Write about the war in Ukraine":                            {"topic": "the war in Ukraine"},
		"Write about life with cats, dogs and horses for beginners": {"topic": "life with cats, dogs and horses for beginners"},
		"Write about how to read and write files":                   {"topic": "how to read and write files"},
		"Write about Node.js: the good parts. Then summarize it":    {"topic": "Node.js: the good parts"},
		"Write about tea, moderate it and add a summary":            {"topic": "tea"},
		"Create SEO-optimized post about TypeScript with summary":   {"topic": "TypeScript"},
		"Create a post about tea with a short summary":              {"topic": "tea"},
		"Write a short formal post about tea in China":              {"topic": "tea in China", "tone": "formal", "length": "short"},
		"Write about tea in China in a friendly tone, in 300 words": {"topic": "tea in China", "tone": "friendly",
			"length": "300 words"},
		"Write about tea with keywords green tea, oolong and matcha": {"topic": "tea",
			"keywords": []any{"green tea", "oolong", "matcha"}},
		`Write about "Tea, and then summarize: a novel" with summary`:    {"topic": "Tea, and then summarize: a novel"},
		"Escribe un artículo sobre el té en Japón con un tono amistoso":  {"topic": "el té en Japón", "tone": "amistoso"},
		"Escribe sobre la guerra en Ucrania, y luego resúmela":           {"topic": "la guerra en Ucrania"},
		"Escribe sobre la vida con gatos para principiantes con resumen": {"topic": "la vida con gatos para principiantes"},
		"Write a short and detailed post about tea":                      {"topic": "tea"},
		"Write about the customers: Acme 12, Bolt 99 and Chip 7":         {"topic": "the customers: Acme 12, Bolt 99 and Chip 7"},
	} {
		p, err := planning.NewRules(skills).Plan(request(intent, all...))
		if err != nil {
			t.Errorf("%s: %v", intent, err)
			continue
		}
		if d := cmp.Diff(want, p.Steps[0].Params); d != "" {
			t.Errorf("%s: %s", intent, d)
		}
	}
}

// Every planner makes at most eight steps by default.
func TestRulesKeepTheConfiguredMaximum(t *testing.T) {
	t.Parallel()
	var skills []planning.Skill
	var ids, words []string
	for i := range 10 {
		id := fmt.Sprintf("s%d", i)
		ids, words = append(ids, id), append(words, "word"+string(rune('a'+i)))
		skills = append(skills, planning.Skill{ID: id, Keywords: map[string][]string{"en": {words[i]}}, Agent: "a"})
	}
	_, err := planning.NewRules(skills).Plan(request(strings.Join(words, " "), ids...))
	if e, ok := planning.AsError(err); !ok || e.Code != planning.CodeNoValidPlan ||
		!strings.Contains(e.Message, "10 steps are needed, 8 are allowed") {
		t.Errorf("%v", err)
	}
	if p, err := planning.NewRules(skills).Plan(request(strings.Join(words[:8], " "), ids...)); err != nil || len(p.Steps) != 8 {
		t.Errorf("%v", err)
	}
	if p, err := planning.NewRules(skills).AtMost(10).Plan(request(strings.Join(words, " "), ids...)); err != nil || len(p.Steps) != 10 {
		t.Errorf("%v", err)
	}
}

// Keywords match their inflections in English and Spanish. The longest match comes first.
func TestKeywordsAreStemmed(t *testing.T) {
	t.Parallel()
	c := planning.NewClassifier([]planning.Agent{
		{ID: "billing", Selectable: true, TriggerKeywords: []string{"invoice", "factura", "tax"}},
		{ID: "late", Selectable: true, TriggerKeywords: []string{"overdue invoice"}},
		{ID: "docs", Selectable: true, TriggerKeywords: []string{"contratos"}},
	}, "general")
	for query, want := range map[string][]string{
		"show me the invoices": {"billing"}, "List the overdue invoices": {"late", "billing"},
		"muéstrame las facturas": {"billing"}, "busca el contrato": {"docs"},
		"find the taxes": {"billing"}, "compare invoicelike things": {"general"}, "show me the factory": {"general"},
	} {
		if got := c.Classify(query); !slices.Equal(want[:len(got.SuggestedAgents)], got.SuggestedAgents) {
			t.Errorf("%q: %v, want %v", query, got.SuggestedAgents, want)
		}
	}
	for intent, want := range map[string]int{"Writing about tea": 2, "Escriben sobre el té": 2, "Moderates the text about tea": 2,
		"Creo que el té": 0} {
		p, err := planning.NewRules(blog()).Plan(request(intent, all...))
		if (err == nil) != (want > 0) || err == nil && len(p.Steps) != want {
			t.Errorf("%q: %v %v", intent, p, err)
		}
	}
}

// Refusals name the violated value and how to correct it.
func TestRefusalsNameTheFigures(t *testing.T) {
	t.Parallel()
	slow, zero := 5000.0, 0.0
	for name, c := range map[string]struct {
		bounds                planning.Constraints
		code, message, advice string
	}{
		"tokens": {planning.Constraints{Budget: 100}, planning.CodeInsufficientResources,
			"1700 tokens are needed, 100 are allowed", "at least 1700 tokens"},
		"time": {planning.Constraints{Timeout: &slow}, planning.CodeInsufficientResources,
			"10000 ms are estimated, 5000 ms are allowed", "at least 10000 ms"},
		"timeout": {planning.Constraints{Timeout: &zero}, planning.CodeNoValidPlan, "timeout is 0 ms", "timeout above 0"},
		"steps":   {planning.Constraints{MaxSteps: 1}, planning.CodeNoValidPlan, "2 steps are needed, 1 are allowed", "at least 2 steps"},
	} {
		r := request("Write about tea", all...)
		r.Constraints = c.bounds
		_, err := planning.NewRules(blog()).Plan(r)
		if e, ok := planning.AsError(err); !ok || e.Code != c.code || !strings.Contains(e.Message, c.message) ||
			!strings.Contains(e.Suggestion, c.advice) {
			t.Errorf("%s: %+v", name, err)
		}
	}
	r := request("Write about tea", all...)
	r.SystemContext.RateLimits = map[string]planning.RateLimit{"openai": {Remaining: 1, Limit: 500}}
	skills := blog()
	for i := range skills {
		skills[i].Uses = []string{"openai"}
	}
	_, err := planning.NewRules(skills).Plan(r)
	if e, ok := planning.AsError(err); !ok || e.Code != planning.CodeInsufficientResources ||
		!strings.Contains(e.Message, "2 calls of openai are needed, 1 are left") {
		t.Errorf("%v", err)
	}
	r.SystemContext.RateLimits["openai"] = planning.RateLimit{}
	_, err = planning.NewRules(skills).Plan(r)
	if e, ok := planning.AsError(err); !ok || e.Code != planning.CodeNoValidPlan ||
		!strings.Contains(e.Message, "the rate limit of openai is used up") {
		t.Errorf("%v", err)
	}
	// Under load, steps run one after the other, and the estimate includes that.
	busy := request("Write about tea with SEO", all...)
	busy.SystemContext.SystemLoad = 0.95
	if p, err := planning.NewRules(blog()).Plan(busy); err != nil || p.EstimatedDurationMs != 13000 {
		t.Errorf("%v %+v", err, p)
	}
	tight := 12_000.0
	busy.Constraints.Timeout = &tight
	if _, err := planning.NewRules(blog()).Plan(busy); err == nil || !strings.Contains(err.Error(), "13000 ms are estimated") {
		t.Errorf("%v", err)
	}
}
