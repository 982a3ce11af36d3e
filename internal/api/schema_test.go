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
	"github.com/kairosd/kairosd/internal/app"
)

// description compiles the schemas of the served description. Schemas of OpenAPI 3.1 are JSON
// Schemas.
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

// template returns the documented path of a request.
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

// checkDescribed fails the test if a response does not match the description.
func checkDescribed(t *testing.T, method, path string, a answer) {
	t.Helper()
	p := template(method, path)
	if p == "" || p == "/openapi.json" || a.json == nil {
		return
	}
	responses := "https://kairosd.test/openapi.json#/paths/" + url.PathEscape(
		strings.ReplaceAll(p, "/", "~1"),
	) + "/" + strings.ToLower(
		method,
	) + "/responses/"
	at := responses + strconv.Itoa(a.status) + "/content/application~1json/schema"
	if a.status >= 400 {
		at = "https://kairosd.test/openapi.json#/components/schemas/Problem"
		if declared := whole().Paths[p][strings.ToLower(method)].Responses; declared[strconv.Itoa(a.status)] == nil {
			t.Errorf("%s %s returned %d, which is not declared: %s", method, path, a.status, a.text)
		}
	}
	compiling.Lock()
	defer compiling.Unlock()
	c, err := description()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(at)
	if err != nil {
		t.Errorf("%s %s returned %d, which is not described: %v", method, path, a.status, err)
		return
	}
	var v any
	if v, err = jsonschema.UnmarshalJSON(strings.NewReader(a.text)); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%s %s does not match its description: %v\n%s", method, path, err, a.text)
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

// Names on the wire are in camel case, and one concept has one name.
func TestWireNamesAgree(t *testing.T) {
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
	other := map[string]string{"runId": "id, or run", "planId": "plan: {id, key, version}", "state": "status", "stage": "status",
		"began": "startedAt", "ended": "endedAt", "created": "createdAt", "timestamp": "createdAt", "notBefore": "startAt",
		"resumeAt": "startAt", "due": "dueAt", "at": "createdAt"}
	for name, schema := range doc.Components.Schemas {
		if strings.HasSuffix(name, "Event") || contracts[name] {
			continue
		}
		for p := range schema.Properties {
			if want := other[p]; want != "" && !(name == "JournalRow" && p == "at") {
				t.Errorf("%s.%s: use %s", name, p, want)
			}
			if strings.HasSuffix(p, "Ns") || p == "tookMs" || p == "ms" {
				t.Errorf("%s.%s: durations are in milliseconds, such as durationMs", name, p)
			}
		}
		if name != "View" && strings.HasSuffix(name, "View") || strings.HasSuffix(name, "Body") || strings.HasSuffix(name, "Info") {
			t.Errorf("the schema %s: name it after its subject", name)
		}
	}
}

// contracts are the schemas whose names the source specifications give.
var contracts = map[string]bool{"ExecutionPlan": true, "ExecutionMetadata": true, "ExecutionStep": true, "PlanningRequest": true,
	"PlanState": true, "PlanStepState": true, "PlanResult": true, "PlanHandoff": true, "MessageMetadata": true}

// document holds the parts of the description that the tests read.
type document struct {
	Tags       []struct{ Name, Description string }
	Paths      map[string]map[string]operation
	Components struct {
		Schemas map[string]struct {
			Properties map[string]struct{ Type any }
		}
	}
}

type parameter struct{ Name, In, Description string }

type operation struct {
	OperationID string
	Tags        []string
	Parameters  []parameter
	Responses   map[string]*struct {
		Content map[string]struct {
			Schema struct {
				Ref string `json:"$ref"`
			}
		}
	}
}

// whole is the description of an API.
var whole = sync.OnceValue(func() (doc document) {
	world := newFake(nil)
	h, err := api.New(api.Config{App: world.App, Reader: world, Engine: world, Principals: world})
	if err != nil {
		panic(err)
	}
	text, err := api.Description(h)
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		panic(err)
	}
	return doc
})

// Operations declare what they share: idempotency keys, refusals by status, and subjects with a
// description.
func TestOperationsDeclareWhatTheyShare(t *testing.T) {
	t.Parallel()
	doc := whole()
	known := map[string]bool{}
	for _, tag := range doc.Tags {
		known[tag.Name] = tag.Description != ""
	}
	used := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			keyed := slices.ContainsFunc(op.Parameters, func(p parameter) bool { return p.Name == "Idempotency-Key" })
			rule, _ := app.Policy(app.Operation(op.OperationID))
			if keyed != (rule.Kind != app.Query) {
				t.Errorf("%s %s: declares a key: %t", method, path, keyed)
			}
			for _, status := range []string{"400", "429", "500", "503", "default"} {
				if op.Responses[status] == nil {
					t.Errorf("%s %s declares no %s", method, path, status)
				}
			}
			for _, tag := range op.Tags {
				if used[tag] = true; !known[tag] {
					t.Errorf("%s %s: no description of the tag %s", method, path, tag)
				}
			}
		}
	}
	if len(used) != len(known) {
		t.Errorf("%v of the tags %v are used", used, known)
	}
}

// Every list has pages and a filter, and every time in a query is written in the same way.
func TestListsHavePagesAndAFilter(t *testing.T) {
	t.Parallel()
	doc := whole()
	for path, methods := range doc.Paths {
		for method, op := range methods {
			given := map[string]bool{}
			for _, p := range op.Parameters {
				given[p.Name] = true
				if (p.Name == "since" || p.Name == "until") && !strings.Contains(p.Description, "24h, 7d, or a time.") {
					t.Errorf("%s %s: %s is described as %q", method, path, p.Name, p.Description)
				}
			}
			for _, r := range op.Responses {
				for _, media := range r.Content {
					if doc.Components.Schemas[schemaOf(media.Schema.Ref)].Properties["nextCursor"].Type == nil {
						continue
					}
					if !given["limit"] || !given["cursor"] || !given["filter"] {
						t.Errorf("%s %s is a list with the parameters %v", method, path, slices.Sorted(maps.Keys(given)))
					}
				}
			}
		}
	}
}

// schemaOf is the name of the schema that a reference points to.
func schemaOf(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// No list is null: one without items is [].
func TestListsAreNotNull(t *testing.T) {
	t.Parallel()
	for name, schema := range whole().Components.Schemas {
		for key, p := range schema.Properties {
			if types, ok := p.Type.([]any); ok && slices.Contains(types, any("array")) {
				t.Errorf("%s.%s may be null", name, key)
			}
		}
	}
}

// Allow names the methods that a path has, and no others.
func TestAllowNamesTheMethods(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for line, want := range map[string]string{"PUT /runs": "GET, HEAD, OPTIONS, POST",
		"DELETE /runs": "GET, HEAD, OPTIONS, POST", "PUT /runs/x": "DELETE, GET, HEAD, OPTIONS, PATCH",
		"POST /version": "GET, HEAD, OPTIONS", "TRACE /approvals/x/assign": "OPTIONS, POST"} {
		if a := s.ask(t, "admin", line, ""); a.status != 405 || a.header.Get("Allow") != want || a.json["code"] != "method_not_allowed" {
			t.Errorf("%s: %d, Allow: %s, %s", line, a.status, a.header.Get("Allow"), a.text)
		}
	}
	if a := s.ask(t, "admin", "PUT /nothing", ""); a.status != 404 {
		t.Errorf("no path: %d", a.status)
	}
}

// No request matches two paths.
func TestPathsAreNotAmbiguous(t *testing.T) {
	t.Parallel()
	paths := slices.Sorted(maps.Keys(whole().Paths))
	for i, p := range paths {
		for _, q := range paths[i+1:] {
			a, b := strings.Split(p, "/"), strings.Split(q, "/")
			same := len(a) == len(b)
			for i := range a {
				same = same && (a[i] == b[i] || strings.HasPrefix(a[i], "{") || strings.HasPrefix(b[i], "{"))
			}
			if same {
				t.Errorf("%s and %s", p, q)
			}
		}
	}
}
