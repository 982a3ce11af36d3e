package walk

// MissingInput returns the input of a run that was started without one: the
// object of the schema's default values if the plan's input schema is of type
// object, else nil. Defaults of nested objects count where the object has a
// default of its own, or properties that have one.
func (p *Program) MissingInput() any {
	schema, ok := p.InputSchema.(map[string]any)
	if !ok || schema["type"] != "object" {
		return nil
	}
	out, _ := defaults(schema, 0)
	return out
}

// maxDefaultDepth bounds how deep defaults are looked for.
const maxDefaultDepth = 16

// defaults returns the default values of an object schema's properties, and
// whether there are any.
func defaults(schema map[string]any, depth int) (out map[string]any, some bool) {
	out = map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	if depth == maxDefaultDepth {
		return out, false
	}
	for name, p := range properties {
		property, ok := p.(map[string]any)
		if !ok {
			continue
		}
		if value, ok := property["default"]; ok {
			out[name], some = value, true
		} else if property["type"] == "object" {
			if inner, ok := defaults(property, depth+1); ok {
				out[name], some = inner, true
			}
		}
	}
	return out, some
}
