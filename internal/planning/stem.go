package planning

import (
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"github.com/kljensen/snowball/spanish"
)

// phrase is a keyword: its folded words, and the stemmers of the languages whose inflections it
// matches.
type phrase struct {
	words []string
	stems []stemmer
}

// stemmer is a Snowball stemmer. Words whose stem has fewer than shortest letters match only
// exactly, because too many words share a short stem.
type stemmer struct {
	stem     func(word string) string
	shortest int
}

var stemmers = map[string]stemmer{
	"en": {func(w string) string { return english.Stem(w, true) }, 3},
	"es": {func(w string) string { return spanish.Stem(w, true) }, 4},
}

// newPhrase parses a keyword of a language. If language is "", the keyword matches inflections in
// every language with a stemmer.
func newPhrase(text, language string) phrase {
	p := phrase{words: words(fold(text))}
	if language == "" {
		p.stems = []stemmer{stemmers["en"], stemmers["es"]}
	} else if s, ok := stemmers[language]; ok {
		p.stems = []stemmer{s}
	}
	return p
}

// exactly returns a phrase that matches no inflections.
func exactly(words ...string) phrase { return phrase{words: words} }

// in returns the index of the phrase in a folded and split text, or -1.
func (p phrase) in(text []string) int {
	if i := indexWords(text, p.words); i >= 0 || len(p.words) == 0 {
		return i
	}
	for _, s := range p.stems {
		for i := 0; i+len(p.words) <= len(text); i++ {
			if s.same(text[i:i+len(p.words)], p.words) {
				return i
			}
		}
	}
	return -1
}

// same reports whether each word of a equals the word of b at its index or has the same stem.
func (s stemmer) same(a, b []string) bool {
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		stem := s.stem(b[i])
		if utf8.RuneCountInString(stem) < s.shortest || s.stem(a[i]) != stem {
			return false
		}
	}
	return true
}
