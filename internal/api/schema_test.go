package api_test

import (
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kairosd/kairosd/internal/api"
)

// described answers are checked against the served description: the schemas of
// OpenAPI 3.1 are JSON Schema.
var description = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	world := newFake(nil)
	h, err := api.New(api.Config{App: world.App, Reader: world, Engine: world, Principals: world})
	if err != nil {
		return nil, err
	}
	text, err := api.Description(h)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	return c, c.AddResource("https://kairosd.test/openapi.json", doc)
})

var (
	compiling sync.Mutex
	routes    = sync.OnceValue(func() []string {
		world := newFake(nil)
		h, err := api.New(api.Config{App: world.App, Reader: world, Engine: world, Principals: world})
		if err != nil {
			panic(err)
		}
		return api.Routes(h)
	})
)

// template finds the documented path of a request.
func template(method, path string) string {
	path, _, _ = strings.Cut(path, "?")
	got := strings.Split(path, "/")
	best := ""
	for _, route := range routes() {
		m, p, _ := strings.Cut(route, " ")
		want := strings.Split(p, "/")
		if m != method || len(want) != len(got) {
			continue
		}
		ok := true
		for i := range want {
			if want[i] != got[i] && !strings.HasPrefix(want[i], "{") {
				ok = false
			}
		}
		if ok && (best == "" || strings.Count(p, "{") < strings.Count(best, "{")) {
			best = p
		}
	}
	return best
}

// checkDescribed fails the test when an answer is not as the description says.
func checkDescribed(t *testing.T, method, path string, a answer) {
	t.Helper()
	p := template(method, path)
	if p == "" || p == "/openapi.json" || a.json == nil {
		return
	}
	status, media := strconv.Itoa(a.status), "application~1json"
	if a.status >= 400 {
		status, media = "default", "application~1problem+json"
	}
	at := "https://kairosd.test/openapi.json#/paths/" + url.PathEscape(strings.ReplaceAll(p, "/", "~1")) + "/" + strings.ToLower(method) +
		"/responses/" + status + "/content/" + media + "/schema"
	compiling.Lock()
	defer compiling.Unlock()
	c, err := description()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(at)
	if err != nil {
		t.Errorf("%s %s answers %d, which is not described: %v", method, path, a.status, err)
		return
	}
	var v any
	if v, err = jsonschema.UnmarshalJSON(strings.NewReader(a.text)); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%s %s answers otherwise than described: %v\n%s", method, path, err, a.text)
	}
}

func TestTheDescriptionIsJSON(t *testing.T) {
	t.Parallel()
	s := serve(t)
	a := s.ask(t, "", "GET /openapi.json", "")
	if !json.Valid([]byte(a.text)) || a.header.Get("Content-Type") != "application/openapi+json" {
		t.Errorf("the description is %s", a.header.Get("Content-Type"))
	}
}

// Names on the wire are in camel case, and a run's own id is runId everywhere.
func TestNamesOnTheWireAgree(t *testing.T) {
	t.Parallel()
	s := serve(t)
	a := s.ask(t, "", "GET /openapi.json", "")
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
		}
	}
	if err := json.Unmarshal([]byte(a.text), &doc); err != nil {
		t.Fatal(err)
	}
	camel := regexp.MustCompile(`^\$?[a-z][A-Za-z0-9]*$`)
	for name, schema := range doc.Components.Schemas {
		for p := range schema.Properties {
			if !camel.MatchString(p) {
				t.Errorf("%s.%s is not in camel case", name, p)
			}
		}
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			for _, p := range op.Parameters {
				if p.In == "query" && !camel.MatchString(p.Name) {
					t.Errorf("%s %s: the parameter %s is not in camel case", method, path, p.Name)
				}
			}
		}
	}
	for _, name := range []string{"RunView", "RunDetailView", "Started"} {
		p := doc.Components.Schemas[name].Properties
		if p["runId"] == nil || p["id"] != nil {
			t.Errorf("%s has the properties %v", name, slices.Sorted(maps.Keys(p)))
		}
	}
}
