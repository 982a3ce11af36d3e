package planner

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/suggest"
)

// Limits of a document.
const (
	MaxDocument = 1 << 20 // bytes
	MaxNodes    = 5_000
	MaxEdges    = 20_000
	MaxDepth    = 64
	maxAliases  = 10_000 // nodes that aliases may expand to
	maxProblems = 50     // errors that are listed one by one
)

// treeKind is the JSON kind of a tree node.
type treeKind int

const (
	treeNull treeKind = iota
	treeBool
	treeNumber
	treeString
	treeList
	treeMap
)

// Localize returns the kind with its article.
func (k treeKind) Localize() message.Message { return message.Message{Text: k.String()} }

func (k treeKind) String() string {
	return [...]string{"null", "true or false", "a number", "text", "a list", "an object"}[k]
}

// tree is the value of a document with positions, from YAML or JSON.
type tree struct {
	kind         treeKind
	text         string // scalars: the text; numbers: as JSON writes them
	items        []*tree
	keys         []*tree // of a map: strings, parallel to items
	index        map[string]int
	line, column int
}

// bigMap is the number of keys above which a map is indexed.
const bigMap = 16

// get returns the value of a key, or nil.
func (t *tree) get(key string) *tree {
	if t == nil {
		return nil
	}
	if t.index != nil {
		if i, ok := t.index[key]; ok {
			return t.items[i]
		}
		return nil
	}
	for i, k := range t.keys {
		if k.text == key {
			return t.items[i]
		}
	}
	return nil
}

// indexKeys prepares a large map for get; called once, when the map is complete.
func (t *tree) indexKeys() {
	if len(t.keys) <= bigMap {
		return
	}
	t.index = make(map[string]int, len(t.keys))
	for i, k := range t.keys {
		t.index[k.text] = i
	}
}

// value returns the value without positions.
func (t *tree) value() any {
	switch t.kind {
	case treeNull:
		return nil
	case treeBool:
		return t.text == "true"
	case treeNumber:
		return json.Number(t.text)
	case treeString:
		return t.text
	case treeList:
		list := make([]any, len(t.items))
		for i, e := range t.items {
			list[i] = e.value()
		}
		return list
	}
	m := make(map[string]any, len(t.keys))
	for i, k := range t.keys {
		m[k.text] = t.items[i].value()
	}
	return m
}

// at follows keys and indexes as far as they exist, for positions.
func (t *tree) at(steps []string) *tree {
	for _, s := range steps {
		if t == nil {
			return nil
		}
		var next *tree
		switch t.kind {
		case treeMap:
			next = t.get(s)
		case treeList:
			if i, err := strconv.Atoi(s); err == nil && 0 <= i && i < len(t.items) {
				next = t.items[i]
			}
		}
		if next == nil {
			return t
		}
		t = next
	}
	return t
}

// reporter collects problems.
type reporter struct {
	problems Problems
	errors   int
	warnings int
	// broken reports that fields which link nodes could not be read.
	broken bool
	// lenient converts advisory errors to warnings.
	lenient bool
}

// maxWarnings limits the warnings that are listed.
const maxWarnings = 200

// full reports whether further errors are only counted, so that their messages need not be built.
func (r *reporter) full() bool { return r.errors >= maxProblems }

// suggest returns the nearest of the names, or otherwise if none is near. It does not search once
// the report is full, because suggestions must not take quadratic time.
func (r *reporter) suggest(word string, names func() []string, otherwise message.Message) message.Message {
	if r.full() {
		return message.Message{}
	}
	candidates := names()
	slices.Sort(candidates)
	if near := suggest.Nearest(word, candidates); near != "" {
		return message.New("did you mean %s?", near)
	}
	return otherwise
}

func (r *reporter) add(sev Severity, at *tree, node, code string, suggestion message.Message, format string, args ...any) {
	if sev == SeverityError && r.lenient && advisory[code] {
		sev = SeverityWarning
	}
	if sev == SeverityError {
		if r.errors++; r.errors > maxProblems {
			return
		}
	} else if r.warnings++; r.warnings > maxWarnings {
		return
	}
	p := Problem{Severity: sev, Code: code, Message: message.New(format, args...), Suggestion: suggestion, Node: node}
	if at != nil {
		p.Line, p.Column = at.line, at.column
	}
	r.problems = append(r.problems, p)
}

func (r *reporter) error(at *tree, node, code string, suggestion message.Message, format string, args ...any) {
	r.add(SeverityError, at, node, code, suggestion, format, args...)
}

func (r *reporter) warn(at *tree, node, code string, suggestion message.Message, format string, args ...any) {
	r.add(SeverityWarning, at, node, code, suggestion, format, args...)
}

// done returns all problems in document order.
func (r *reporter) done() Problems {
	if r.errors > maxProblems {
		r.problems = append(r.problems, Problem{Severity: SeverityError, Code: "too_many_problems",
			Message: message.New(
				"and %d more errors",
				r.errors-maxProblems,
			), Suggestion: message.New("fix the errors above first"), Line: math.MaxInt})
	}
	if r.warnings > maxWarnings {
		r.problems = append(r.problems, Problem{Severity: SeverityWarning, Code: "too_many_problems",
			Message: message.New("and %d more warnings", r.warnings-maxWarnings), Line: math.MaxInt})
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	r.problems = slices.CompactFunc(r.problems, func(a, b Problem) bool { // of a template that several steps use
		return a.Line > 0 && a.Line == b.Line && a.Column == b.Column && a.Code == b.Code && a.Message.String() == b.Message.String()
	})
	for i := range r.problems {
		if r.problems[i].Line == math.MaxInt {
			r.problems[i].Line = 0
		}
	}
	return r.problems
}

// checkText rejects characters that no document may contain. It returns the text without a UTF-8
// byte order mark.
func checkText(src []byte, r *reporter) ([]byte, bool) {
	if len(src) > MaxDocument {
		r.error(nil, "", "document.too_large", message.New("split the plan, or move data into its input"),
			"the document has %d bytes; at most %d are allowed", len(src), MaxDocument)
		return nil, false
	}
	if len(src) >= 2 && (src[0] == 0xFE && src[1] == 0xFF || src[0] == 0xFF && src[1] == 0xFE) {
		r.error(nil, "", "document.encoding", message.New("save it as UTF-8"), "the document is UTF-16")
		return nil, false
	}
	src = []byte(strings.TrimPrefix(string(src), "\uFEFF"))
	line, column := 1, 1
	for i := 0; i < len(src); {
		c, n := utf8.DecodeRune(src[i:])
		switch {
		case c == utf8.RuneError && n == 1:
			r.error(&tree{line: line, column: column}, "", "document.encoding", message.New("save it as UTF-8"), "invalid UTF-8")
			return nil, false
		case controlCharacter(c):
			r.error(&tree{line: line, column: column}, "", "document.control_character", message.New("remove it"),
				"invalid control character U+%s", fmt.Sprintf("%04X", c))
			return nil, false
		case c == '\n':
			line, column = line+1, 0
		}
		column++
		i += n
	}
	return src, true
}

// controlCharacter reports control characters: C0, DEL, and C1, except tabs and line ends.
func controlCharacter(c rune) bool {
	return c < 0x20 && c != '\t' && c != '\n' && c != '\r' || c == 0x7F || 0x80 <= c && c < 0xA0 && c != 0x85
}

// bidi reports characters that change the direction of text, because they can make a name look like
// another.
func bidi(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool {
		return 0x202A <= c && c <= 0x202E || 0x2066 <= c && c <= 0x2069 || c == 0x200E || c == 0x200F || c == 0x061C
	})
}
