package planner

import (
	"strings"
	"unicode/utf8"
)

// column moves a text's position to a column inside it, from 1, where the text
// stands in the document on one line as it is, bare or in quotes. Otherwise the
// text's own position is the best that can be said.
func (d *Document) column(t *tree, column int) *tree {
	if t == nil || t.kind != treeString || column < 1 || strings.Contains(t.text, "\n") {
		return t
	}
	line := []rune(lineOf(d.text, t.line))
	start := t.column - 1
	if start < 0 || start >= len(line) {
		return t
	}
	if line[start] == '"' || line[start] == '\'' {
		start++
	}
	if !strings.HasPrefix(string(line[start:]), t.text) {
		return t
	}
	return &tree{kind: treeString, text: t.text, line: t.line, column: start + column}
}

// insideText is column for the place where a part of the text begins.
func (d *Document) insideText(t *tree, part string) *tree {
	if t == nil || t.kind != treeString {
		return t
	}
	i := strings.Index(t.text, part)
	if i < 0 {
		return t
	}
	return d.column(t, utf8.RuneCountInString(t.text[:i])+1)
}
