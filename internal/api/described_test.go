package api_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kairosd/kairosd/internal/api"
)

// spec is the description, as JSON.
func spec(t *testing.T) map[string]any {
	t.Helper()
	world := newFake(nil)
	h, err := api.New(api.Config{App: world.App, Reader: world, Engine: world, Principals: world})
	if err != nil {
		t.Fatal(err)
	}
	text, err := api.Description(h)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// at is the object at the end of a path.
func at(doc map[string]any, path ...string) map[string]any {
	for _, name := range path {
		doc, _ = doc[name].(map[string]any)
	}
	return doc
}

// Every property has a description, and each line of properties.txt describes a property.
func TestEveryPropertyIsDescribed(t *testing.T) {
	t.Parallel()
	schemas := at(spec(t), "components", "schemas")
	described := map[string]map[string]bool{} // text → names
	for schema, s := range schemas {
		for name, p := range at(s.(map[string]any), "properties") {
			text, _ := p.(map[string]any)["description"].(string)
			if text == "" {
				t.Errorf("%s.%s has no description: add it to properties.txt", schema, name)
			}
			if described[text] == nil {
				described[text] = map[string]bool{}
			}
			described[text][schema+"."+name], described[text]["*."+name] = true, true
		}
	}
	file, err := os.ReadFile("properties.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if !strings.HasPrefix(line, "#") && !described[text][name] {
			t.Errorf("properties.txt: %s is not a property", name)
		}
	}
}

// Every JSON body has an example that its schema accepts.
func TestEveryBodyHasAnExample(t *testing.T) {
	t.Parallel()
	doc := spec(t)
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://kairosd.test/openapi.json", any(doc)); err != nil {
		t.Fatal(err)
	}
	for path, methods := range at(doc, "paths") {
		for method, op := range methods.(map[string]any) {
			media := at(op.(map[string]any), "requestBody", "content", "application/json")
			ref, _ := at(media, "schema")["$ref"].(string)
			if ref == "" { // no body, or a plan document
				continue
			}
			example, ok := media["example"]
			if !ok {
				t.Errorf("%s %s has no example: add it to examples.json", method, path)
				continue
			}
			schema, err := c.Compile("https://kairosd.test/openapi.json" + ref)
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(example); err != nil {
				t.Errorf("the example of %s %s: %v", method, path, err)
			}
		}
	}
}

// The page of errors lists every code.
func TestThePageListsEveryCode(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := at(spec(t), "components", "schemas", "Problem", "properties", "code")["enum"].([]any)
	if len(codes) < 15 {
		t.Errorf("the codes are %v", codes)
	}
	for _, code := range codes {
		if !strings.Contains(string(page), "| `"+code.(string)+"` |") {
			t.Errorf("docs/reference/errors.md lacks %s", code)
		}
	}
}
