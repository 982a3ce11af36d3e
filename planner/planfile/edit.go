package planfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/internal/source"
)

// edit replaces a part of a line.
type edit struct {
	line, column int // of the first character; they start at 1
	old, new     string
}

// simpleID matches ids that need no quotes in YAML, unless YAML reads them as a number.
var simpleID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// replace plans to write an id in place of the name of a file. It returns false if the line does not contain the
// name as it is.
func (f *File) replace(v *source.Tree, id string) bool {
	line := source.LineOf(f.text, v.Line)
	start := offset(line, v.Column)
	i := strings.Index(line[start:], v.Text)
	if i < 0 {
		return false
	}
	start += i
	quoted := start > 0 && (line[start-1] == '"' || line[start-1] == '\'')
	if text, err := json.Marshal(id); err == nil && !quoted && (!simpleID.MatchString(id) || !source.PlainText(id)) {
		id = string(text)
	}
	f.edits = append(f.edits, edit{v.Line, utf8.RuneCountInString(line[:start]) + 1, v.Text, id})
	return true
}

// offset returns the byte offset of a column, which counts characters from 1.
func offset(line string, column int) int {
	n := 1
	for i := range line {
		if n == column {
			return i
		}
		n++
	}
	return len(line)
}

// apply sets Linked.
func (f *File) apply() {
	slices.SortFunc(f.edits, func(a, b edit) int { return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column)) })
	lines := bytes.SplitAfter(f.text, []byte("\n"))
	for _, e := range slices.Backward(f.edits) {
		line := string(lines[e.line-1])
		at := offset(line, e.column)
		lines[e.line-1] = []byte(line[:at] + e.new + line[at+len(e.old):])
	}
	f.Linked = bytes.Join(lines, nil)
}

// Problems returns problems of Linked with their positions in Source.
func (f *File) Problems(problems planner.Problems) planner.Problems {
	out := slices.Clone(problems)
	for i := range out {
		p := &out[i]
		p.File = f.Path
		shift := 0
		for _, e := range f.edits {
			if e.line == p.Line && e.column+shift < p.Column {
				shift += utf8.RuneCountInString(e.new) - utf8.RuneCountInString(e.old)
			}
		}
		p.Column -= shift
	}
	return out
}
