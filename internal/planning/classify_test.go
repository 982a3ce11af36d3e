package planning_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/planning"
)

var agents = []planning.Agent{
	{ID: "supervisor", System: true, TriggerKeywords: []string{"invoice"}},
	{
		ID:              "billing",
		Name:            "Billing",
		Description:     "Knows invoices.",
		Selectable:      true,
		TriggerKeywords: []string{"invoice", "overdue invoices", "factura"},
	},
	{
		ID:              "docs",
		Name:            "Documents",
		Description:     "Searches documents.",
		Selectable:      true,
		TriggerKeywords: []string{"document", "documents", "contracts"},
	},
	{ID: "general", Name: "General", Description: "Everything else.", Selectable: true},
	{ID: "hidden", TriggerKeywords: []string{"invoice"}},
}

func TestQueryClassifier(t *testing.T) {
	t.Parallel()
	c := planning.NewClassifier(agents, "general")
	for name, table := range map[string]map[string]planning.Complexity{
		"classifies simple queries as not requiring planning": {
			"What is the status of order 123?": "simple", "show me customer ABC": "simple", "  Get the price": "simple",
			"List users":    "simple",
			"¿Qué es esto?": "simple", "¿Cuántos hay?": "simple", "Muéstrame el pedido 7": "simple", "Who is it": "simple"},
		"classifies complex queries as requiring planning": {
			"Find all overdue invoices and summarize the payment patterns": "complex", "Compare our top 5 customers": "complex",
			"get the figures and then send them": "complex", "Analiza las ventas": "complex",
			"Busca las facturas y luego haz un resumen": "complex",
			"Crea un informe de gastos":                 "complex", "for each customer, write": "complex"},
		"leaves the rest to planning": {"Write a poem": "moderate", "comparers of the world": "moderate", "": "moderate",
			"forget me not": "moderate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for q, want := range table {
				if got := c.Classify(q); got.Complexity != want || got.RequiresPlanning != (want != planning.Simple) ||
					got.Reasoning == "" ||
					len(got.SuggestedAgents) == 0 {
					t.Errorf("%q: %+v, want %s", q, got, want)
				}
			}
		})
	}
	t.Run("identifies relevant agents from keywords", func(t *testing.T) {
		t.Parallel()
		for q, want := range map[string][]string{
			"Compare documents with the overdue invoices": {"billing", "docs"}, "compare the CONTRACTS": {"docs"},
			"compare nothing":  {"general"},
			"find the invoice": {"billing"}, "analiza la Factura": {"billing"}, "compare invoicelike things": {"general"},
		} {
			if d := cmp.Diff(want, c.Classify(q).SuggestedAgents); d != "" {
				t.Errorf("%q: %s", q, d)
			}
		}
	})
}

func FuzzClassify(f *testing.F) {
	f.Add("¿Qué es «esto»? \u0301\u0301 and then")
	c := planning.NewClassifier(agents, "general")
	f.Fuzz(func(t *testing.T, q string) {
		if got := c.Classify(q); len(got.SuggestedAgents) == 0 || got.Complexity == "" {
			t.Errorf("%+v", got)
		}
	})
}

// scriptedReply is a model that returns prepared answers in order.
type scriptedReply struct {
	answers []string
	heard   []llm.Request
	err     error
}

func (s *scriptedReply) Complete(_ context.Context, r llm.Request) (llm.Response, error) {
	s.heard = append(s.heard, r)
	if s.err != nil {
		return llm.Response{}, s.err
	}
	return llm.Response{Text: s.answers[min(len(s.heard), len(s.answers))-1], Usage: llm.Usage{InputTokens: 10, OutputTokens: 1}}, nil
}

const good = `{"summary": "Compare invoices with contracts", "requiresMultiStep": true, "reasoning": "two sources", "steps": [
 {"agentId": "billing", "task": "List the overdue invoices", "expectedOutput": "data"}, {"agentId": "docs", "task": "Find the contract terms"}]}`

func decide(t *testing.T, p llm.Provider, query, agentID string) (planning.Decision, error) {
	t.Helper()
	return planning.New(planning.Config{Agents: agents, DefaultAgent: "general",
		Generator: &planning.Generator{Provider: p, Agents: agents}}).
		Decide(t.Context(), planning.Intent{Query: query, Agent: agentID})
}

func TestPlannerAgent(t *testing.T) {
	t.Parallel()
	t.Run("returns null for simple queries", func(t *testing.T) {
		t.Parallel()
		s := &scriptedReply{}
		d, err := decide(t, s, "Show me the invoice", "")
		if err != nil || d.Plan != nil || d.Agent != "billing" || len(s.heard) != 0 {
			t.Errorf("%+v %v", d, err)
		}
	})
	t.Run("generates valid plan for complex queries", func(t *testing.T) {
		t.Parallel()
		s := &scriptedReply{answers: []string{"```json\n" + good + "\n```"}}
		d, err := decide(t, s, "Compare overdue invoices with contracts", "")
		if err != nil || d.Plan == nil || len(d.Plan.Steps) != 2 || d.By != "model" {
			t.Fatalf("%+v %v", d, err)
		}
		if a, b := d.Plan.Steps[0], d.Plan.Steps[1]; a.AgentID != "billing" || a.ExpectedOutput != "data" ||
			b.Task != "Find the contract terms" ||
			b.Order != 2 {
			t.Errorf("%+v", d.Plan.Steps)
		}
		r := s.heard[0]
		if *r.Temperature != 0.1 || r.MaxTokens != 1024 || r.Schema == nil || strings.Contains(r.Messages[0].Text, "hidden") ||
			strings.Contains(r.Messages[0].Text, "- supervisor") ||
			len(r.Messages) != 6 {
			t.Errorf("%+v", r)
		}
	})
	for name, answer := range map[string]string{
		"respects maxSteps limit": `{"summary": "a long enough summary", "requiresMultiStep": true, "reasoning": "", ` +
			`"steps": [` + strings.TrimSuffix(strings.Repeat(`{"agentId": "docs", "task": "again and again"},`, 9), ",") + `]}`,
		"validates plan output schema": `{"summary": "short", "requiresMultiStep": true, "steps": [{"agentId": "nobody", ` +
			`"task": "x", "expectedOutput": "song"}]}`,
		"needs JSON":            "I would first look at the invoices.",
		"names no system agent": `{"requiresMultiStep": false, "directAgentId": "supervisor", "reasoning": "it is free"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &scriptedReply{answers: []string{answer}}
			_, err := decide(t, s, "Compare everything", "")
			e, ok := planning.AsError(err)
			if !ok || e.Code != planning.CodeNoValidPlan || e.Answer != answer || len(s.heard) != 3 {
				t.Fatalf("%+v after %d calls", err, len(s.heard))
			}
			if last := s.heard[2].Messages; !strings.HasPrefix(last[len(last)-1].Text, "This cannot be used:\n- ") {
				t.Errorf("the model is not told what is wrong: %q", last[len(last)-1].Text)
			}
			s = &scriptedReply{answers: []string{answer, good}}
			d, err := decide(t, s, "Compare everything", "")
			if err != nil || d.Plan == nil || d.Usage.InputTokens != 20 {
				t.Errorf("a mended answer: %+v %v", d, err)
			}
		})
	}
	t.Run("handles LLM errors gracefully", func(t *testing.T) {
		t.Parallel()
		broken := errors.New("the line is dead")
		if _, err := decide(t, &scriptedReply{err: broken}, "Compare everything", ""); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("needsPlanning", func(t *testing.T) {
		t.Parallel()
		c := planning.NewClassifier(agents, "general")
		t.Run("returns false for simple queries", func(t *testing.T) {
			t.Parallel()
			if c.NeedsPlanning("what is an invoice") {
				t.Error("a plan for a question")
			}
		})
		t.Run("returns true for complex queries", func(t *testing.T) {
			t.Parallel()
			if !c.NeedsPlanning("compare and then summarize") {
				t.Error("no plan for several steps")
			}
		})
	})
}

func TestSupervisorNodeIntegration(t *testing.T) {
	t.Parallel()
	t.Run("routes directly in directed mode", func(t *testing.T) {
		t.Parallel()
		s := &scriptedReply{}
		d, err := decide(t, s, "Compare everything and then summarize", "docs")
		if err != nil || d.Agent != "docs" || d.Plan != nil || len(s.heard) != 0 {
			t.Errorf("%+v %v", d, err)
		}
		if _, err := decide(t, s, "x", "nobody"); err == nil {
			t.Error("an agent that does not exist is accepted")
		}
		sv := planning.New(planning.Config{Agents: agents})
		if id, text, ok := sv.Directed(" /docs  find it\nall "); !ok || id != "docs" || text != "find it\nall" {
			t.Errorf("%q %q %v", id, text, ok)
		}
		if _, _, ok := sv.Directed("/etc/passwd is a file"); ok {
			t.Error("a path is taken for an agent")
		}
	})
	t.Run("generates plan for complex autonomous queries", func(t *testing.T) {
		t.Parallel()
		if d, err := decide(t, &scriptedReply{answers: []string{good}}, "Compare invoices and contracts", ""); err != nil || d.Plan == nil {
			t.Errorf("%+v %v", d, err)
		}
	})
	t.Run("skips planning for simple queries", func(t *testing.T) {
		t.Parallel()
		if d, err := decide(t, &scriptedReply{}, "List contracts", ""); err != nil || d.Agent != "docs" {
			t.Errorf("%+v %v", d, err)
		}
	})
	t.Run("a model may route directly", func(t *testing.T) {
		t.Parallel()
		d, err := decide(
			t,
			&scriptedReply{answers: []string{`{"requiresMultiStep": false, "directAgentId": "billing", "reasoning": "one look-up"}`}},
			"Tell me of invoices",
			"",
		)
		if err != nil || d.Agent != "billing" || d.Plan != nil {
			t.Errorf("%+v %v", d, err)
		}
	})
}

// The confidence that a model states is kept. If the model states none, the plan has no confidence,
// instead of 0.
func TestConfidenceOfAModelsPlan(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]float64{good: 0, strings.Replace(good, `"reasoning": "two`,
		`"confidence": 0.8, "reasoning": "two`, 1): 0.8} {
		d, err := decide(t, &scriptedReply{answers: []string{answer}}, "Compare overdue invoices with contracts", "")
		if err != nil || d.Plan.Plan.Confidence != want {
			t.Errorf("%v %+v, want %v", err, d.Plan, want)
		}
	}
	if _, err := decide(t, &scriptedReply{answers: []string{strings.Replace(good, `"reasoning": "two`,
		`"confidence": 80, "reasoning": "two`, 1)}}, "Compare everything", ""); err == nil ||
		!strings.Contains(err.Error(), "confidence must be a number from 0 to 1") {
		t.Errorf("%v", err)
	}
}

// The examples name agents with matching capabilities, or else placeholder IDs.
func TestExamplesNameAgentsThatFit(t *testing.T) {
	t.Parallel()
	ask := func(list []planning.Agent) string {
		s := &scriptedReply{answers: []string{good}}
		g := planning.Generator{Provider: s, Agents: list}
		if _, err := g.Generate(t.Context(), "Compare"); err == nil && len(s.heard) == 0 {
			t.Fatal("nothing was asked")
		}
		var out strings.Builder
		for _, m := range s.heard[0].Messages {
			if m.Role == llm.RoleAssistant {
				out.WriteString(m.Text)
			}
		}
		return out.String()
	}
	if got := ask(agents); strings.Contains(got, "billing") || strings.Contains(got, "docs") ||
		!strings.Contains(got, "agent-for-figures") ||
		!strings.Contains(got, "agent-for-texts") {
		t.Error(got)
	}
	fit := []planning.Agent{
		{ID: "mailer", Selectable: true},
		{ID: "clerk", Selectable: true, Capabilities: []string{"Sales figures"}},
		{ID: "scribe", Selectable: true, Capabilities: []string{"writing"}},
	}
	if got := ask(fit); strings.Contains(got, "mailer") || !strings.Contains(got, `"agentId":"clerk"`) ||
		!strings.Contains(got, `"agentId":"scribe"`) {
		t.Error(got)
	}
}

// If the rules prove that a budget is too small, planning ends without a model call.
func TestAnUnreachableBoundEndsPlanning(t *testing.T) {
	t.Parallel()
	s := &scriptedReply{answers: []string{good}}
	sv := planning.New(
		planning.Config{
			Agents:       agents,
			DefaultAgent: "general",
			Skills:       blog(),
			Generator:    &planning.Generator{Provider: s, Agents: agents},
		},
	)
	_, err := sv.Decide(t.Context(), planning.Intent{Query: "Write about tea", Constraints: planning.Constraints{Budget: 100}})
	if e, ok := planning.AsError(err); !ok || e.Code != planning.CodeInsufficientResources ||
		!strings.Contains(e.Message, "1700 tokens are needed, 100 are allowed") ||
		len(s.heard) != 0 {
		t.Errorf("%v after %d calls", err, len(s.heard))
	}
}
