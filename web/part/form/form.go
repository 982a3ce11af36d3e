// Package form converts a JSON Schema to form fields, and submitted fields back to a value. An
// object has one field per property. Properties other than text, numbers, booleans, and enums are
// entered as JSON.
package form

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// Properties returns the properties of an object schema, the required names, and all names in
// order.
func Properties(schema any) (props map[string]any, required []string, order []string) {
	m, _ := schema.(map[string]any)
	props, _ = m["properties"].(map[string]any)
	for _, r := range List(m["required"]) {
		if s, ok := r.(string); ok {
			required = append(required, s)
		}
	}
	return props, required, slices.Sorted(maps.Keys(props))
}

// List returns a value as a list, or nil if it is not a list.
func List(v any) []any {
	l, _ := v.([]any)
	return l
}

// Fields returns the fields of a schema, with the values of the submitted form.
func Fields(c *ui.Context, schema any) []kit.Field {
	props, required, order := Properties(schema)
	var out []kit.Field
	for _, name := range order {
		p, _ := props[name].(map[string]any)
		title, _ := p["title"].(string)
		hint, _ := p["description"].(string)
		f := kit.Field{
			Name:     "f." + name,
			Label:    cmp.Or(title, name),
			Hint:     hint,
			Required: slices.Contains(required, name),
			Type:     "text",
			ID:       "f-" + kit.SafeName(name),
		}
		if v, ok := p["default"]; ok {
			f.Value = jsonvalue.Text(v)
		}
		if typed := c.Field(f.Name); typed != "" {
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
		if options := List(p["enum"]); len(options) > 0 {
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

// Values returns the submitted fields as a JSON object, or nil if nothing was entered. Text in a
// number field remains text, so that the schema reports the error.
func Values(c *ui.Context, schema any) map[string]any {
	props, _, order := Properties(schema)
	var out map[string]any
	for _, name := range order {
		typed := c.Field("f." + name)
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

// JSON parses a JSON value of a form.
func JSON(s string) (domain.RawJSON, error) {
	v, err := jsonvalue.Decode([]byte(s))
	if err != nil {
		return nil, err
	}
	return jsonvalue.Encode(v)
}

// Example returns an example value as JSON, which is also valid YAML.
func Example(p map[string]any) string {
	if v, ok := p["default"]; ok {
		if b, err := jsonvalue.Encode(v); err == nil {
			return string(b)
		}
	}
	if options := List(p["enum"]); len(options) > 0 {
		if b, err := jsonvalue.Encode(options[0]); err == nil {
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
