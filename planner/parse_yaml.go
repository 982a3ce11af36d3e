package planner

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// prescanDepth bounds nesting before the YAML parser sees the text: it guards
// the parser, MaxDepth guards the document.
const prescanDepth = 4 * MaxDepth

// parseYAML reads one YAML document into a tree. Scalars follow the YAML 1.2
// core schema as far as JSON has the value: `no`, dates and 1_000 are text.
func parseYAML(src []byte, r *reporter) *tree {
	if line := tooDeepYAML(src); line > 0 {
		r.error(&tree{line: line, column: 1}, "", "document.depth", "", "nested deeper than %d levels", MaxDepth)
		return nil
	}
	var doc yaml.Node
	if err := yaml.Load(src, &doc); err != nil {
		yamlError(err, r)
		return nil
	}
	if doc.Kind == 0 || len(doc.Content) == 0 {
		return &tree{line: 1, column: 1}
	}
	p := &yamlParser{r: r, open: map[*yaml.Node]bool{}}
	t := p.value(doc.Content[0], 1)
	if p.failed {
		return nil
	}
	return t
}

func yamlError(err error, r *reporter) {
	if e, ok := errors.AsType[*yaml.LoadErrors](err); ok {
		for _, e := range e.Errors {
			yamlError(e, r)
		}
		return
	}
	e, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		r.error(nil, "", "yaml.syntax", "", "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return
	}
	at := &tree{line: e.Mark.Line, column: e.Mark.Column}
	suggestion, code := "", "yaml.syntax"
	switch m := e.Message; {
	case strings.Contains(m, "cannot start any token") || strings.Contains(m, "tab"):
		suggestion = "indent with spaces, and quote text that begins with a special character"
	case strings.Contains(m, "mapping values are not allowed"):
		suggestion = "quote text that holds a colon followed by a blank"
	case strings.Contains(m, "document"):
		code, suggestion = "yaml.several_documents", "a file holds one plan"
	case strings.Contains(m, "alias") || strings.Contains(m, "anchor"):
		code = "yaml.alias"
	}
	r.error(at, "", code, suggestion, "%s", e.Message)
}

type yamlParser struct {
	r        *reporter
	open     map[*yaml.Node]bool // anchors being expanded
	expanded int
	failed   bool
}

func (p *yamlParser) fail(n *yaml.Node, code, suggestion, format string, args ...any) *tree {
	at := &tree{line: n.Line, column: n.Column}
	p.r.error(at, "", code, suggestion, format, args...)
	p.failed = true
	return at
}

func (p *yamlParser) value(n *yaml.Node, depth int) *tree {
	if depth > MaxDepth {
		return p.fail(n, "document.depth", "", "nested deeper than %d levels", MaxDepth)
	}
	if n.Style&yaml.TaggedStyle != 0 && n.Kind != yaml.AliasNode && n.Tag != "!!str" {
		return p.fail(n, "yaml.tag", "remove the tag", "the tag %s is not allowed", clip(n.Tag))
	}
	t := &tree{line: n.Line, column: n.Column}
	switch n.Kind {
	case yaml.AliasNode:
		if n.Alias == nil || p.open[n.Alias] {
			return p.fail(n, "yaml.alias", "", "the alias *%s contains itself", n.Value)
		}
		p.open[n.Alias] = true
		before := p.expanded
		v := p.value(n.Alias, depth)
		delete(p.open, n.Alias)
		p.expanded = max(p.expanded, before) + countTree(v, maxAliases)
		if p.expanded > maxAliases && !p.failed {
			return p.fail(n, "yaml.alias_limit", "write the values out", "aliases expand to more than %d values", maxAliases)
		}
		return v
	case yaml.ScalarNode:
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) != 0 {
			t.kind, t.text = treeString, n.Value
			return t
		}
		plainScalar(t, n.Value, p.r)
		return t
	case yaml.SequenceNode:
		t.kind = treeList
		for _, c := range n.Content {
			if p.failed {
				break
			}
			t.items = append(t.items, p.value(c, depth+1))
		}
		return t
	case yaml.MappingNode:
		return p.mapping(n, t, depth)
	}
	return p.fail(n, "yaml.syntax", "", "unexpected YAML node")
}

func (p *yamlParser) mapping(n *yaml.Node, t *tree, depth int) *tree {
	t.kind = treeMap
	lines := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content) && !p.failed; i += 2 {
		k := n.Content[i]
		if k.Kind == yaml.AliasNode && k.Alias != nil {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			return p.fail(k, "yaml.key", "", "a key must be text")
		}
		key := &tree{line: k.Line, column: k.Column}
		if k.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			key.kind, key.text = treeString, k.Value
		} else if plainScalar(key, k.Value, p.r); k.Value == "<<" {
			return p.fail(k, "yaml.merge_key", "write the keys out", "merge keys are not allowed")
		} else if key.kind == treeNull {
			return p.fail(k, "yaml.key", "", "a key must be text, not null")
		}
		key.kind, key.text = treeString, k.Value
		if first, twice := lines[key.text]; twice {
			p.r.error(key, "", "yaml.duplicate_key", "", "key %s stands twice, first in line %d", clip(key.text), first)
			p.failed = true
			return t
		}
		lines[key.text] = k.Line
		t.keys = append(t.keys, key)
		t.items = append(t.items, p.value(n.Content[i+1], depth+1))
	}
	return t
}

// countTree counts values, up to the cap.
func countTree(t *tree, limit int) int {
	n := 1
	for _, e := range t.items {
		if n > limit {
			return n
		}
		n += countTree(e, limit-n)
	}
	return n
}

var (
	plainDecimal = regexp.MustCompile(`^[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	plainRadix   = regexp.MustCompile(`^0(x[0-9a-fA-F]+|o[0-7]+)$`)
	plainSpecial = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// plainScalar resolves an unquoted scalar.
func plainScalar(t *tree, s string, r *reporter) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		t.kind = treeNull
		return
	case "true", "True", "TRUE":
		t.kind, t.text = treeBool, "true"
		return
	case "false", "False", "FALSE":
		t.kind, t.text = treeBool, "false"
		return
	}
	t.kind, t.text = treeString, s
	switch {
	case plainDecimal.MatchString(s):
		t.kind, t.text = treeNumber, jsonNumber(s)
		checkNumber(t, r)
	case plainRadix.MatchString(s):
		if v, err := strconv.ParseUint(s, 0, 64); err == nil {
			t.kind, t.text = treeNumber, strconv.FormatUint(v, 10)
		}
	case plainSpecial.MatchString(s):
		r.error(t, "", "number.not_finite", "quote it if it is text", "%s is not a number that JSON can hold", s)
	}
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

// checkNumber refuses numbers that no double can hold (P24).
func checkNumber(t *tree, r *reporter) {
	f, err := strconv.ParseFloat(t.text, 64)
	if err != nil && math.IsInf(f, 0) {
		r.error(t, "", "number.range", "quote it if it is text", "the number %s is out of range", clip(t.text))
	}
}

// tooDeepYAML estimates nesting from indentation, dashes and brackets without
// parsing, and returns the first line that is beyond prescanDepth, or 0.
func tooDeepYAML(src []byte) int {
	var indents []int
	flow := 0
	for n, line := range bytes.Split(src, []byte("\n")) {
		text := bytes.TrimLeft(line, " ")
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		indent := len(line) - len(text)
		for len(indents) > 0 && indents[len(indents)-1] >= indent {
			indents = indents[:len(indents)-1]
		}
		indents = append(indents, indent)
		for bytes.HasPrefix(text, []byte("- ")) || bytes.HasPrefix(text, []byte("? ")) {
			text = bytes.TrimLeft(text[2:], " ")
			indent += 2
			indents = append(indents, indent)
		}
		var quote byte
		for i, c := range text {
			switch {
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case (c == '"' || c == '\'') && (i == 0 || strings.IndexByte(" [{,:", text[i-1]) >= 0):
				quote = c
			case c == '#' && i > 0 && text[i-1] == ' ':
			case c == '[' || c == '{':
				flow++
			case c == ']' || c == '}':
				flow = max(0, flow-1)
			}
			if len(indents)+flow > prescanDepth {
				return n + 1
			}
		}
	}
	return 0
}

// FormatOf picks a format by file name, else by content: a document that begins
// with { or [ is JSON.
func FormatOf(name string, src []byte) Format {
	switch lower := strings.ToLower(name); {
	case strings.HasSuffix(lower, ".json"):
		return FormatJSON
	case strings.HasSuffix(lower, ".yaml"), strings.HasSuffix(lower, ".yml"):
		return FormatYAML
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(src, []byte("\uFEFF")), " \t\r\n")
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') && (text[0] == '[' || looksLikeJSON(text)) {
		return FormatJSON
	}
	return FormatYAML
}

// looksLikeJSON tells {"a": 1} from YAML's {a: 1}.
func looksLikeJSON(text []byte) bool {
	rest := bytes.TrimLeft(text[1:], " \t\r\n")
	return len(rest) == 0 || rest[0] == '"' || rest[0] == '}'
}

// String names the format.
func (f Format) String() string {
	if f == FormatAuto {
		return "auto"
	}
	return string(f)
}
