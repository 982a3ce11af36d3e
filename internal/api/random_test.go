package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// generator generates values of schemas, most of them valid.
type generator struct {
	*rand.Rand
	schemas map[string]any
	known   []string // ids of existing objects
}

func (g *generator) pick(list []any) any { return list[g.IntN(len(list))] }

// text generates names, ids, and filters.
func (g *generator) text() string {
	return g.pick([]any{"", "p", "x y", "status:failed", "\u00e9\u4e2d", "a/b", "%00", "../..", strings.Repeat("z", 300), "-1",
		g.known[g.IntN(len(g.known))], g.known[g.IntN(len(g.known))]}).(string)
}

func (g *generator) value(s map[string]any, depth int) any {
	if ref, ok := s["$ref"].(string); ok {
		s = g.schemas[ref[strings.LastIndex(ref, "/")+1:]].(map[string]any)
	}
	if g.IntN(25) == 0 { // of another type
		return g.pick([]any{nil, true, "text", 1e12, []any{1}, map[string]any{"a": 1}})
	}
	if enum, ok := s["enum"].([]any); ok {
		return g.pick(enum)
	}
	switch s["type"] {
	case "boolean":
		return g.IntN(2) == 0
	case "integer", "number":
		return g.pick([]any{0, 1, 2, 7, 50, -1, 1 << 40})
	case "string":
		if s["format"] == "date-time" {
			return g.pick([]any{"2030-01-31T06:00:00Z", "1970-01-01T00:00:00Z", "soon"})
		}
		return g.text()
	case "array":
		list := []any{}
		for range g.IntN(3) {
			list = append(list, g.value(at(s, "items"), depth+1))
		}
		return list
	case "object":
		return g.object(s, depth)
	}
	return g.pick([]any{nil, 1, "text", map[string]any{"amount": 240}})
}

func (g *generator) object(s map[string]any, depth int) any {
	out := map[string]any{}
	required, _ := s["required"].([]any)
	properties := at(s, "properties")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if slices.Contains(required, any(name)) && g.IntN(20) > 0 || depth < 4 && g.IntN(3) == 0 {
			out[name] = g.value(properties[name].(map[string]any), depth+1)
		}
	}
	if g.IntN(30) == 0 {
		out["unknown"] = true
	}
	return out
}

// request generates a request of an operation: its line and its body.
func (g *generator) request(method, path string, op map[string]any) (line, body string) {
	query := url.Values{}
	parameters, _ := op["parameters"].([]any)
	for _, p := range parameters {
		p := p.(map[string]any)
		name := p["name"].(string)
		value := fmt.Sprint(g.value(at(p, "schema"), 0))
		switch p["in"] {
		case "path":
			if value = strings.Trim(value, "/"); value == "" || g.IntN(2) == 0 {
				value = g.known[g.IntN(len(g.known))]
			}
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value))
		case "query":
			if g.IntN(3) == 0 {
				query.Set(name, value)
			}
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	if media := at(op, "requestBody", "content", "application/json"); media != nil && at(media, "schema") != nil {
		text, err := json.Marshal(g.value(at(media, "schema"), 0))
		if err == nil {
			body = string(text)
		}
	}
	return strings.ToUpper(method) + " " + path, body
}

// notJSON are the routes of streams and of other formats.
var notJSON = []string{"/events", "/ws", "/openapi.json", "/metrics", "/audit/export"}

// Requests that are generated from the description, most of them valid, cause no internal error,
// and each response has a described status. KAIROS_SEED=N generates others.
func TestRandomRequests(t *testing.T) {
	t.Parallel()
	seed, _ := strconv.ParseUint(os.Getenv("KAIROS_SEED"), 10, 64) // 0 without one
	s := serve(t)
	run, approval := s.world.asking(t)
	doc := spec(t)
	g := &generator{rand.New(rand.NewPCG(seed, 1)), at(doc, "components", "schemas"),
		[]string{"p", "1", run.ID, approval.ID, s.world.runs[0].ID}}
	paths := at(doc, "paths")
	for range 6 {
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			if slices.Contains(notJSON, path) {
				continue
			}
			for _, method := range slices.Sorted(maps.Keys(at(paths, path))) {
				op := at(paths, path, method)
				line, body := g.request(method, path, op)
				a := s.ask(t, "admin", line, body)
				if a.status == 500 || a.status >= 400 && (a.json["code"] == nil || a.json["message"] == nil) {
					t.Errorf("%s %s: %d %.300s", line, body, a.status, a.text)
				}
				if at(op, "responses", strconv.Itoa(a.status)) == nil {
					t.Errorf("%s %s: the status %d is not described: %.300s", line, body, a.status, a.text)
				}
			}
		}
	}
}
