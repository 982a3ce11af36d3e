package walk

import "maps"

// CompleteInput returns the input of a run with the defaults of the plan's input schema in place of
// missing properties, at every level of objects. A run that was started without input (nil) gets the
// object of the defaults if the schema is of type object, else nil. changed reports whether the result
// differs from the input, which is not modified.
func (p *Program) CompleteInput(input any) (_ any, changed bool) {
	schema, ok := p.InputSchema.(map[string]any)
	if !ok {
		return input, false
	}
	object, ok := input.(map[string]any)
	switch {
	case input == nil && schema["type"] == "object":
		out, _ := complete(schema, map[string]any{}, 0)
		return out, true
	case !ok:
		return input, false
	}
	return complete(schema, object, 0)
}

// maxDefaultDepth bounds how deep defaults are looked for.
const maxDefaultDepth = 16

// complete adds the defaults of an object schema's properties to an object.
func complete(schema, object map[string]any, depth int) (_ map[string]any, changed bool) {
	properties, _ := schema["properties"].(map[string]any)
	if depth == maxDefaultDepth {
		return object, false
	}
	out := object
	set := func(name string, v any) {
		if !changed {
			out, changed = map[string]any{}, true
			maps.Copy(out, object)
		}
		out[name] = v
	}
	for name, p := range properties {
		property, ok := p.(map[string]any)
		if !ok {
			continue
		}
		value, given := object[name]
		inner, isObject := value.(map[string]any)
		def, hasDefault := property["default"]
		switch {
		case !given && hasDefault:
			set(name, def)
		case given && !isObject, !given && property["type"] != "object":
		default:
			if v, more := complete(property, inner, depth+1); more {
				set(name, v)
			}
		}
	}
	return out, changed
}
