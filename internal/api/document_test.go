package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// walkSchemas calls visit for each schema in a part of the description, with its position.
func walkSchemas(v any, place string, visit func(place string, schema map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["properties"].(map[string]any); ok {
			visit(place, v)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key != "example" && key != "examples" {
				walkSchemas(v[key], place+"/"+key, visit)
			}
		}
	case []any:
		for i, x := range v {
			walkSchemas(x, fmt.Sprintf("%s/%d", place, i), visit)
		}
	}
}

// Every property of every schema has a description, also in schemas without a name.
func TestEveryNestedPropertyIsDescribed(t *testing.T) {
	t.Parallel()
	count := 0
	walkSchemas(spec(t), "", func(place string, schema map[string]any) {
		for name, p := range at(schema, "properties") {
			count++
			if text, _ := p.(map[string]any)["description"].(string); strings.TrimSpace(text) == "" {
				t.Errorf("%s.%s has no description", place, name)
			}
		}
	})
	if count < 1000 {
		t.Errorf("only %d properties", count)
	}
}

// Every operation that returns a list has the same pages: items, nextCursor, and hasMore, with
// limit, cursor, and filter.
func TestEveryListPagesAlike(t *testing.T) {
	t.Parallel()
	doc := spec(t)
	schemas := at(doc, "components", "schemas")
	resolve := func(s map[string]any) map[string]any {
		if ref, ok := s["$ref"].(string); ok {
			return schemas[schemaOf(ref)].(map[string]any)
		}
		return s
	}
	lists := 0
	for path, methods := range at(doc, "paths") {
		op, ok := methods.(map[string]any)["get"].(map[string]any)
		if !ok {
			continue
		}
		schema := resolve(at(op, "responses", "200", "content", "application/json", "schema"))
		if schema["type"] == "array" {
			t.Errorf("GET %s returns a bare array", path)
		}
		if at(schema, "properties", "items") == nil {
			continue
		}
		lists++
		for _, name := range []string{"items", "nextCursor", "hasMore"} {
			required, _ := schema["required"].([]any)
			if at(schema, "properties", name) == nil || !slices.Contains(required, any(name)) {
				t.Errorf("GET %s: %s is not required", path, name)
			}
		}
		given := map[string]bool{}
		parameters, _ := op["parameters"].([]any)
		for _, p := range parameters {
			given[p.(map[string]any)["name"].(string)] = true
		}
		for _, name := range []string{"limit", "cursor", "filter"} {
			if !given[name] {
				t.Errorf("GET %s has no parameter %s", path, name)
			}
		}
	}
	if lists < 25 {
		t.Errorf("only %d lists", lists)
	}
}

// unaddressed are the paths whose new objects have no address of their own, or are a part of the
// response.
var unaddressed = map[string]bool{"/ask": true, "/planner/plan": true, "/system/backup": true, "/runs/{id}/notes": true}

// Every response that a client must expect is described, with its headers: the refusals by their status, a Location
// with a new object, an ETag with one that has If-Match, and Allow with 405.
func TestEveryResponseIsDescribed(t *testing.T) {
	t.Parallel()
	doc := spec(t)
	responses := at(doc, "components", "responses")
	for path, methods := range at(doc, "paths") {
		for method, op := range methods.(map[string]any) {
			op := op.(map[string]any)
			name := strings.ToUpper(method) + " " + path
			for status, r := range at(op, "responses") {
				r := r.(map[string]any)
				if ref, ok := r["$ref"].(string); ok {
					r = responses[schemaOf(ref)].(map[string]any)
				}
				if text, _ := r["description"].(string); text == "" {
					t.Errorf("%s: the response %s has no description", name, status)
				}
				if status[0] > '3' && at(r, "content", "application/problem+json", "schema") == nil {
					t.Errorf("%s: the response %s is not a problem", name, status)
				}
				for header, h := range at(r, "headers") {
					if text, _ := h.(map[string]any)["description"].(string); text == "" {
						t.Errorf("%s: the header %s of %s has no description", name, header, status)
					}
				}
				if status == "201" && !unaddressed[path] && at(r, "headers", "Location") == nil {
					t.Errorf("%s: 201 declares no Location", name)
				}
			}
			for _, want := range []string{"400", "401", "403", "404", "409", "422"} {
				needed := want == "400" || path != "/openapi.json" && (want == "401" || want == "403") ||
					want == "404" && strings.Contains(path, "{") || method != "get" && (want == "409" || want == "422")
				if needed && at(op, "responses", want) == nil {
					t.Errorf("%s declares no %s", name, want)
				}
			}
			if text, _ := op["summary"].(string); text == "" || strings.HasSuffix(text, ".") {
				t.Errorf("%s: the summary is %q", name, text)
			}
			parameters, _ := op["parameters"].([]any)
			for _, p := range parameters {
				if text, _ := p.(map[string]any)["description"].(string); text == "" {
					t.Errorf("%s: the parameter %v has no description", name, p.(map[string]any)["name"])
				}
			}
		}
	}
}
