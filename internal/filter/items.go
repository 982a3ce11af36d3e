package filter

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
)

// Items is a filter for a list whose items are compared one by one, by their JSON fields.
type Items struct{ terms []term }

// Fielder is an item whose type does not declare its JSON fields.
type Fielder interface{ Fields() []string }

// ParseItems parses a filter for items with the type of sample. A key is a field in lower case,
// such as status:failed. Several values separated by commas match any of them, and a dash excludes.
// Other words match any text of the item.
func ParseItems(q string, sample any) (f Items, problem *domain.Error) {
	if problem := readable(q); problem != nil {
		return f, problem
	}
	fields := map[string]bool{}
	if s, ok := sample.(Fielder); ok {
		for _, name := range s.Fields() {
			fields[strings.ToLower(name)] = true
		}
	} else {
		fieldsOf(reflect.TypeOf(sample), fields)
	}
	known := slices.Sorted(maps.Keys(fields))
	for _, t := range split(q) {
		switch {
		case t.key != "" && !fields[t.key]:
			return f, unknownKey(t, known)
		case t.value == "":
			return f, domain.Errorf(domain.CodeInvalid, "%s: requires a value", t.key)
		}
		f.terms = append(f.terms, t)
	}
	if len(f.terms) > maxTerms {
		return f, domain.Errorf(domain.CodeInvalid, "the filter has more than %d terms", maxTerms)
	}
	return f, nil
}

// fieldsOf collects the names of the JSON fields of a type, in lower case.
func fieldsOf(t reflect.Type, into map[string]bool) {
	if t.Kind() != reflect.Struct {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && f.Anonymous:
			fieldsOf(f.Type, into)
		case name != "":
			into[strings.ToLower(name)] = true
		}
	}
}

// Match reports whether an item matches.
func (f Items) Match(item any) (bool, error) {
	if len(f.terms) == 0 {
		return true, nil
	}
	text, err := json.Marshal(item)
	if err != nil {
		return false, fmt.Errorf("filter an item: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return false, fmt.Errorf("filter an item: %w", err)
	}
	low := make(map[string]any, len(fields))
	for k, v := range fields {
		low[strings.ToLower(k)] = v
	}
	for _, t := range f.terms {
		hit := false
		if t.key == "" {
			hit = contains(fields, strings.ToLower(t.value))
		} else {
			hit = slices.ContainsFunc(strings.Split(t.value, ","), func(want string) bool { return equals(low[t.key], want) })
		}
		if hit == t.not {
			return false, nil
		}
	}
	return true, nil
}

// contains reports whether a text of the value contains the word.
func contains(v any, word string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(strings.ToLower(v), word)
	case []any:
		return slices.ContainsFunc(v, func(x any) bool { return contains(x, word) })
	case map[string]any:
		for _, x := range v {
			if contains(x, word) {
				return true
			}
		}
	}
	return false
}

// equals reports whether a value, an item of a list, or the key of a plan equals the text.
func equals(v any, want string) bool {
	switch v := v.(type) {
	case nil:
		return false
	case []any:
		return slices.ContainsFunc(v, func(x any) bool { return equals(x, want) })
	case map[string]any:
		return equals(v["key"], want) || equals(v["id"], want)
	}
	return strings.EqualFold(fmt.Sprint(v), want)
}

// ParseFields parses a filter that names each field at most once, into values.
func ParseFields(q string, values map[string]*string) *domain.Error {
	if problem := readable(q); problem != nil {
		return problem
	}
	for _, t := range split(q) {
		into, ok := values[t.key]
		switch {
		case t.not:
			return domain.Errorf(domain.CodeInvalid, "this filter does not support exclusions").Suggest("remove the dash")
		case !ok:
			return unknownKey(t, slices.Sorted(maps.Keys(values)))
		}
		*into = t.value
	}
	return nil
}
