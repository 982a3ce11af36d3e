package planner

import (
	"strings"
	"unicode/utf8"
)

// column moves the position of a text to a column inside it, counted from 1. This works if the text
// is on one line of the document, bare or in quotes. Otherwise, the position of the text is used.
func (k *compiler) column(t *tree, column int) *tree {
	d := k.d
	if k.r.full() {
		return t // it is only counted, and finding the position takes time
	}
	if t == nil || t.kind != treeString || column < 1 || strings.Contains(t.text, "\n") {
		return t
	}
	line := lineOf(d.text, t.line)
	start, found := 0, false
	left := t.column - 1
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
	if !strings.HasPrefix(line[start+quote:], t.text) {
		return t
	}
	return &tree{kind: treeString, text: t.text, line: t.line, column: t.column + quote + column - 1}
}

// insideText is column for the start of a part of the text.
func (k *compiler) insideText(t *tree, part string) *tree {
	if k.r.full() || t == nil || t.kind != treeString {
		return t
	}
	i := strings.Index(t.text, part)
	if i < 0 {
		return t
	}
	return k.column(t, utf8.RuneCountInString(t.text[:i])+1)
}
