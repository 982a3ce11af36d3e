package walk

import (
	"maps"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
)

// MaxItems bounds the list of a foreach.
const MaxItems = 10_000

// maxAxes bounds the axes of a matrix.
const maxAxes = 8

// List is the compiled list of a foreach. It has one of four forms: a reference, an expression
// (expr: …), a list of values that may hold references, or a matrix: an object of lists, of which the
// items are all combinations. It is immutable and safe for concurrent use.
type List struct {
	// Text is the list as written; of a list of values or a matrix its JSON form.
	Text    string
	ref     *Reference
	expr    *expression
	literal *Template
	axes    []axis
	except  []map[string]any
}

// axis is one list of a matrix.
type axis struct {
	name string
	list *List
}

// exceptKey holds the combinations that a matrix leaves out.
const exceptKey = "except"

// ParseList compiles a list. The error is a *SyntaxError or a *TemplateError.
func ParseList(v any) (*List, error) {
	switch v := v.(type) {
	case string:
		return parseListText(v)
	case []any:
		t, err := ParseTemplate(v, nil)
		if err != nil {
			return nil, err
		}
		return &List{Text: jsonvalue.Text(v), literal: t}, nil
	case map[string]any:
		return parseMatrix(v)
	}
	return nil, &SyntaxError{Message: message.New("%s is not a list", jsonvalue.Quote(jsonvalue.Text(v))), Column: 1,
		Suggestion: message.New("write a reference, expr: with an expression, a list, or an object of lists")}
}

func parseListText(text string) (*List, error) {
	l := &List{Text: text}
	trimmed := strings.TrimSpace(text)
	lead := strings.Index(text, trimmed)
	if src, ok := strings.CutPrefix(trimmed, "expr:"); ok {
		x, err := compileExpression(src, true)
		if err != nil {
			err.Column += lead + len("expr:")
			return nil, err
		}
		l.expr = x
		return l, nil
	}
	if inner, ok := strings.CutPrefix(trimmed, "${"); ok {
		lead += len("${")
		if trimmed, ok = strings.CutSuffix(inner, "}"); !ok {
			return nil, &SyntaxError{Message: message.New("unclosed reference: ${ without }"), Column: 1,
				Suggestion: message.New("add }, or remove ${")}
		}
	}
	ref, err := ParseReference(trimmed)
	if err != nil {
		err.(*SyntaxError).Column += lead
		return nil, err
	}
	switch ref.Root {
	case RefIndex, RefRun, RefSecret, RefStatus:
		return nil, &SyntaxError{Message: message.New("%s is not a list", jsonvalue.Quote(text)), Column: 1,
			Suggestion: message.New("refer to input, last, memory, value, or output.<node>")}
	}
	l.ref = ref
	return l, nil
}

func parseMatrix(v map[string]any) (*List, error) {
	l := &List{Text: jsonvalue.Text(v)}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if name == exceptKey {
			continue
		}
		list, err := ParseList(v[name])
		if err != nil {
			return nil, err
		}
		if len(list.axes) > 0 {
			return nil, &SyntaxError{Message: message.New("the axis %s is an object", jsonvalue.Quote(name)), Column: 1,
				Suggestion: message.New("write a list of values")}
		}
		l.axes = append(l.axes, axis{name, list})
	}
	if len(l.axes) == 0 || len(l.axes) > maxAxes {
		return nil, &SyntaxError{Message: message.New("a matrix has from 1 to %d lists, not %d", maxAxes, len(l.axes)), Column: 1,
			Suggestion: message.New("write %s", "{os: [linux, macos], go: [\"1.25\", \"1.26\"]}")}
	}
	if v[exceptKey] == nil {
		return l, nil
	}
	list, ok := v[exceptKey].([]any)
	for _, e := range list {
		m, isMap := e.(map[string]any)
		ok = ok && isMap && len(m) > 0
		for name := range m {
			ok = ok && slices.ContainsFunc(l.axes, func(a axis) bool { return a.name == name })
		}
		l.except = append(l.except, m)
	}
	if !ok {
		return nil, &SyntaxError{Message: message.New("except must be a list of objects that name lists of the matrix"), Column: 1,
			Suggestion: message.New("write %s", "except: [{os: macos, go: \"1.25\"}]")}
	}
	return l, nil
}

// References lists every reference of the list, but those of expressions, in document order.
func (l *List) References() []*Reference {
	if l == nil {
		return nil
	}
	var out []*Reference
	if l.ref != nil {
		out = append(out, l.ref)
	}
	if l.literal != nil {
		for _, r := range l.literal.References() {
			out = append(out, r.Reference)
		}
	}
	for _, a := range l.axes {
		out = append(out, a.list.References()...)
	}
	return out
}

// Nodes lists the nodes whose outputs expressions of the list read; all is true when they may read
// any.
func (l *List) Nodes() (nodes []string, all bool) {
	if l == nil {
		return nil, false
	}
	if l.expr != nil {
		return l.expr.nodes, l.expr.allNodes
	}
	for _, a := range l.axes {
		n, every := a.list.Nodes()
		nodes, all = append(nodes, n...), all || every
	}
	return nodes, all
}

// Statuses lists the nodes whose statuses expressions of the list read.
func (l *List) Statuses() []string {
	if l == nil {
		return nil
	}
	if l.expr != nil {
		return l.expr.statuses
	}
	var nodes []string
	for _, a := range l.axes {
		nodes = append(nodes, a.list.Statuses()...)
	}
	return nodes
}

// resolve computes the items. A value that is not a list, and too many items, are permanent failures.
func (l *List) resolve(s *scope) ([]any, *Failure) {
	var value any
	var failure *Failure
	switch {
	case l.axes != nil:
		return l.combine(s)
	case l.expr != nil:
		v, err := l.expr.compute(s)
		if err != nil {
			return nil, listFailure(CodeForeach, "foreach %s failed: %s", jsonvalue.Quote(l.Text), err)
		}
		value = v
	case l.literal != nil:
		value, failure = l.literal.render(s)
	default:
		value, failure = l.ref.resolve(s)
	}
	if failure != nil {
		return nil, failure
	}
	list, ok := value.([]any)
	if !ok {
		return nil, listFailure(CodeForeach, "foreach %s is not a list but %s", l.Text, jsonvalue.Quote(jsonvalue.Text(value)))
	}
	if len(list) > MaxItems {
		return nil, listFailure(CodeForeachLimit, "foreach %s has %d items; at most %d are allowed", l.Text, len(list), MaxItems)
	}
	return list, nil
}

// combine lists all combinations of a matrix: objects with one value of each list. The list whose name
// comes last changes fastest.
func (l *List) combine(s *scope) ([]any, *Failure) {
	values, total := make([][]any, len(l.axes)), 1
	for i, a := range l.axes {
		list, f := a.list.resolve(s)
		if f != nil {
			return nil, f
		}
		if values[i] = list; len(list) > 0 && total > MaxItems/len(list) {
			return nil, listFailure(CodeForeachLimit, "the matrix has more than %d combinations", MaxItems)
		}
		total *= len(list)
	}
	out := []any{}
	for n := range total {
		item := make(map[string]any, len(l.axes))
		for i := len(l.axes) - 1; i >= 0; i-- {
			item[l.axes[i].name] = values[i][n%len(values[i])]
			n /= len(values[i])
		}
		if !slices.ContainsFunc(l.except, func(e map[string]any) bool { return contains(item, e) }) {
			out = append(out, item)
		}
	}
	return out, nil
}

// contains reports whether all members of part are in whole.
func contains(whole, part map[string]any) bool {
	for k, v := range part {
		if !jsonvalue.EqualText(jsonvalue.Text(whole[k]), jsonvalue.Text(v)) {
			return false
		}
	}
	return true
}

func listFailure(code, format string, args ...any) *Failure {
	return (&Failure{Code: code, Permanent: true, NoEffect: true}).WithMessage(format, args...)
}
