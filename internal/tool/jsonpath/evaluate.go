package jsonpath

import (
	"context"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// evaluation is one run of a query.
type evaluation struct {
	ctx      context.Context
	root     any
	budget   int
	unlooked int // visits since the last check of the context
}

// visit counts a node. It returns false if the budget is spent.
func (e *evaluation) visit() bool { return e.spend(1) }

// spend counts the visits for a step. It returns false if the budget is spent.
func (e *evaluation) spend(n int) bool {
	e.budget -= min(n, e.budget+1)
	if e.unlooked += n; e.unlooked >= checkEvery {
		if e.unlooked = 0; e.ctx.Err() != nil {
			e.budget = -1
		}
	}
	return e.budget >= 0
}

func (e *evaluation) run(segments []segment, from any) []any {
	nodes := []any{from}
	for _, s := range segments {
		var next []any
		for _, v := range nodes {
			next = e.segment(s, v, next)
		}
		if nodes = next; len(nodes) == 0 || e.budget < 0 {
			return nil
		}
	}
	return nodes
}

func (e *evaluation) segment(s segment, v any, out []any) []any {
	if !e.visit() {
		return out
	}
	for _, sel := range s.selectors {
		out = sel.pick(e, v, out)
	}
	if s.descendant {
		for _, child := range children(v) {
			out = e.segment(s, child, out)
		}
	}
	return out
}

// children yields the children of a node: list items in order, members by key.
func children(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case map[string]any:
		list := make([]any, 0, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			list = append(list, v[k])
		}
		return list
	}
	return nil
}

func (s nameSelector) pick(_ *evaluation, v any, out []any) []any {
	if m, ok := v.(map[string]any); ok {
		if child, ok := m[string(s)]; ok {
			out = append(out, child)
		}
	}
	return out
}

func (wildcardSelector) pick(e *evaluation, v any, out []any) []any {
	for _, child := range children(v) {
		if !e.visit() {
			break
		}
		out = append(out, child)
	}
	return out
}

func (s indexSelector) pick(_ *evaluation, v any, out []any) []any {
	list, _ := v.([]any)
	i := int64(s)
	if i < 0 {
		i += int64(len(list))
	}
	if 0 <= i && i < int64(len(list)) {
		out = append(out, list[i])
	}
	return out
}

func (s sliceSelector) pick(e *evaluation, v any, out []any) []any {
	list, _ := v.([]any)
	n := int64(len(list))
	if s.step == 0 || n == 0 {
		return out
	}
	bound := func(p *int64, otherwise, least, most int64) int64 {
		if p == nil {
			return otherwise
		}
		i := *p
		if i < 0 {
			i += n
		}
		return min(max(i, least), most)
	}
	if s.step > 0 {
		for i, end := bound(s.start, 0, 0, n), bound(s.end, n, 0, n); i < end && e.visit(); i += s.step {
			out = append(out, list[i])
		}
		return out
	}
	for i, end := bound(s.start, n-1, -1, n-1), bound(s.end, -1, -1, n-1); i > end && e.visit(); i += s.step {
		out = append(out, list[i])
	}
	return out
}

func (s filterSelector) pick(e *evaluation, v any, out []any) []any {
	for _, child := range children(v) {
		if !e.visit() {
			break
		}
		if s.test.holds(e, child) {
			out = append(out, child)
		}
	}
	return out
}

func (t orTest) holds(e *evaluation, current any) bool {
	return slices.ContainsFunc(t, func(l logical) bool { return l.holds(e, current) })
}

func (t andTest) holds(e *evaluation, current any) bool {
	return !slices.ContainsFunc(t, func(l logical) bool { return !l.holds(e, current) })
}

func (t notTest) holds(e *evaluation, current any) bool { return !t.of.holds(e, current) }

func (t existsTest) holds(e *evaluation, current any) bool {
	return len(t.query.nodes(e, current)) > 0
}

func (t matchTest) holds(e *evaluation, current any) bool {
	v, _ := t.value.value(e, current)
	text, ok := v.(string)
	if !ok {
		return false
	}
	re := t.compiled
	if re == nil {
		v, _ := t.pattern.value(e, current)
		p, ok := v.(string)
		if !ok {
			return false
		}
		var err error
		if len(p) > maxText || !e.spend(1+len(p)) {
			return false
		}
		if re, err = pattern(p, t.whole); err != nil {
			return false // RFC 9535, 2.4.6: an invalid pattern matches nothing
		}
	}
	return e.spend(1+(len(text)+1)*re.size/visitSteps) && re.MatchString(text)
}

func (t compareTest) holds(e *evaluation, current any) bool {
	a, foundA := t.left.value(e, current)
	b, foundB := t.right.value(e, current)
	switch t.op {
	case "==":
		return e.equal(a, b, foundA, foundB)
	case "!=":
		return !e.equal(a, b, foundA, foundB)
	case "<":
		return e.less(a, b)
	case ">":
		return e.less(b, a)
	case "<=":
		return e.less(a, b) || e.equal(a, b, foundA, foundB)
	}
	return e.less(b, a) || e.equal(a, b, foundA, foundB)
}

func (l literal) value(*evaluation, any) (any, bool) { return l.v, true }

func (q *query) nodes(e *evaluation, current any) []any {
	if q.fromRoot {
		current = e.root
	}
	return e.run(q.segments, current)
}

func (q *query) value(e *evaluation, current any) (any, bool) {
	nodes := q.nodes(e, current)
	if len(nodes) != 1 {
		return nil, false
	}
	return nodes[0], true
}

func (l lengthOf) value(e *evaluation, current any) (any, bool) {
	v, found := l.of.value(e, current)
	n := 0
	switch v := v.(type) {
	case string:
		if !e.spend(len(v) / visitSteps) {
			return nil, false
		}
		n = utf8.RuneCountInString(v)
	case []any:
		n = len(v)
	case map[string]any:
		n = len(v)
	default:
		return nil, false
	}
	return json.Number(strconv.Itoa(n)), found
}

func (c countOf) value(e *evaluation, current any) (any, bool) {
	return json.Number(strconv.Itoa(len(c.of.nodes(e, current)))), true
}

func (v valueOf) value(e *evaluation, current any) (any, bool) { return v.of.value(e, current) }

func (e *evaluation) equal(a, b any, foundA, foundB bool) bool {
	if !e.visit() {
		return false
	}
	if !foundA || !foundB {
		return foundA == foundB
	}
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		return ok && len(x) == len(y) && e.spend(len(x)/visitSteps) && x == y
	case json.Number:
		y, ok := b.(json.Number)
		if !ok || !e.spend((len(x)+len(y))/visitSteps) {
			return false
		}
		if x == y {
			return true
		}
		c, ok := compareNumbers(x, y)
		return ok && c == 0
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, func(a, b any) bool { return e.equal(a, b, true, true) })
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, func(a, b any) bool { return e.equal(a, b, true, true) })
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

func (e *evaluation) less(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		if y, ok := b.(json.Number); ok && e.spend((len(x)+len(y))/visitSteps) {
			c, ok := compareNumbers(x, y)
			return ok && c < 0
		}
	case string:
		if y, ok := b.(string); ok && e.spend(min(len(x), len(y))/visitSteps) {
			return x < y
		}
	}
	return false
}

// compareNumbers is exact for numbers of ordinary size. It compares others as floats, because they
// could not be expanded.
func compareNumbers(a, b json.Number) (int, bool) {
	x, okX := rat(a)
	y, okY := rat(b)
	if okX && okY {
		return x.Cmp(y), true
	}
	f, errX := a.Float64()
	g, errY := b.Float64()
	if errX != nil || errY != nil {
		return 0, false
	}
	return big.NewFloat(f).Cmp(big.NewFloat(g)), true
}

func rat(n json.Number) (*big.Rat, bool) {
	if len(n) > 1000 {
		return nil, false
	}
	if i := strings.IndexAny(string(n), "eE"); i >= 0 {
		if e, err := strconv.Atoi(string(n[i+1:])); err != nil || e > 400 || e < -400 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(string(n))
}
