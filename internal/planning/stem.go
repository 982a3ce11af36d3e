package planning

import (
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"github.com/kljensen/snowball/spanish"
)

// phrase is a keyword: its folded words, and the languages whose inflections of them
// are meant, too.
type phrase struct {
	words []string
	stems []stemmer
}

// stemmer is a Snowball stemmer. Words whose stem has fewer than shortest letters
// match by themselves only: too many words share so little.
type stemmer struct {
	stem     func(word string) string
	shortest int
}

var stemmers = map[string]stemmer{
	"en": {func(w string) string { return english.Stem(w, true) }, 3},
	"es": {func(w string) string { return spanish.Stem(w, true) }, 4},
}

// newPhrase reads a keyword of a language; with "", of any language there is a
// stemmer for.
func newPhrase(text, language string) phrase {
	p := phrase{words: words(fold(text))}
	if language == "" {
		p.stems = []stemmer{stemmers["en"], stemmers["es"]}
	} else if s, ok := stemmers[language]; ok {
		p.stems = []stemmer{s}
	}
	return p
}

// exactly is a phrase of which no inflection is meant.
func exactly(words ...string) phrase { return phrase{words: words} }

// in is where the phrase stands in a folded and split text; -1: nowhere.
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

// same reports whether words are inflections of others, one by one.
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
