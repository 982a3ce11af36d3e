package tool

import (
	"context"
	"errors"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/tool/jsonpath"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

func newJSON() llm.Tool {
	return &function{
		spec: llm.ToolSpec{
			Name: "json",
			Description: "Takes a JSON value apart or transforms it: a JSONPath (RFC 9535) gives the value of a path of " +
				"names and indexes, else the list of all matches; " +
				"a CEL expression over `value` gives whatever it computes. With both, the expression sees what the path gave.",
			Effect: walk.EffectPure,
			Schema: object(map[string]any{
				"value":      map[string]any{"description": "the value"},
				"text":       property("string", "a JSON text, instead of the value"),
				"path":       property("string", "for example $.items[?@.price > 10].name", "minLength", 1, "maxLength", 4096),
				"expression": property("string", "for example value.items.map(i, i.price * 2)", "minLength", 1, "maxLength", 4096),
				"default": map[string]any{"description": "result if a path of names and indexes is not found; " +
					"without it, the step fails"},
			}),
		},
		call: transform,
	}
}

func transform(ctx context.Context, args arguments, _ llm.ToolCall) (any, error) {
	if args.has("value") == args.has("text") {
		return nil, invalid("json requires exactly one of value and text")
	}
	v := args["value"]
	if args.has("text") {
		var err error
		if v, err = jsonvalue.Decode([]byte(args.text("text"))); err != nil {
			return nil, invalid("the text is not JSON: %s", err)
		}
	}
	if text := args.text("path"); text != "" {
		p, err := jsonpath.Parse(text)
		if err != nil {
			return nil, invalid("path %s: %s", clip(text), err)
		}
		found, err := p.Find(ctx, v)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, invalid("path %s: %s", clip(text), err)
		case !p.Singular():
			if found == nil {
				found = []any{}
			}
			v = found
		case len(found) == 1:
			v = found[0]
		case args.has("default"):
			v = args["default"]
		default:
			return nil, suggest(refused(CodeNotFound, "path %s not found", clip(text)), "set a default, or correct the path")
		}
	}
	if text := args.text("expression"); text != "" {
		c, err := walk.ParseComputation(text, "value")
		if err != nil {
			f := invalid("expression: %s", err)
			if s, ok := errors.AsType[*walk.SyntaxError](err); ok {
				f.Suggestion = s.Suggestion.String()
			}
			return nil, f
		}
		out, err := c.Evaluate(ctx, map[string]any{"value": v})
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, invalid("%s", err)
		}
		return out, nil
	}
	return v, nil
}
