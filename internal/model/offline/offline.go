// Package offline is a provider for a server without a model. It is deterministic, uses no network,
// and marks every text as not written by a model.
package offline

import (
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// Provider answers a text with the text itself, and a request for a value with the smallest value
// that matches the schema. It never calls a tool.
type Provider struct{}

// Complete implements [llm.Provider].
func (Provider) Complete(ctx context.Context, r llm.Request) (llm.Response, error) {
	if err := context.Cause(ctx); err != nil {
		return llm.Response{}, err
	}
	asked, words := "", 0
	for _, m := range r.Messages {
		words += len(strings.Fields(m.Text))
		if m.Role == llm.RoleUser {
			asked = m.Text
		}
	}
	text := "offline: " + asked
	if r.Schema != nil {
		b, err := jsonvalue.Encode(least(r.Schema, asked, 0))
		if err != nil {
			return llm.Response{}, err
		}
		text = string(b)
	}
	if r.Stream != nil {
		r.Stream(text)
	}
	return llm.Response{
		Text:   text,
		Model:  "offline",
		Finish: "stop",
		Usage:  llm.Usage{InputTokens: int64(words), OutputTokens: int64(len(strings.Fields(text)))},
	}, nil
}

// least returns the smallest value that the basic keywords of a schema allow. Strings contain the
// request.
func least(schema map[string]any, asked string, depth int) any {
	if depth > 16 {
		return nil
	}
	if c, ok := schema["const"]; ok {
		return c
	}
	if e, ok := schema["enum"].([]any); ok && len(e) > 0 {
		return e[0]
	}
	typ, _ := schema["type"].(string)
	if list, ok := schema["type"].([]any); ok && len(list) > 0 {
		typ, _ = list[0].(string)
	}
	switch typ {
	case "object":
		out := map[string]any{}
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if name, ok := name.(string); ok {
				p, _ := properties[name].(map[string]any)
				out[name] = least(p, asked, depth+1)
			}
		}
		return out
	case "array":
		out := []any{}
		items, _ := schema["items"].(map[string]any)
		for range int(number(schema["minItems"])) {
			out = append(out, least(items, asked, depth+1))
		}
		return out
	case "boolean":
		return false
	case "integer", "number":
		return int64(number(schema["minimum"]))
	case "null":
		return nil
	}
	for n := int(number(schema["minLength"])); utf8.RuneCountInString(asked) < n; {
		asked += "."
	}
	if n := int(number(schema["maxLength"])); n > 0 && utf8.RuneCountInString(asked) > n {
		asked = string([]rune(asked)[:n])
	}
	return asked
}

func number(v any) float64 {
	var f float64
	switch v := v.(type) {
	case json.Number:
		f, _ = v.Float64() // in a compiled schema, it is a number
	case float64:
		f = v
	case int:
		f = float64(v)
	}
	return min(f, 1000)
}
