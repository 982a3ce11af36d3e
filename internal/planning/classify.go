package planning

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
)

// The words of a classification.
type (
	Classification = domain.Classification
	Complexity     = domain.Complexity
)

// How much a query asks for.
const (
	Simple   = domain.Simple
	Moderate = domain.Moderate
	Complex  = domain.Complex
)

// Agent is what a classifier and a planner know of an agent.
type Agent struct {
	ID, Name, Description string
	Icon, Color           string
	Capabilities          []string
	TriggerKeywords       []string
	// System agents are never suggested; Selectable ones may be.
	System, Selectable bool
	// Unsafe agents may use a tool whose effect cannot be repeated.
	Unsafe bool
}

// Classifier classifies without a model, by the patterns of [004] in English and
// Spanish. It is immutable.
type Classifier struct {
	agents  []Agent
	keys    [][]phrase // the keywords of each agent
	general string
}

// NewClassifier makes a classifier; general is the agent that is suggested when
// no keyword matches.
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

// A direct question, or a task of one step. The text is folded.
var simpleOpeners = regexp.MustCompile(`^\W*(?:` +
	`(?:what|who|where|when|how much|how many|which)\s+(?:is|are|was|were)\b|show\s+me\b|get\b|find\b|list\b|` +
	`(?:que|quien|donde|cuando|cuanto|cuanta|cuantos|cuantas|cual)\s+(?:es|son|esta|estan|hay|fue|hora)\b|muestra(?:me)?\b|dame\b|busca(?:me)?\b|encuentra\b|obten\b|lista(?:me)?\b)`)

// Several parts, comparisons, workflows.
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

// spanishPhrases are phrases with the forms that verbs have before a pronoun.
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

// Classify judges a query. Complex indicators win over simple openers.
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

// NeedsPlanning reports whether a query needs a plan, without making one.
func (c *Classifier) NeedsPlanning(query string) bool { return c.Classify(query).RequiresPlanning }

// relevant are the agents with a keyword in the query, the longest match first;
// where none has, the general one.
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
