package tool_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/mcp"
	"github.com/kairosd/kairosd/internal/tool"
)

// The page on tools names every built-in tool with every argument in its section, and every key of
// the configuration. Its example configuration is valid.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/reference/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	sections := map[string]string{}
	for _, s := range strings.Split(page, "\n### ")[1:] {
		title, body, _ := strings.Cut(s, "\n")
		body, _, _ = strings.Cut(body, "\n## ")
		for _, name := range strings.Split(title, ", ") {
			sections[name] = body
		}
	}
	self := script(t, "")
	set := builtin(t, tool.Config{Exec: tool.ExecConfig{Enabled: true, Allow: []string{self}}}, nil)
	for _, s := range set.Specs() {
		body, ok := sections[s.Name]
		if !ok {
			t.Errorf("no section on %s", s.Name)
			continue
		}
		delete(sections, s.Name)
		properties, _ := s.Schema["properties"].(map[string]any)
		for name := range properties {
			if !strings.Contains(body, "`"+name+"`") {
				t.Errorf("%s: no argument `%s`", s.Name, name)
			}
		}
	}
	for name := range sections {
		t.Errorf("a section on %s, which is no tool", name)
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[tool.Config](), reflect.TypeFor[tool.HTTPConfig](),
		reflect.TypeFor[tool.FilesConfig](), reflect.TypeFor[tool.SQLConfig](),
		reflect.TypeFor[tool.ExecConfig](), reflect.TypeFor[mcp.Server](), reflect.TypeFor[config.Secret](),
		reflect.TypeFor[config.Approvals]()} {
		for i := range typ.NumField() {
			if key := typ.Field(i).Tag.Get("yaml"); !regexp.MustCompile(`\b` + key + `:`).MatchString(page) {
				t.Errorf("no key %s of %s", key, typ)
			}
		}
	}
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1) {
		var c config.Config
		if err := yaml.Load([]byte(m[1]), &c, yaml.WithKnownFields()); err != nil {
			t.Errorf("%v in\n%s", err, m[1])
		}
		for name, s := range c.MCP.Servers {
			if err := s.Check(name); err != nil {
				t.Error(err)
			}
		}
	}
	for _, code := range []string{mcp.CodeExit, mcp.CodeTool, mcp.CodeUnavailable} {
		if !strings.Contains(page, "`"+code+"`") {
			t.Errorf("no code %s", code)
		}
	}
}
