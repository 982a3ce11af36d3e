package planning

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
)

// Types of a classification, which the domain defines.
type (
	Classification = domain.Classification
	Complexity     = domain.Complexity
)

// Complexities of a query.
const (
	Simple   = domain.Simple
	Moderate = domain.Moderate
	Complex  = domain.Complex
)

// Agent describes an agent to a classifier and a planner.
type Agent struct {
	ID, Name, Description string
	Icon, Color           string
	Capabilities          []string
	TriggerKeywords       []string
	// Classifiers and planners never suggest System agents. They may suggest Selectable ones.
	System, Selectable bool
	// Unsafe agents may use a non-idempotent tool.
	Unsafe bool
}

// Classifier classifies queries without a model. It uses the English and Spanish patterns of [004].
// It is immutable.
type Classifier struct {
	agents  []Agent
	keys    [][]phrase // of each agent
	general string
}

// NewClassifier returns a classifier. It suggests the agent general when no keyword matches.
func NewClassifier(agents []Agent, general string) *Classifier {
	c := &Classifier{agents: agents, general: general}
	for _, a := range agents {
		var keys []phrase
		for _, k := range a.TriggerKeywords {
			keys = append(keys, newPhrase(k, ""))
		}
		c.keys = append(c.keys, keys)
	}
	return c
}

// simpleOpeners match a direct question or a task of one step in a folded text.
var simpleOpeners = regexp.MustCompile(`^\W*(?:` +
	`(?:what|who|where|when|how much|how many|which)\s+(?:is|are|was|were)\b|show\s+me\b|get\b|find\b|list\b|` +
	`(?:que|quien|donde|cuando|cuanto|cuanta|cuantos|cuantas|cual)\s+(?:es|son|esta|estan|hay|fue|hora)\b|muestra(?:me)?\b|dame\b|busca(?:me)?\b|encuentra\b|obten\b|lista(?:me)?\b)`)

// complexIndicators match requests with several parts, comparisons, and workflows.
var complexIndicators = append(
	phrases(
		"and then",
		"after that",
		"followed by",
		"compare",
		"analyze",
		"analyse",
		"summarize",
		"summarise",
		"create a report",
		"generate a chart",
		"for each",
		"all of the",
	),
	spanishPhrases(
		"y luego",
		"y despues",
		"despues de eso",
		"seguido de",
		"compara",
		"comparar",
		"analiza",
		"analizar",
		"resume",
		"resumir",
		"crea un informe",
		"genera un grafico",
		"para cada",
		"todos los",
		"todas las",
	)...)

// spanishPhrases splits phrases into words and adds the forms of Spanish verbs with an attached
// pronoun.
func spanishPhrases(list ...string) [][]string {
	var out [][]string
	for _, p := range phrases(list...) {
		out = append(out, withEnclitics(p)...)
	}
	return out
}

func phrases(list ...string) [][]string {
	out := make([][]string, len(list))
	for i, p := range list {
		out[i] = words(fold(p))
	}
	return out
}

// Classify estimates the complexity of a query. Complex indicators take precedence over simple
// openers.
func (c *Classifier) Classify(query string) Classification {
	folded := fold(query)
	w := words(folded)
	relevant := c.relevant(w)
	if slices.ContainsFunc(complexIndicators, func(p []string) bool { return holdsWords(w, p) }) {
		return Classification{
			Complexity:       Complex,
			RequiresPlanning: true,
			SuggestedAgents:  relevant,
			Reasoning:        "Multi-step query requiring coordination",
		}
	}
	if simpleOpeners.MatchString(folded) {
		return Classification{
			Complexity:       Simple,
			RequiresPlanning: false,
			SuggestedAgents:  relevant[:1],
			Reasoning:        "Single-step query, direct routing",
		}
	}
	return Classification{
		Complexity:       Moderate,
		RequiresPlanning: true,
		SuggestedAgents:  relevant,
		Reasoning:        "Moderate complexity, planning recommended",
	}
}

// NeedsPlanning reports whether a query needs a plan. It makes no plan.
func (c *Classifier) NeedsPlanning(query string) bool { return c.Classify(query).RequiresPlanning }

// relevant lists the agents with a keyword in the query, longest match first. If no keyword
// matches, it lists the general agent.
func (c *Classifier) relevant(query []string) []string {
	type match struct {
		id     string
		length int
	}
	var found []match
	for i, a := range c.agents {
		if a.System || !a.Selectable {
			continue
		}
		longest := 0
		for _, k := range c.keys[i] {
			if k.in(query) >= 0 {
				length := 0
				for _, word := range k.words {
					length += len(word) + 1
				}
				longest = max(longest, length)
			}
		}
		if longest > 0 {
			found = append(found, match{a.ID, longest})
		}
	}
	slices.SortStableFunc(found, func(a, b match) int { return cmp.Compare(b.length, a.length) })
	if len(found) == 0 {
		return []string{c.general}
	}
	out := make([]string, len(found))
	for i, m := range found {
		out[i] = m.id
	}
	return out
}
