package api_test

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kairosd/kairosd/web/api"
)

// described answers are checked against the served description: the schemas of
// OpenAPI 3.1 are JSON Schema.
var description = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	world := newFake()
	h, err := api.New(api.Config{Reader: world, Engine: world, Principals: world})
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
		world := newFake()
		h, err := api.New(api.Config{Reader: world, Engine: world, Principals: world})
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
