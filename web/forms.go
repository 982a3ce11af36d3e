package web

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/view"
)

// Forms made from a JSON Schema: one field per property of an object; whatever
// is not text, number, yes/no or a choice is entered as JSON.

func properties(schema any) (props map[string]any, required []string, order []string) {
	m, _ := schema.(map[string]any)
	props, _ = m["properties"].(map[string]any)
	for _, r := range listOf(m["required"]) {
		if s, ok := r.(string); ok {
			required = append(required, s)
		}
	}
	return props, required, slices.Sorted(maps.Keys(props))
}

func listOf(v any) []any {
	l, _ := v.([]any)
	return l
}

func (r *request) fields(schema any) []view.Field {
	props, required, order := properties(schema)
	var out []view.Field
	for _, name := range order {
		p, _ := props[name].(map[string]any)
		title, _ := p["title"].(string)
		hint, _ := p["description"].(string)
		f := view.Field{Name: "f." + name, Label: cmp.Or(title, name), Hint: hint, Required: slices.Contains(required, name), Type: "text", ID: "f-" + safeName(name)}
		if v, ok := p["default"]; ok {
			f.Value = jsonvalue.Text(v)
		}
		if typed := r.c.FormValue(f.Name); typed != "" {
			f.Value = typed
		}
		switch typ, _ := p["type"].(string); typ {
		case "integer", "number":
			f.Type = "number"
		case "boolean":
			f.Type, f.Options = "select", []string{"false", "true"}
		case "string":
			if n, err := strconv.Atoi(jsonvalue.Text(p["maxLength"])); err == nil && n > 200 {
				f.Type = "textarea"
			}
		default:
			f.Type = "textarea"
			f.Hint = strings.TrimSpace(f.Hint + " JSON")
		}
		if options := listOf(p["enum"]); len(options) > 0 {
			f.Type, f.Options = "select", nil
			if !f.Required {
				f.Options = append(f.Options, "")
			}
			for _, o := range options {
				f.Options = append(f.Options, jsonvalue.Text(o))
			}
		}
		out = append(out, f)
	}
	return out
}

// formValues reads the fields back into a JSON value; nil when nothing was
// entered. Text that is no number where one is wanted stays text: the schema
// says what is wrong with it.
func (r *request) formValues(schema any) map[string]any {
	props, _, order := properties(schema)
	var out map[string]any
	for _, name := range order {
		typed := r.c.FormValue("f." + name)
		if typed == "" {
			continue
		}
		if out == nil {
			out = map[string]any{}
		}
		out[name] = typed
		p, _ := props[name].(map[string]any)
		if typ, _ := p["type"].(string); typ != "string" {
			if v, err := jsonvalue.Decode([]byte(typed)); err == nil {
				out[name] = v
			}
		}
	}
	return out
}
