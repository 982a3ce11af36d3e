package walk

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
)

// Template is a compiled input: a JSON value whose strings may contain references. The value of a
// reference is data and is never evaluated again. A Template is immutable and safe for concurrent
// use.
type Template struct {
	// Source is the value as written.
	Source any
	root   part
	refs   []TemplateRef
}

// TemplateRef is a reference in a template. At holds the keys and indexes that lead to its string.
type TemplateRef struct {
	*Reference
	At []string
}

// TemplateError reports a malformed reference. At holds the keys and indexes that lead to its
// string.
type TemplateError struct {
	*SyntaxError
	At []string
}

func (e *TemplateError) Error() string { return e.SyntaxError.Error() }

// Unwrap returns the syntax error.
func (e *TemplateError) Unwrap() error { return e.SyntaxError }

// part is a compiled piece of a template.
type part interface {
	render(s *scope) (any, *Failure)
	// source writes the part, and each reference in the form that write returns.
	source(write func(*Reference) string) any
}

type (
	constPart struct{ v any }
	refPart   struct{ ref *Reference }
	textPart  struct{ pieces []any } // string or *Reference
	listPart  struct{ parts []part }
	mapPart   struct {
		keys  []string
		parts []part
	}
)

// ParseTemplate compiles an input. In step plans, stepIDs reports for which IDs the bare form
// `id.result.path` is a reference; it is nil in graphs. The error is a [*TemplateError].
func ParseTemplate(v any, stepIDs func(string) bool) (*Template, error) {
	t := &Template{Source: v}
	root, err := t.compile(v, nil, stepIDs)
	if err != nil {
		return nil, err
	}
	t.root = root
	return t, nil
}

// References returns all references of the template in document order.
func (t *Template) References() []TemplateRef { return t.refs }

func (t *Template) compile(v any, at []string, stepIDs func(string) bool) (part, error) {
	if len(at) > jsonvalue.MaxDepth {
		return nil, &TemplateError{&SyntaxError{Message: message.New("the input is nested too deeply")}, at}
	}
	switch v := v.(type) {
	case string:
		return t.compileString(v, at, stepIDs)
	case []any:
		p := listPart{parts: make([]part, len(v))}
		constant := true
		for i, e := range v {
			c, err := t.compile(e, append(at[:len(at):len(at)], strconv.Itoa(i)), stepIDs)
			if err != nil {
				return nil, err
			}
			p.parts[i] = c
			constant = constant && isConst(c)
		}
		if constant {
			return constPart{constList(p)}, nil
		}
		return p, nil
	case map[string]any:
		p := mapPart{keys: slices.Sorted(maps.Keys(v))}
		constant := true
		for _, k := range p.keys {
			c, err := t.compile(v[k], append(at[:len(at):len(at)], k), stepIDs)
			if err != nil {
				return nil, err
			}
			p.parts = append(p.parts, c)
			constant = constant && isConst(c)
		}
		if constant {
			return constPart{constMap(p)}, nil
		}
		return p, nil
	}
	return constPart{v}, nil
}

func (t *Template) compileString(s string, at []string, stepIDs func(string) bool) (part, error) {
	if stepIDs != nil {
		if ref := bareReference(s, stepIDs); ref != nil {
			t.refs = append(t.refs, TemplateRef{ref, at})
			return refPart{ref}, nil
		}
	}
	if !strings.Contains(s, "${") {
		return constPart{s}, nil
	}
	var pieces []any
	var text strings.Builder
	for i := 0; i < len(s); {
		if strings.HasPrefix(s[i:], "$${") {
			text.WriteString("${")
			i += 3
			continue
		}
		if !strings.HasPrefix(s[i:], "${") {
			text.WriteByte(s[i])
			i++
			continue
		}
		end := referenceEnd(s[i+2:])
		if end < 0 {
			return nil, &TemplateError{&SyntaxError{Message: message.New("unclosed reference: ${ without }"), Column: i + 1,
				Suggestion: message.New("write $${ for a literal ${")}, at}
		}
		ref, err := ParseReference(s[i+2 : i+2+end])
		if err != nil {
			e := err.(*SyntaxError)
			e.Column += i + 2
			return nil, &TemplateError{e, at}
		}
		if text.Len() > 0 {
			pieces = append(pieces, text.String())
			text.Reset()
		}
		pieces = append(pieces, ref)
		t.refs = append(t.refs, TemplateRef{ref, at})
		i += 2 + end + 1
	}
	if text.Len() > 0 {
		pieces = append(pieces, text.String())
	}
	if len(pieces) == 1 {
		if ref, ok := pieces[0].(*Reference); ok {
			return refPart{ref}, nil
		}
		return constPart{pieces[0]}, nil
	}
	return textPart{pieces}, nil
}

// referenceEnd finds the } that closes a reference. It skips quoted text.
func referenceEnd(s string) int {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '}' && !quoted:
			return i
		}
	}
	return -1
}

// bareReference parses `<step id>.result[.path]`. It returns nil for any other text.
func bareReference(s string, stepIDs func(string) bool) *Reference {
	id, rest, ok := strings.Cut(s, ".")
	if !ok || !stepIDs(id) {
		return nil
	}
	if rest == "result" {
		rest = ""
	} else if after, ok := strings.CutPrefix(rest, "result."); ok {
		rest = "." + after
	} else {
		return nil
	}
	p, left, err := parsePath(rest)
	if err != nil || left != "" {
		return nil
	}
	return &Reference{Text: fmt.Sprintf("output.%s%s", id, rest), Root: RefOutput, node: id, path: p}
}

func isConst(p part) bool { _, ok := p.(constPart); return ok }

func constList(p listPart) any {
	list := make([]any, len(p.parts))
	for i, c := range p.parts {
		list[i] = c.(constPart).v
	}
	return list
}

func constMap(p mapPart) any {
	m := make(map[string]any, len(p.parts))
	for i, c := range p.parts {
		m[p.keys[i]] = c.(constPart).v
	}
	return m
}

func (p constPart) render(*scope) (any, *Failure)   { return p.v, nil }
func (p refPart) render(s *scope) (any, *Failure)   { return p.ref.resolve(s) }
func (t *Template) render(s *scope) (any, *Failure) { return t.root.render(s) }

func (p textPart) render(s *scope) (any, *Failure) {
	var b strings.Builder
	for _, piece := range p.pieces {
		if text, ok := piece.(string); ok {
			b.WriteString(text)
			continue
		}
		v, err := piece.(*Reference).resolve(s)
		if err != nil {
			return nil, err
		}
		text, ok := jsonvalue.TextWithin(v)
		if b.WriteString(text); !ok || b.Len() > jsonvalue.MaxBytes {
			return nil, (&Failure{Code: CodeInvalidInput, Permanent: true, NoEffect: true,
				Suggestion: "write large data to a file and pass its path"}).
				WithMessage("a text of the input exceeds %d MiB", jsonvalue.MaxBytes>>20)
		}
	}
	return b.String(), nil
}

func (p listPart) render(s *scope) (any, *Failure) {
	list := make([]any, len(p.parts))
	for i, c := range p.parts {
		v, err := c.render(s)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

func (p mapPart) render(s *scope) (any, *Failure) {
	m := make(map[string]any, len(p.parts))
	for i, c := range p.parts {
		v, err := c.render(s)
		if err != nil {
			return nil, err
		}
		m[p.keys[i]] = v
	}
	return m, nil
}
