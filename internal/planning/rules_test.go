package planning_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/planning"
	"github.com/kairosd/kairosd/planner"
)

// blog returns the four skills of [001].
func blog() []planning.Skill {
	return []planning.Skill{
		{
			ID:       "generate_content",
			Keywords: map[string][]string{"en": {"write", "create", "generate"}, "es": {"escribe", "crea", "genera"}},
			Produces: []string{"content"},
			Params: map[string]any{
				"topic":  nil,
				"tone":   nil,
				"length": nil,
			},
			Implies:         []string{"moderate_content"},
			EstimatedMs:     8000,
			EstimatedTokens: 1500,
			Agent:           "writer",
		},
		{
			ID:              "analyze_seo",
			Keywords:        map[string][]string{"en": {"seo"}, "es": {"seo"}},
			Consumes:        []string{"content"},
			DependsOn:       []string{"generate_content"},
			MinComplexity:   0.7,
			EstimatedMs:     3000,
			EstimatedTokens: 400,
			Agent:           "seo",
		},
		{
			ID:              "moderate_content",
			Keywords:        map[string][]string{"en": {"moderate"}, "es": {"modera"}},
			Consumes:        []string{"content"},
			DependsOn:       []string{"generate_content"},
			EstimatedMs:     2000,
			EstimatedTokens: 200,
			Agent:           "moderator",
		},
		{
			ID:        "summarize_content",
			Keywords:  map[string][]string{"en": {"summary", "summarize"}, "es": {"resumen", "resume"}},
			Consumes:  []string{"content"},
			DependsOn: []string{"generate_content"},
			Gate: &planning.Gate{
				Skill: "moderate_content",
				Expr:  "result.approved",
			},
			Defaults:        map[string]any{"maxLength": 150},
			EstimatedMs:     2000,
			EstimatedTokens: 300,
			Agent:           "writer",
		},
	}
}

var all = []string{"generate_content", "analyze_seo", "moderate_content", "summarize_content"}

func request(intent string, skills ...string) planning.Request {
	return planning.Request{UserIntent: intent, SystemContext: planning.SystemContext{AvailableSkills: skills}}
}

func plan(t *testing.T, r planning.Request) *planner.StepPlan {
	t.Helper()
	p, err := planning.NewRules(blog()).Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// steps formats a plan as [001] does.
func steps(p *planner.StepPlan) []string {
	var out []string
	for _, s := range p.Steps {
		line := fmt.Sprintf("%s %s(", s.ID, s.SkillID)
		for _, name := range []string{"topic", "tone", "length", "content", "maxLength"} {
			if v, ok := s.Params[name]; ok {
				line += fmt.Sprintf("%s: %v ", name, v)
			}
		}
		line = strings.TrimRight(line, " ") + ")"
		if len(s.Dependencies) > 0 {
			line += " after " + strings.Join(s.Dependencies, ", ")
		}
		if s.Condition != nil {
			line += " if " + s.Condition.Expr
		}
		out = append(out, line)
	}
	return out
}

// The two usage examples of [001] yield exactly the plans shown there.
func TestUsageExamples(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		r    planning.Request
		want []string
	}{
		"Ejemplo 1: Generación Simple de Post": {request("Create a blog post about React hooks", "generate_content",
			"moderate_content"), []string{
			"step-1 generate_content(topic: React hooks)", "step-2 moderate_content(content: step-1.result) after step-1"}},
		"Ejemplo 2: Workflow Complejo con SEO": {func() planning.Request {
			r := request("Create SEO-optimized post about TypeScript with summary", all...)
			r.Constraints = planning.Constraints{MaxSteps: 5, Priority: "high"}
			return r
		}(), []string{
			"step-1 generate_content(topic: TypeScript)", "step-2 analyze_seo(content: step-1.result) after step-1",
			"step-3 moderate_content(content: step-1.result) after step-1",
			`step-4 summarize_content(content: step-1.result maxLength: 150) after step-1, step-3 if output["step-3"].approved`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, steps(plan(t, c.r))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSpanishIntentAndPreferences(t *testing.T) {
	t.Parallel()
	r := request("Escribe un artículo sobre ética de la IA con resumen", all...)
	r.UserContext.Preferences = map[string]any{"tone": "professional", "colour": "red"}
	got := steps(plan(t, r))
	if len(got) != 3 || got[0] != "step-1 generate_content(topic: ética de la IA tone: professional)" {
		t.Errorf("%q", got)
	}
}

func fails(t *testing.T, r planning.Request, code string, recoverable bool, parts ...string) {
	t.Helper()
	_, err := planning.NewRules(blog()).Plan(r)
	e, ok := planning.AsError(err)
	if !ok {
		t.Fatalf("not refused: %v", err)
	}
	if e.Code != code || e.Recoverable != recoverable || e.Suggestion == "" {
		t.Errorf("%+v", e)
	}
	for _, p := range parts {
		if !strings.Contains(e.Message, p) && !slices.Contains(e.Violations, p) {
			t.Errorf("%q says nothing of %q (%v)", e.Message, p, e.Violations)
		}
	}
}

func TestPlannerAgentPreconditions(t *testing.T) {
	t.Parallel()
	t.Run("rejects empty intent", func(t *testing.T) {
		t.Parallel()
		fails(t, request(" ", all...), planning.CodeNoValidPlan, false, "Planning request must have valid intent", "PRE-PLAN-001")
	})
	t.Run("rejects when required skills unavailable", func(t *testing.T) {
		t.Parallel()
		fails(
			t,
			request("generate blog post"),
			planning.CodeNoValidPlan,
			false,
			"All required skills must be available",
			"PRE-PLAN-001",
			"PRE-PLAN-002",
		)
	})
	t.Run("PRE-PLAN-001 timeout", func(t *testing.T) {
		t.Parallel()
		r, zero := request("generate blog post", all...), 0.0
		r.Constraints.Timeout = &zero
		fails(t, r, planning.CodeNoValidPlan, false, "PRE-PLAN-001")
	})
	t.Run("PRE-PLAN-002 rate limit used up", func(t *testing.T) {
		t.Parallel()
		r := request("generate blog post", all...)
		r.SystemContext.RateLimits = map[string]planning.RateLimit{"writer": {Remaining: 0, Limit: 500}}
		fails(t, r, planning.CodeNoValidPlan, false, "PRE-PLAN-002", "generate_content")
	})
	t.Run("PRE-PLAN-003 budget", func(t *testing.T) {
		t.Parallel()
		r := request("generate blog post", all...)
		r.Constraints.Budget = 100
		fails(t, r, planning.CodeInsufficientResources, true, "Cannot create plan within budget constraints", "PRE-PLAN-003")
	})
	t.Run("nothing that is known", func(t *testing.T) {
		t.Parallel()
		fails(t, request("boil an egg", all...), planning.CodeNoValidPlan, false, "POST-PLAN-001")
	})
}

func TestPlannerAgentPostconditions(t *testing.T) {
	t.Parallel()
	t.Run("creates plan with valid dependencies", func(t *testing.T) {
		t.Parallel()
		if broken := planning.CheckPlan(plan(t, request("Create a post about tea with summary", all...)), nil); len(broken) > 0 {
			t.Error(broken)
		}
	})
	t.Run("creates plan within constraints", func(t *testing.T) {
		t.Parallel()
		r := request("Create a post about tea with summary", all...)
		r.Constraints.MaxSteps = 3
		if got := steps(plan(t, r)); len(got) != 3 || !strings.Contains(strings.Join(got, " "), "moderate") {
			t.Errorf("%q", got)
		}
		r.Constraints.MaxSteps = 2
		fails(t, r, planning.CodeNoValidPlan, false, "POST-PLAN-004")
	})
	for rule, p := range map[string]planner.StepPlan{
		"POST-PLAN-001": {},
		"POST-PLAN-002": {Steps: []planner.Step{{ID: "a", Tool: "x", Dependencies: []string{"gone"}}}},
		"POST-PLAN-003": {Steps: []planner.Step{{ID: "a", Tool: "x", Order: 1, Dependencies: []string{"b"}},
			{ID: "b", Tool: "x", Order: 2}}},
		"INV-PLAN-002": {Steps: []planner.Step{{ID: "a", Tool: "x", Order: 1, Dependencies: []string{"b"}},
			{ID: "b", Tool: "x", Order: 2, Dependencies: []string{"a"}}}},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			if !slices.ContainsFunc(planning.CheckPlan(&p, nil), func(b planning.Broken) bool { return b.Rule == rule }) {
				t.Errorf("not noticed: %v", planning.CheckPlan(&p, nil))
			}
		})
	}
}

// generated draws skills with arbitrary dependencies, and a request over them.
func generated(t *rapid.T) ([]planning.Skill, planning.Request) {
	n := rapid.IntRange(1, 8).Draw(t, "skills")
	var skills []planning.Skill
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("s%d", i))
	}
	some := rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 0, 3, rapid.ID[string])
	for i, id := range ids {
		s := planning.Skill{
			ID:        id,
			Keywords:  map[string][]string{"en": {fmt.Sprintf("word%d", i)}},
			DependsOn: some.Draw(t, "depends"),
			Implies:   some.Draw(t, "implies"),
			EstimatedMs: rapid.Int64Range(0, 100).
				Draw(t, "ms"),
			EstimatedTokens: rapid.Int64Range(0, 100).Draw(t, "tokens"),
			Agent:           "a",
			Produces:        []string{"x"},
			Consumes:        []string{"x"},
		}
		if rapid.Bool().Draw(t, "gated") {
			s.Gate = &planning.Gate{Skill: rapid.SampledFrom(ids).Draw(t, "gate"), Expr: "result.ok"}
		}
		skills = append(skills, s)
	}
	r := request(
		strings.Join(
			rapid.SliceOf(rapid.SampledFrom([]string{"word0", "word1", "word2", "word5", "and", "about", "tea"})).Draw(t, "intent"),
			" ",
		),
		some.Draw(t, "available")...)
	r.SystemContext.SystemLoad = rapid.SampledFrom([]float64{0, 0.95}).Draw(t, "load")
	r.Constraints.MaxSteps = rapid.IntRange(0, 4).Draw(t, "most")
	r.Constraints.Budget = float64(rapid.IntRange(0, 300).Draw(t, "budget"))
	return skills, r
}

// For any request and any skills, a plan satisfies every postcondition and invariant, or is
// rejected with a reason. The same request yields the same result, and planning always ends.
func TestPlannerAgentInvariants(t *testing.T) {
	t.Parallel()
	t.Run("generates idempotent plans", func(t *testing.T) {
		t.Parallel()
		r := request("Create SEO post about tea with summary", all...)
		if d := cmp.Diff(steps(plan(t, r)), steps(plan(t, r))); d != "" {
			t.Error(d)
		}
	})
	t.Run("never creates cyclic dependencies", func(t *testing.T) {
		t.Parallel()
		// Skills that depend on each other are rejected.
		skills := blog()
		skills[0].DependsOn = []string{"summarize_content"}
		_, err := planning.NewRules(skills).Plan(request("Create a post about tea with summary", all...))
		if e, ok := planning.AsError(err); !ok || !slices.Contains(e.Violations, "INV-PLAN-002") {
			t.Errorf("got %v", err)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		skills, r := generated(t)
		one, err1 := planning.NewRules(skills).Plan(r)
		two, err2 := planning.NewRules(skills).Plan(r)
		if !reflect.DeepEqual(one, two) || fmt.Sprint(err1) != fmt.Sprint(err2) {
			t.Fatalf("INV-PLAN-001 generates idempotent plans: %v, %v\n%+v\n%+v", err1, err2, one, two)
		}
		if err1 != nil {
			if e, ok := planning.AsError(err1); !ok || e.Code == "" || len(e.Violations) == 0 {
				t.Fatalf("refused without a reason: %v", err1)
			}
			return
		}
		if broken := planning.CheckPlan(one, &r); len(broken) > 0 {
			t.Fatalf("%v", broken)
		}
		if r.SystemContext.SystemLoad >= 0.9 {
			for i, s := range one.Steps[1:] {
				if !slices.Contains(s.Dependencies, one.Steps[i].ID) {
					t.Fatalf("%s may run in parallel under load", s.ID)
				}
			}
		}
	})
}

func TestEstimates(t *testing.T) {
	t.Parallel()
	r := request("Create SEO-optimized post about TypeScript with summary", all...)
	p := plan(t, r)
	// Critical path: 8000 + max(seo 3000, moderate 2000 + summary 2000).
	if p.EstimatedDurationMs != 12000 || p.EstimatedCost != 2400 {
		t.Errorf("%d ms, %v tokens", p.EstimatedDurationMs, p.EstimatedCost)
	}
	var kinds []any
	for _, a := range p.Plan.Alternatives {
		whole := a.(map[string]any)
		if len(whole["steps"].([]any)) == 0 || whole["estimatedDuration"] == nil || whole["estimatedCost"] == nil {
			t.Errorf("not a whole plan: %v", whole)
		}
		kinds = append(kinds, whole["metadata"].(map[string]any)["kind"])
	}
	if d := cmp.Diff([]any{"faster"}, kinds); d != "" {
		t.Error(d)
	}
	recorded := map[string]planning.Recorded{}
	for id, runs := range map[string]int{"generate_content": 5, "analyze_seo": 4} {
		recorded[id] = planning.Recorded{Runs: runs, Time: time.Second, Tokens: 100}
	}
	measured, err := planning.NewRules(blog()).With(recorded).Plan(r)
	if err != nil || measured.EstimatedDurationMs != 5000 || measured.EstimatedCost != 1000 ||
		measured.Plan.Confidence <= p.Plan.Confidence {
		t.Errorf(
			"%v %d ms, %v tokens, %v against %v",
			err,
			measured.EstimatedDurationMs,
			measured.EstimatedCost,
			measured.Plan.Confidence,
			p.Plan.Confidence,
		)
	}
}

// shipped returns the four skills as examples/scripted configures them: content implies SEO and a
// summary, and moderation guards it.
func shipped() []planning.Skill {
	list := blog()
	list[0].Implies, list[0].GuardedBy = []string{"summarize_content", "analyze_seo"}, []string{"moderate_content"}
	list[0].OutputSchema = map[string]any{
		"type":       "object",
		"required":   []any{"content"},
		"properties": map[string]any{"content": map[string]any{"type": "string"}},
	}
	for i := range list[1:] {
		list[i+1].Consumes, list[i+1].From = []string{"contentSource"}, map[string]string{"contentSource": "content"}
	}
	list[3].Gate.Expr = "result.approved == true"
	return list
}

// The example of a request in [001] yields the plan shown there.
func TestExampleRequestGivesTheExamplePlan(t *testing.T) {
	t.Parallel()
	ms := 60000.0
	r := request("Generate a professional blog post about AI ethics", all...)
	r.UserContext.Preferences = map[string]any{"tone": "professional", "length": "medium"}
	r.SystemContext.RateLimits = map[string]planning.RateLimit{"openai": {Remaining: 450, Limit: 500}}
	r.Constraints = planning.Constraints{MaxSteps: 5, Timeout: &ms, Budget: 3000, Priority: "high"}
	p, err := planning.NewRules(shipped()).Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range p.Steps {
		raw, err := json.Marshal(s.Params)
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%s %s %s %v", s.ID, s.SkillID, raw, s.Dependencies)
		if s.Condition != nil {
			line += " " + s.Condition.Expr
		}
		got = append(got, line)
	}
	want := []string{
		`step-1 generate_content {"length":"medium","tone":"professional","topic":"AI ethics"} []`,
		`step-2 analyze_seo {"contentSource":"step-1.result.content"} [step-1]`,
		`step-3 moderate_content {"contentSource":"step-1.result.content"} [step-1]`,
		`step-4 summarize_content {"contentSource":"step-1.result.content","maxLength":150} [step-1 step-3] ` +
			`output["step-3"].approved == true`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	// The cheaper alternative contains only the requested steps.
	cheaper := p.Plan.Alternatives[0].(map[string]any)
	if got := cheaper["metadata"].(map[string]any)["kind"]; got != "cheaper" || len(cheaper["steps"].([]any)) != 2 {
		t.Errorf("%v", cheaper)
	}
}

// Skills that accompany content are dropped when steps, time, or tokens are scarce, SEO before the
// summary, and the plan names them. Moderation is never dropped.
func TestModerationIsNeverDropped(t *testing.T) {
	t.Parallel()
	ms := 10_000.0
	for name, c := range map[string]struct {
		bounds  planning.Constraints
		want    []string
		dropped []any
	}{
		"three steps": {planning.Constraints{MaxSteps: 3}, []string{"generate_content", "moderate_content", "summarize_content"},
			[]any{"analyze_seo"}},
		"two steps": {planning.Constraints{MaxSteps: 2}, []string{"generate_content", "moderate_content"},
			[]any{"analyze_seo", "summarize_content"}},
		"tokens": {planning.Constraints{Budget: 2000}, []string{"generate_content", "moderate_content", "summarize_content"},
			[]any{"analyze_seo"}},
		"time": {planning.Constraints{Timeout: &ms}, []string{"generate_content", "moderate_content"},
			[]any{"analyze_seo", "summarize_content"}},
	} {
		r := request("Write about tea", all...)
		r.Constraints = c.bounds
		p, err := planning.NewRules(shipped()).Plan(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, s := range p.Steps {
			got = append(got, s.SkillID)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if d := cmp.Diff(any(c.dropped), p.Plan.Extra["dropped"]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for name, skills := range map[string][]planning.Skill{"as shipped": shipped(), "by the skills' names alone": blog()} {
		r := request("Write about tea", all...)
		r.Constraints.MaxSteps = 1
		_, err := planning.NewRules(skills).Plan(r)
		if e, ok := planning.AsError(err); !ok || e.Code != planning.CodeNoValidPlan ||
			!strings.Contains(e.Message, "2 steps are needed, 1 are allowed") ||
			!strings.Contains(e.Suggestion, "at least 2 steps") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
