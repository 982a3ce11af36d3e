// Package source reads YAML and JSON into trees whose values know their position in the document.
package source

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// ParseYAML reads one YAML document into a tree. Scalars follow the YAML 1.2 core schema as far as
// JSON has the value: `no`, dates, and 1_000 are text. The parser rejects nesting beyond MaxDepth
// before it costs memory. Aliases are expanded here, within limits.
func ParseYAML(src []byte, r Reporter) *Tree {
	var doc yaml.Node
	if err := loadYAML(src, &doc); err != nil {
		yamlError(err, src, r)
		return nil
	}
	if doc.Kind == 0 || len(doc.Content) == 0 {
		return &Tree{Line: 1, Column: 1}
	}
	p := &yamlParser{r: r, open: map[*yaml.Node]bool{}}
	t := p.value(doc.Content[0], 0)
	if p.failed {
		return nil
	}
	return t
}

func loadYAML(src []byte, doc *yaml.Node) (err error) {
	defer recovered(&err)
	limits := loaderlimits.New(loaderlimits.DepthValue(MaxDepth), loaderlimits.AliasNone())
	return yaml.Load(src, doc, yaml.WithPlugin(limits))
}

// recovered converts a panic of a library that parses untrusted input to an error, so that no
// document can stop the daemon.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("cannot be read: %v", p)
	}
}

// yamlError explains an error of the parser.
func yamlError(err error, src []byte, r Reporter) {
	if e, ok := errors.AsType[*yaml.LoadErrors](err); ok {
		for _, e := range e.Errors {
			yamlError(e, src, r)
		}
		return
	}
	e, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		r.Error(nil, "", "yaml.syntax", message.Message{}, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return
	}
	at := &Tree{Line: e.Mark.Line, Column: e.Mark.Column}
	text, suggestion, code := strings.TrimPrefix(e.Message, "yaml: "), message.Message{}, "yaml.syntax"
	what := message.Verbatim(text)
	switch {
	case strings.Contains(text, "exceeded max depth"):
		code, what = "document.depth", message.New("the document is nested deeper than %d levels", MaxDepth)
	case strings.Contains(text, "cannot start any token"):
		if tabAt(src, at) {
			code, what, suggestion = "yaml.tab", message.New("YAML cannot be indented with tabs"), message.New("indent with spaces")
		} else {
			suggestion = message.New("quote text that begins with a special character such as @ or `")
		}
	case strings.Contains(text, "mapping values are not allowed"):
		suggestion = message.New("quote text that contains a colon followed by a space, and check the indentation")
	case strings.Contains(text, "found multiple"):
		code, what = "yaml.several_documents", message.New("the file contains several documents")
		suggestion = message.New("keep one, and remove the --- that separates them")
		at = secondDocument(src)
	case strings.Contains(text, "no documents"):
		code, what, suggestion = "plan.not_object", message.New("the document is empty"), message.New("write nodes and edges, or steps")
		at = &Tree{Line: 1, Column: 1}
	case strings.Contains(text, "alias") || strings.Contains(text, "anchor"):
		code = "yaml.alias"
	case strings.Contains(text, "unexpected end of stream") || strings.HasPrefix(text, "did not find expected ',' or"):
		if e.ContextMark.Line > 0 { // the start is more useful than the end of the file
			at = &Tree{Line: e.ContextMark.Line, Column: e.ContextMark.Column}
		}
		if e.ContextMsg != "" {
			what = message.Verbatim(e.ContextMsg + ": " + text)
		}
	}
	r.Error(at, "", code, suggestion, "%s", what)
}

// tabAt reports whether there is a tab at the position, or before it in the indentation of its
// line.
func tabAt(src []byte, at *Tree) bool {
	line := LineOf(src, at.Line)
	for i, c := range line {
		if c == '\t' {
			return true
		}
		if c != ' ' || i >= at.Column {
			return false
		}
	}
	return false
}

// LineOf returns a line of the source by its number, which starts at 1.
func LineOf(src []byte, number int) string {
	for n := 1; ; n++ {
		line, rest, more := bytes.Cut(src, []byte("\n"))
		if n == number {
			return string(line)
		}
		if !more {
			return ""
		}
		src = rest
	}
}

// secondDocument finds the marker that ends the first document.
func secondDocument(src []byte) *Tree {
	content := false
	n := 0
	for line := range bytes.Lines(src) {
		n++
		text := strings.TrimRight(string(line), " \t\r\n")
		marker := strings.HasPrefix(text, "---") || strings.HasPrefix(text, "...")
		if marker && content {
			return &Tree{Line: n, Column: 1}
		}
		content = content || text != "" && !strings.HasPrefix(strings.TrimLeft(text, " "), "#") && !strings.HasPrefix(text, "%")
	}
	return &Tree{Line: n, Column: 1}
}

type yamlParser struct {
	r        Reporter
	open     map[*yaml.Node]bool // anchors being expanded
	aliases  int                 // aliases that enclose the current node
	expanded int                 // values that are in the tree because of an alias
	failed   bool
}

func (p *yamlParser) fail(n *yaml.Node, code string, suggestion message.Message, format string, args ...any) *Tree {
	at := &Tree{Line: n.Line, Column: n.Column}
	p.r.Error(at, "", code, suggestion, format, args...)
	p.failed = true
	return at
}

// value converts a node at a depth of nested containers to a tree.
func (p *yamlParser) value(n *yaml.Node, depth int) *Tree {
	if p.failed {
		return nil
	}
	if n.Kind != yaml.AliasNode && (n.Style&yaml.TaggedStyle != 0 && n.Tag != "!!str" || n.Tag == "!") {
		return p.fail(
			n,
			"yaml.tag",
			message.New("remove the tag, and quote the value if it is text"),
			"the YAML tag %s is not allowed",
			jsonvalue.Quote(n.Tag),
		)
	}
	if p.aliases > 0 {
		if p.expanded++; p.expanded > maxAliases {
			return p.fail(n, "yaml.alias_limit", message.New("write the values out"), "aliases expand to more than %d values", maxAliases)
		}
	}
	t := &Tree{Line: n.Line, Column: n.Column}
	switch n.Kind {
	case yaml.AliasNode:
		if n.Alias == nil || p.open[n.Alias] {
			return p.fail(n, "yaml.alias", message.New("write the value out"), "the alias *%s contains itself", n.Value)
		}
		p.open[n.Alias] = true
		p.aliases++
		v := p.value(n.Alias, depth)
		p.aliases--
		delete(p.open, n.Alias)
		return v
	case yaml.ScalarNode:
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) != 0 {
			t.Kind, t.Text = String, n.Value
			checkString(t, p.r)
			return t
		}
		plainScalar(t, n.Value, p.r)
		return t
	case yaml.SequenceNode, yaml.MappingNode:
		if depth >= MaxDepth {
			return p.fail(n, "document.depth", message.Message{}, "the document is nested deeper than %d levels", MaxDepth)
		}
		if n.Kind == yaml.MappingNode {
			return p.mapping(n, t, depth)
		}
		t.Kind = List
		t.Items = make([]*Tree, 0, len(n.Content))
		for _, c := range n.Content {
			t.Items = append(t.Items, p.value(c, depth+1))
		}
		return t
	}
	return p.fail(n, "yaml.syntax", message.Message{}, "unexpected YAML value")
}

func (p *yamlParser) mapping(n *yaml.Node, t *Tree, depth int) *Tree {
	t.Kind = Map
	size := len(n.Content) / 2
	t.Keys, t.Items = make([]*Tree, 0, size), make([]*Tree, 0, size)
	lines := make(map[string]int, size)
	for i := 0; i+1 < len(n.Content) && !p.failed; i += 2 {
		key := p.key(n.Content[i])
		if p.failed {
			return t
		}
		if first, twice := lines[key.Text]; twice {
			p.r.Error(key, "", "yaml.duplicate_key", message.New("keep one of them"), "duplicate key %s (first defined on line %d)",
				jsonvalue.Quote(key.Text), first)
			p.failed = true
			return t
		}
		lines[key.Text] = key.Line
		t.Keys = append(t.Keys, key)
		t.Items = append(t.Items, p.value(n.Content[i+1], depth+1))
	}
	t.IndexKeys()
	return t
}

// key reads a key, which must be text.
func (p *yamlParser) key(n *yaml.Node) *Tree {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return p.fail(n, "yaml.key", message.New("write the key out"), "a key cannot be an alias")
	}
	if n.Kind != yaml.ScalarNode {
		return p.fail(n, "yaml.key", message.New("write keys as plain words"), "a key must be text")
	}
	if n.Value == "<<" && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 {
		return p.fail(n, "yaml.merge_key", message.New("write the keys out"), "merge keys are not allowed")
	}
	key := p.value(n, MaxDepth)
	if !p.failed && key.Kind != String {
		return p.fail(n, "yaml.key", message.New("quote it: %q", n.Value), "a key must be text, not %s", key.Kind)
	}
	return key
}

var (
	plainDecimal = regexp.MustCompile(`^[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	plainRadix   = regexp.MustCompile(`^0(x[0-9a-fA-F]+|o[0-7]+)$`)
	plainSpecial = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// plainScalar resolves an unquoted scalar.
func plainScalar(t *Tree, s string, r Reporter) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		t.Kind = Null
		return
	case "true", "True", "TRUE":
		t.Kind, t.Text = Bool, "true"
		return
	case "false", "False", "FALSE":
		t.Kind, t.Text = Bool, "false"
		return
	}
	t.Kind, t.Text = String, s
	switch {
	case (s[0] < '0' || s[0] > '9') && s[0] != '-' && s[0] != '+' && s[0] != '.':
	case plainDecimal.MatchString(s):
		t.Kind, t.Text = Number, jsonNumber(s)
		checkNumber(t, r)
	case plainRadix.MatchString(s):
		if v, err := strconv.ParseUint(s, 0, 64); err == nil {
			t.Kind, t.Text = Number, strconv.FormatUint(v, 10)
		}
	case plainSpecial.MatchString(s):
		r.Error(t, "", "number.not_finite", message.New("quote it if it is text"), "%s is not a number that JSON can hold", s)
	}
}

// PlainText reports whether YAML reads a text without quotes as this text.
func PlainText(s string) bool {
	t := &Tree{}
	plainScalar(t, s, &Quiet{})
	return t.Kind == String && !plainSpecial.MatchString(s)
}

// Quiet is a Reporter that keeps no problems.
type Quiet struct{ Failed bool } // Failed reports that there was an error

func (q *Quiet) Error(*Tree, string, string, message.Message, string, ...any) { q.Failed = true }
func (*Quiet) Warn(*Tree, string, string, message.Message, string, ...any)    {}

// Suggest returns otherwise.
func (*Quiet) Suggest(_ string, _ func() []string, otherwise message.Message) message.Message {
	return otherwise
}

// jsonNumber rewrites +1, .5 and 1. as JSON writes them.
func jsonNumber(s string) string {
	s = strings.TrimPrefix(s, "+")
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	if strings.HasPrefix(s, ".") {
		s = "0" + s
	}
	s = strings.ReplaceAll(strings.ReplaceAll(s, ".e", "e"), ".E", "E")
	return sign + strings.TrimSuffix(s, ".")
}

// checkNumber rejects numbers that are out of the range of a float64.
func checkNumber(t *Tree, r Reporter) {
	f, err := strconv.ParseFloat(t.Text, 64)
	if err != nil || f == 0 && strings.ContainsAny(mantissa(t.Text), "123456789") {
		r.Error(t, "", "number.range", message.New("quote it if it is text"), "the number %s is out of range", jsonvalue.Quote(t.Text))
	}
}

// mantissa returns a number's text without its exponent.
func mantissa(s string) string {
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		return s[:i]
	}
	return s
}

// checkString reports control characters that were written as escapes.
func checkString(t *Tree, r Reporter) {
	for _, c := range t.Text {
		if controlCharacter(c) {
			r.Error(t, "", "document.control_character", message.New("remove it"), "invalid control character U+%s", fmt.Sprintf("%04X", c))
			return
		}
	}
}
