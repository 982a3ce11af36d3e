package web

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/view"
)

// Steps are added to a text by snippets: of a tool with the arguments of its
// schema, or of an agent.

// snippetChoices are what a step may be added of.
func (r *request) snippetChoices(chosen string) []view.Option {
	catalog := r.s.Engine.Catalog()
	var out []view.Option
	for _, name := range slices.Sorted(maps.Keys(catalog.Tools)) {
		out = append(out, view.Option{Value: "tool:" + name, Text: name, Selected: chosen == "tool:"+name})
	}
	for _, name := range slices.Sorted(maps.Keys(catalog.Agents)) {
		if !catalog.Agents[name].System {
			out = append(out, view.Option{Value: "agent:" + name, Text: r.t("agent %s", name), Selected: chosen == "agent:"+name})
		}
	}
	return out
}

// addStep puts a step of what was chosen into a text, which otherwise stays as it is.
func (r *request) addStep(source, choice string) (string, error) {
	kind, name, _ := strings.Cut(choice, ":")
	catalog := r.s.Engine.Catalog()
	tool, isTool := catalog.Tools[name]
	_, isAgent := catalog.Agents[name]
	if kind == "tool" && !isTool || kind == "agent" && !isAgent || kind != "tool" && kind != "agent" {
		return source, domain.Errorf(domain.CodeInvalid, "choose a tool or an agent")
	}
	if planner.FormatOf("", []byte(source)) == planner.FormatJSON {
		return addJSON(source, kind, name, tool.Schema)
	}
	if strings.HasPrefix(strings.TrimSpace(source), "{") {
		return source, domain.Errorf(domain.CodeInvalid, "the plan is one object in braces").Suggest("write it in JSON, or in YAML with one step per line")
	}
	lines := strings.Split(strings.TrimRight(source, "\n"), "\n")
	start, end := blockOf(lines, "nodes")
	asList := false
	if start < 0 {
		start, end = stepsBlock(lines)
		asList = start >= 0
	}
	if start < 0 {
		lines, start = append(lines, "nodes:"), len(lines)
		end = len(lines)
	} else if rest := strings.TrimSpace(strings.SplitN(lines[start], ":", 2)[1]); rest != "" && !strings.HasPrefix(rest, "#") {
		return source, domain.Errorf(domain.CodeInvalid, "the steps are written on the line of their key").Suggest("write one step per line below it")
	}
	id := freeID(source, name)
	var add []string
	input := []string{}
	if isTool && kind == "tool" {
		input = arguments(tool.Schema)
	}
	indent := indentOf(lines[start+1 : end])
	switch {
	case asList:
		add = append(add, "- id: "+id)
		if kind == "tool" {
			add = append(add, "  tool: "+name)
		} else {
			add = append(add, "  agentId: "+name, `  task: ""  # what it is to do`)
		}
		if len(input) > 0 {
			add = append(add, "  params:")
			for _, l := range input {
				add = append(add, "    "+l)
			}
		}
	case kind == "agent":
		add = []string{id + ":", "  type: agent", "  agent: " + name, `  input: "${last}"`}
	default:
		add = []string{id + ":", "  type: tool", "  tool: " + name}
		if len(input) > 0 {
			add = append(add, "  input:")
			for _, l := range input {
				add = append(add, "    "+l)
			}
		}
	}
	for i := range add {
		add[i] = indent + add[i]
	}
	return strings.Join(slices.Insert(lines, end, add...), "\n") + "\n", nil
}

// blockOf finds the lines of a top-level key: that of the key, and the first after
// what belongs to it; -1: there is none.
func blockOf(lines []string, key string) (start, end int) {
	start = slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, key+":") })
	if start < 0 {
		return -1, -1
	}
	end = start + 1
	for i := start + 1; i < len(lines); i++ {
		l := lines[i]
		if strings.TrimSpace(l) == "" || strings.HasPrefix(strings.TrimSpace(l), "#") {
			continue
		}
		if l[0] != ' ' && l[0] != '-' {
			break
		}
		end = i + 1
	}
	return start, end
}

// stepsBlock finds the list of steps of a step plan.
func stepsBlock(lines []string) (start, end int) { return blockOf(lines, "steps") }

func indentOf(lines []string) string {
	for _, l := range lines {
		if t := strings.TrimLeft(l, " "); t != "" && !strings.HasPrefix(t, "#") {
			return l[:len(l)-len(t)]
		}
	}
	return "  "
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// freeID is an id for a step that a text does not have yet.
func freeID(source, name string) string {
	base := strings.Trim(notInID.ReplaceAllString(name, "_"), "_")
	id := base
	for n := 2; regexp.MustCompile(`(?m)(^|[\s{,])(id:\s*)?` + regexp.QuoteMeta(id) + `\s*(:|$|,)`).MatchString(source); n++ {
		id = fmt.Sprintf("%s_%d", base, n)
	}
	return id
}

// arguments are the lines of a tool's arguments: those that it requires, and the
// others as comments, each with what its schema says of it.
func arguments(schema any) []string {
	props, required, order := properties(schema)
	var out []string
	for _, must := range []bool{true, false} {
		for _, name := range order {
			if slices.Contains(required, name) != must {
				continue
			}
			p, _ := props[name].(map[string]any)
			line := name + ": " + exampleOf(p) + "  # " + strings.TrimSpace(aboutValue(p))
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

// aboutValue is what a schema says of a value, on one line.
func aboutValue(p map[string]any) string {
	typ, _ := p["type"].(string)
	parts := []string{typ}
	if options := listOf(p["enum"]); len(options) > 0 {
		var list []string
		for _, o := range options {
			list = append(list, planner.Text(o))
		}
		parts = append(parts, "one of "+strings.Join(list, ", "))
	}
	if d, _ := p["description"].(string); d != "" {
		parts = append(parts, strings.Join(strings.Fields(cut(d, 80)), " "))
	}
	return strings.TrimPrefix(strings.Join(parts, "; "), "; ")
}

// exampleOf is a value to be replaced, as JSON, which YAML reads too.
func exampleOf(p map[string]any) string {
	if v, ok := p["default"]; ok {
		if b, err := planner.EncodeValue(v); err == nil {
			return string(b)
		}
	}
	if options := listOf(p["enum"]); len(options) > 0 {
		if b, err := planner.EncodeValue(options[0]); err == nil {
			return string(b)
		}
	}
	switch typ, _ := p["type"].(string); typ {
	case "integer", "number":
		return "0"
	case "boolean":
		return "false"
	case "array":
		return "[]"
	case "object":
		return "{}"
	case "string":
		return `""`
	}
	return "null"
}
