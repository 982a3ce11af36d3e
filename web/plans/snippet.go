package plans

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/form"
	"github.com/kairosd/kairosd/web/ui"
)

// snippetChoices returns the tools and agents for which the editor can show a step.
func (s *section) snippetChoices(c *ui.Context, chosen string) []kit.Option {
	catalog := s.Engine.Catalog()
	var out []kit.Option
	for _, name := range slices.Sorted(maps.Keys(catalog.Tools)) {
		out = append(out, kit.Option{Value: "tool:" + name, Text: name, Selected: chosen == "tool:"+name})
	}
	for _, name := range slices.Sorted(maps.Keys(catalog.Agents)) {
		if !catalog.Agents[name].System {
			out = append(out, kit.Option{Value: "agent:" + name, Text: c.T("agent %s", name), Selected: chosen == "agent:"+name})
		}
	}
	return out
}

var (
	notInID = regexp.MustCompile(`[^A-Za-z0-9_]+`)
	hasList = regexp.MustCompile(`(?m)^\s*\{?\s*"?steps"?\s*:`)
)

// snippet returns a step for a tool or an agent, in the format of the plan, to copy into it.
func (s *section) snippet(source, choice string) (string, error) {
	kind, name, _ := strings.Cut(choice, ":")
	catalog := s.Engine.Catalog()
	tool, isTool := catalog.Tools[name]
	if _, isAgent := catalog.Agents[name]; kind == "tool" && !isTool || kind == "agent" && !isAgent || kind != "tool" && kind != "agent" {
		return "", domain.Errorf(domain.CodeInvalid, "choose a tool or an agent")
	}
	id := strings.Trim(notInID.ReplaceAllString(name, "_"), "_")
	asList := hasList.MatchString(source)
	if planner.FormatOf("", []byte(source)) == planner.FormatJSON {
		return snippetJSON(id, kind, name, tool.Schema, asList)
	}
	var lines []string
	key := ""
	switch {
	case asList && kind == "agent":
		lines = []string{"- id: " + id, "  agentId: " + name, `  task: ""  # what it is to do`}
	case asList:
		lines, key = []string{"- id: " + id, "  tool: " + name}, "  params:"
	case kind == "agent":
		lines = []string{"  " + id + ":", "    type: agent", "    agent: " + name, `    input: "${last}"`}
	default:
		lines, key = []string{"  " + id + ":", "    type: tool", "    tool: " + name}, "    input:"
	}
	if input := arguments(tool.Schema); key != "" && len(input) > 0 {
		lines = append(lines, key)
		indent := key[:len(key)-len(strings.TrimLeft(key, " "))] + "  "
		for _, l := range input {
			lines = append(lines, indent+l)
		}
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// snippetJSON returns the step as JSON, with the arguments that its tool requires.
func snippetJSON(id, kind, name string, schema any, asList bool) (string, error) {
	input := map[string]json.RawMessage{}
	if props, required, _ := form.Properties(schema); kind == "tool" {
		for _, arg := range required {
			p, _ := props[arg].(map[string]any)
			input[arg] = json.RawMessage(form.Example(p))
		}
	}
	step := struct {
		ID     string                     `json:"id,omitempty"`
		Type   string                     `json:"type,omitempty"`
		Tool   string                     `json:"tool,omitempty"`
		Agent  string                     `json:"agent,omitempty"`
		Worker string                     `json:"agentId,omitempty"`
		Task   *string                    `json:"task,omitempty"`
		Params map[string]json.RawMessage `json:"params,omitempty"`
		Input  any                        `json:"input,omitempty"`
	}{}
	switch {
	case asList && kind == "agent":
		step.ID, step.Worker, step.Task = id, name, new(string)
	case asList:
		step.ID, step.Tool, step.Params = id, name, input
	case kind == "agent":
		step.Type, step.Agent, step.Input = "agent", name, "${last}"
	default:
		step.Type, step.Tool = "tool", name
		if len(input) > 0 {
			step.Input = input
		}
	}
	text, err := json.MarshalIndent(step, "", "  ")
	if err != nil || asList {
		return string(text) + "\n", err
	}
	return strconv.Quote(id) + ": " + string(text) + "\n", nil
}

// arguments returns the lines of a tool's arguments, each with a description from the schema.
// Optional arguments are commented out.
func arguments(schema any) []string {
	props, required, order := form.Properties(schema)
	var out []string
	for _, must := range []bool{true, false} {
		for _, name := range order {
			if slices.Contains(required, name) != must {
				continue
			}
			p, _ := props[name].(map[string]any)
			line := name + ": " + form.Example(p) + "  # " + strings.TrimSpace(aboutValue(p))
			if !must {
				line = "# " + line
			}
			out = append(out, strings.TrimSuffix(line, "  # "))
		}
	}
	if len(required) == 0 && len(out) > 0 {
		out = append([]string{"{}"}, out...)
	}
	return out
}

// aboutValue describes a value on one line, from its schema.
func aboutValue(p map[string]any) string {
	typ, _ := p["type"].(string)
	parts := []string{typ}
	if options := form.List(p["enum"]); len(options) > 0 {
		var list []string
		for _, o := range options {
			list = append(list, jsonvalue.Text(o))
		}
		parts = append(parts, "one of "+strings.Join(list, ", "))
	}
	if d, _ := p["description"].(string); d != "" {
		parts = append(parts, strings.Join(strings.Fields(kit.Truncate(d, 80)), " "))
	}
	return strings.TrimPrefix(strings.Join(parts, "; "), "; ")
}
