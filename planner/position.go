package planner

import (
	"strings"
	"unicode/utf8"

	"github.com/kairosd/kairosd/planner/internal/source"
)

// column moves the position of a text to a column inside it, counted from 1. This works if the text
// is on one line of the document, bare or in quotes. Otherwise, the position of the text is used.
func (k *compiler) column(t *source.Tree, column int) *source.Tree {
	d := k.d
	if k.r.Full() {
		return t // it is only counted, and finding the position takes time
	}
	if t == nil || t.Kind != source.String || column < 1 || strings.Contains(t.Text, "\n") {
		return t
	}
	line := source.LineOf(d.text, t.Line)
	start, found := 0, false
	left := t.Column - 1
	for start = range line {
		if found = left == 0; found {
			break
		}
		left--
	}
	if !found {
		return t
	}
	quote := 0
	if line[start] == '"' || line[start] == '\'' {
		quote = 1
	}
	if !strings.HasPrefix(line[start+quote:], t.Text) {
		return t
	}
	return &source.Tree{Kind: source.String, Text: t.Text, Line: t.Line, Column: t.Column + quote + column - 1}
}

// insideText is column for the start of a part of the text.
func (k *compiler) insideText(t *source.Tree, part string) *source.Tree {
	if k.r.Full() || t == nil || t.Kind != source.String {
		return t
	}
	i := strings.Index(t.Text, part)
	if i < 0 {
		return t
	}
	return k.column(t, utf8.RuneCountInString(t.Text[:i])+1)
}
