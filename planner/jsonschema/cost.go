package jsonschema

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/internal/pattern"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A schema may refer to one part in several ways, so that the part applies to one value more than
// once. The number of applications can then double with each level of the value. The cost of such a
// schema is checked for each value before validation.
const (
	maxSchemaSteps = 2_000_000 // applications of a subschema to a part of a value
	maxSchemaPairs = 500_000   // different ones
	// freeValues and freeText limit the values that are validated without a cost check.
	freeValues = 1000
	freeText   = 10_000
)

var errSchemaCost = errors.New("too many steps")

// patternSteps is the number of steps to match a pattern against a text.
func patternSteps(p jsonschema.Regexp, text string) int {
	if p, ok := p.(sizedPattern); ok {
		return min((len(text)+1)*p.size/pattern.StepsPerUnit, maxSchemaSteps+1)
	}
	return 0
}

// sameValue lists the parts of a schema that apply to the same value as the schema.
func sameValue(s *jsonschema.Schema) []*jsonschema.Schema {
	out := slices.Concat(
		[]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else},
		s.AllOf,
		s.AnyOf,
		s.OneOf,
		slices.Collect(maps.Values(s.DependentSchemas)),
	)
	for _, d := range s.Dependencies {
		if sub, ok := d.(*jsonschema.Schema); ok {
			out = append(out, sub)
		}
	}
	return slices.DeleteFunc(out, func(sub *jsonschema.Schema) bool { return sub == nil })
}

// forKey lists the parts that apply to a member of an object.
func forKey(s *jsonschema.Schema, key string) []*jsonschema.Schema {
	out := []*jsonschema.Schema{s.Properties[key]}
	for pattern, sub := range s.PatternProperties {
		if pattern.MatchString(key) {
			out = append(out, sub)
		}
	}
	if sub, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		out = append(out, sub)
	}
	out = append(out, s.UnevaluatedProperties)
	return slices.DeleteFunc(out, func(sub *jsonschema.Schema) bool { return sub == nil })
}

// forItem lists the parts that apply to an item of a list.
func forItem(s *jsonschema.Schema, i int) []*jsonschema.Schema {
	out := []*jsonschema.Schema{s.Items2020, s.Contains, s.UnevaluatedItems}
	if i < len(s.PrefixItems) {
		out = append(out, s.PrefixItems[i])
	}
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		out = append(out, items)
	case []*jsonschema.Schema:
		if i < len(items) {
			out = append(out, items[i])
		}
	}
	if sub, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
		out = append(out, sub)
	}
	return slices.DeleteFunc(out, func(sub *jsonschema.Schema) bool { return sub == nil })
}

// parts lists the direct parts of a schema.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	out := slices.Concat(
		sameValue(s),
		s.PrefixItems,
		slices.Collect(maps.Values(s.Properties)),
		slices.Collect(maps.Values(s.PatternProperties)),
		[]*jsonschema.Schema{s.Items2020, s.Contains, s.UnevaluatedItems, s.UnevaluatedProperties, s.PropertyNames},
	)
	for _, v := range []any{s.Items, s.AdditionalItems, s.AdditionalProperties} {
		switch v := v.(type) {
		case *jsonschema.Schema:
			out = append(out, v)
		case []*jsonschema.Schema:
			out = append(out, v...)
		}
	}
	return slices.DeleteFunc(out, func(sub *jsonschema.Schema) bool { return sub == nil })
}

// inspect walks a compiled schema. It finds a part that refers to itself for the same value, which
// would never end. It also reports whether some part is referred to more than once.
func inspect(root *jsonschema.Schema) (cycle string, dynamic, shared bool) {
	seen := map[*jsonschema.Schema]bool{root: true}
	todo := []*jsonschema.Schema{root}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		dynamic = dynamic || s.DynamicRef != nil || s.RecursiveRef != nil
		for _, sub := range parts(s) {
			if seen[sub] {
				shared = true
				continue
			}
			seen[sub] = true
			todo = append(todo, sub)
		}
	}
	state := map[*jsonschema.Schema]int{} // 1: open, 2: done
	var visit func(*jsonschema.Schema) string
	visit = func(s *jsonschema.Schema) string {
		state[s] = 1
		for _, sub := range sameValue(s) {
			switch state[sub] {
			case 1:
				return sub.Location
			case 0:
				if at := visit(sub); at != "" {
					return at
				}
			}
		}
		state[s] = 2
		return ""
	}
	inOrder := slices.SortedFunc(maps.Keys(seen), func(a, b *jsonschema.Schema) int { return strings.Compare(a.Location, b.Location) })
	for _, s := range inOrder {
		if state[s] == 0 {
			if cycle = visit(s); cycle != "" {
				break
			}
		}
	}
	return cycle, dynamic, shared
}

// weigh counts how often parts of the schema apply to parts of the value, and the steps of its
// patterns. It returns errSchemaCost if they exceed the limit.
func weigh(ctx context.Context, root *jsonschema.Schema, value any) error {
	type pair struct {
		s  *jsonschema.Schema
		at int
	}
	known := map[pair]int{}
	// Values are distinguished by the order in which they are visited. Each part of the value gets
	// a number from its parent's number and its position.
	type place struct{ parent, child int }
	number := map[place]int{}
	count := 1
	child := func(parent, i int) int {
		p := place{parent, i}
		if n, ok := number[p]; ok {
			return n
		}
		number[p] = count
		count++
		return number[p]
	}
	var steps func(s *jsonschema.Schema, v any, at int) int
	steps = func(s *jsonschema.Schema, v any, at int) int {
		if n, ok := known[pair{s, at}]; ok {
			return n
		}
		if len(known) > maxSchemaPairs || len(known)%1000 == 0 && ctx.Err() != nil {
			return maxSchemaSteps + 1
		}
		n := 1
		if text, ok := v.(string); ok && s.Pattern != nil {
			n = min(n+patternSteps(s.Pattern, text), maxSchemaSteps+1)
		}
		add := func(sub *jsonschema.Schema, v any, at int) bool {
			n = min(n+steps(sub, v, at), maxSchemaSteps+1)
			return n <= maxSchemaSteps
		}
		known[pair{s, at}] = maxSchemaSteps + 1 // while open
		defer func() { known[pair{s, at}] = n }()
		for _, sub := range sameValue(s) {
			if !add(sub, v, at) {
				return n
			}
		}
		switch v := v.(type) {
		case map[string]any:
			for i, key := range slices.Sorted(maps.Keys(v)) {
				for pattern := range s.PatternProperties {
					n = min(n+patternSteps(pattern, key), maxSchemaSteps+1)
				}
				for _, sub := range forKey(s, key) {
					if !add(sub, v[key], child(at, i)) {
						return n
					}
				}
			}
		case []any:
			for i, e := range v {
				for _, sub := range forItem(s, i) {
					if !add(sub, e, child(at, i)) {
						return n
					}
				}
			}
		}
		return n
	}
	if steps(root, value, 0) > maxSchemaSteps {
		return cmp.Or(ctx.Err(), errSchemaCost)
	}
	return nil
}
