package planning

import (
	"regexp"
	"slices"
	"strings"
)

// Parameters that a request states in words: topic, tone, length, and keywords. A parameter is
// taken whole or left out, never cut.

var (
	topicStart = regexp.MustCompile(`(?i)(?:^|\s)(?:about|regarding|concerning|sobre|acerca de)\s+`)
	// clauseStart matches the beginning of a clause that may request something other than the
	// topic.
	clauseStart = regexp.MustCompile(
		`(?i)[.,;:!?]\s+(?:(?:with|and then|and|then|followed by|including|plus|con|y luego|y despues|y ` +
			`después|y|luego|incluyendo|más)\s+)?|` +
			`\s+(?:with|and then|and|then|followed by|including|plus|con|y luego|y despues|y ` +
			`después|y|luego|incluyendo|más|in|en|using|usando|for|para)\s+`,
	)
	article = regexp.MustCompile(
		`(?i)^(?:(?:a|an|the|its|then|also|un|una|el|la|los|las|su|luego|también|short|brief|breve|corto|corta)\s+)+`,
	)
	quoted = regexp.MustCompile(`^(?:"([^"]+)"|“([^”]+)”|«([^»]+)»)`)

	toneBefore = regexp.MustCompile(
		`(?i)\b(?:in|with|using|en|con|usando)\s+(?:an?\s+|un\s+)?(\p{L}+(?:(?:,|\s+and|\s+y)\s+\p{L}+)?)\s+(?:tone|style|voice)\b`,
	)
	toneAfter = regexp.MustCompile(
		`(?i)\b(?:(?:in|with|using|en|con|usando)\s+(?:an?\s+|un\s+)?)?(?:tone|tono|estilo)(?:\s*:\s*|\s+)(\p{L}+(?:(?:\s+and|\s+y)\s+\p{L}+)?)`,
	)
	countOf = regexp.MustCompile(
		`(?i)\b(?:(?:in|of|with|about|around|at most|up ` +
			`to|en|de|con|unas|unos|máximo)\s+)?(\d[\d.,` +
			`]*\s*-?\s*(?:words?|characters?|sentences?|paragraphs?|pages?|palabras?|caracteres|frases?|párrafos?|páginas?))\b`,
	)
	keywordsOf = regexp.MustCompile(
		`(?i)\b(?:with\s+the\s+|with\s+|con\s+las\s+|con\s+)?(?:keywords?|palabras clave)(?:\s*:\s*|\s+)([^.;\n]+)`,
	)
	separator = regexp.MustCompile(`(?i)\s*,\s*(?:and\s+|y\s+)?|\s+(?:and|y)\s+`)
)

// Folded adjectives before the topic that state a tone or length.
var (
	tones = []string{
		"professional",
		"casual",
		"formal",
		"informal",
		"friendly",
		"humorous",
		"funny",
		"persuasive",
		"academic",
		"technical",
		"neutral",
		"serious",
		"playful",
		"enthusiastic",
		"profesional",
		"amistoso",
		"amigable",
		"humoristico",
		"divertido",
		"persuasivo",
		"academico",
		"tecnico",
		"serio",
	}
	lengths = []string{
		"short",
		"brief",
		"medium",
		"long",
		"detailed",
		"corto",
		"corta",
		"breve",
		"medio",
		"largo",
		"larga",
		"detallado",
		"detallada",
	}
)

// parameters extracts the other parameters of a request with skills. asks reports whether a clause
// begins with a keyword of a skill that the text before it does not contain.
func parameters(goal string, begins func(before, clause string) bool) map[string]any {
	out := map[string]any{}
	head, topic := goal, ""
	if at := topicStart.FindStringIndex(goal); at != nil {
		head = goal[:at[0]]
		topic = topicOf(goal[at[1]:], func(clause string) bool { return begins(head, clause) })
	}
	if topic != "" {
		out["topic"] = topic
	}
	// A word that is part of the topic does not set the tone or length.
	rest := strings.Replace(goal, topic, "\x00", 1)
	if topic == "" {
		rest = goal
	}
	if m := keywordsOf.FindStringSubmatchIndex(rest); m != nil {
		var list []any
		for _, k := range separator.Split(strings.TrimSpace(rest[m[2]:m[3]]), -1) {
			if k = strings.Trim(k, ` "'“”`); k != "" {
				list = append(list, k)
			}
		}
		if len(list) > 0 {
			out["keywords"] = list
		}
		rest = rest[:m[0]] + "\x00" + rest[m[1]:]
	}
	if m := toneBefore.FindStringSubmatch(rest); m != nil {
		out["tone"] = m[1]
	} else if m := toneAfter.FindStringSubmatch(rest); m != nil {
		out["tone"] = m[1]
	} else if w := oneOf(head, tones); w != "" {
		out["tone"] = w
	}
	if m := countOf.FindStringSubmatch(rest); m != nil {
		out["length"] = m[1]
	} else if w := oneOf(head, lengths); w != "" {
		out["length"] = w
	}
	return out
}

// topicOf returns the beginning of a text, up to a clause that requests something else.
func topicOf(text string, begins func(clause string) bool) string {
	if m := quoted.FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[1] + m[2] + m[3])
	}
	for _, at := range clauseStart.FindAllStringIndex(text, -1) {
		clause := text[at[1]:]
		join := text[at[0]:at[1]]
		if begins(article.ReplaceAllString(clause, "")) || givesParameter(join+clause) {
			text = text[:at[0]]
			break
		}
	}
	return strings.TrimRight(strings.TrimSpace(text), ".,;:!?¿¡ ")
}

// givesParameter reports whether a clause begins with a tone, a length, or keywords.
func givesParameter(clause string) bool {
	clause = strings.TrimLeft(clause, ".,;:!? ")
	for _, r := range []*regexp.Regexp{toneBefore, toneAfter, countOf, keywordsOf} {
		if at := r.FindStringIndex(clause); at != nil && at[0] == 0 {
			return true
		}
	}
	return false
}

// oneOf returns the only word of list in the text, as spelled in the text. It returns "" if the
// text contains none or several.
func oneOf(text string, list []string) string {
	found := ""
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !wordRune(r) }) {
		if slices.Contains(list, fold(w)) {
			if found != "" {
				return ""
			}
			found = w
		}
	}
	return found
}
