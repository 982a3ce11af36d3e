package planning_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/planning"
)

// A keyword matches a Spanish verb with an attached pronoun, and no other word that begins with the
// keyword.
func TestSpanishVerbsWithPronouns(t *testing.T) {
	t.Parallel()
	got := steps(plan(t, request("Escribe un artículo sobre el té y luego resúmelo", all...)))
	if len(got) != 4 || !strings.HasPrefix(got[0], "step-1 generate_content(topic: el té)") ||
		!strings.HasPrefix(got[3], "step-4 summarize_content") {
		t.Errorf("%q", got)
	}
	c := planning.NewClassifier(agents, "general")
	for query, want := range map[string]planning.Complexity{
		"Busca las facturas y compáralas":      planning.Complex,
		"Analízalos":                           planning.Complex,
		"Un análisis general":                  planning.Moderate,
		"Hazme un comparador":                  planning.Moderate,
		"Dame el resumen de la factura":        planning.Simple,
		"¿Qué es un analizador?":               planning.Simple,
		"Encuentra las preguntas generales":    planning.Simple,
		"Show me the analyzer and the summary": planning.Simple,
	} {
		if got := c.Classify(query).Complexity; got != want {
			t.Errorf("%q is %s, want %s", query, got, want)
		}
	}
}

// `/agent text` with an unknown agent is rejected. No other agent answers it.
func TestARequestForNoAgent(t *testing.T) {
	t.Parallel()
	s := planning.New(planning.Config{Agents: agents, DefaultAgent: "general"})
	id, text, ok := s.Directed(" /nobody where is it?")
	if !ok || id != "nobody" || text != "where is it?" {
		t.Fatalf("%q %q %v", id, text, ok)
	}
	_, err := s.Decide(t.Context(), planning.Intent{Query: text, Agent: id})
	if e, ok := planning.AsError(err); !ok || e.Code != "unknown_agent" || !strings.Contains(e.Suggestion, "billing") ||
		strings.Contains(e.Suggestion, "supervisor") {
		t.Errorf("%+v", err)
	}
	for _, query := range []string{"/nobody", "no /billing here", "a / b", "/ billing x"} {
		if _, _, ok := s.Directed(query); ok {
			t.Errorf("%q is directed", query)
		}
	}
}
