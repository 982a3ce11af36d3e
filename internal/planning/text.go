package planning

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// fold converts a text to lower case and removes accents, so that "resúmelo" and "RESUMELO" are
// equal.
func fold(s string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(strings.ToLower(strings.TrimSpace(s))) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// words splits a folded text into words.
func words(folded string) []string {
	return strings.FieldsFunc(folded, func(r rune) bool { return !wordRune(r) })
}

// holdsWords reports whether a text contains a phrase as whole words. Both are folded and split.
func holdsWords(text, phrase []string) bool {
	return indexWords(text, phrase) >= 0
}

func indexWords(text, phrase []string) int {
	if len(phrase) == 0 {
		return -1
	}
	for i := 0; i+len(phrase) <= len(text); i++ {
		match := true
		for j, w := range phrase {
			if text[i+j] != w {
				match = false
				break
			}
		}
		if match {
			return i
		}
	}
	return -1
}

// enclitics are pronouns that Spanish attaches to a verb: the keyword "resume" also matches
// "resúmelo".
var enclitics = []string{"lo", "la", "los", "las", "me", "nos", "melo", "mela", "melos", "melas", "selo", "sela", "selos", "selas", "noslo"}

// withEnclitics returns a Spanish keyword of one word and its forms with an attached pronoun.
func withEnclitics(phrase []string) [][]string {
	out := [][]string{phrase}
	if len(phrase) == 1 && len(phrase[0]) >= 4 {
		for _, e := range enclitics {
			out = append(out, []string{phrase[0] + e})
		}
	}
	return out
}
