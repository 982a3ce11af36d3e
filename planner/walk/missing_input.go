package walk

// MissingInput returns the input of a run that was started without one. If the input schema of the
// plan has type object, it is the object of the schema's default values, else nil. An object inside
// it gets a value if it has a default or if one of its properties has one.
func (p *Program) MissingInput() any {
	schema, ok := p.InputSchema.(map[string]any)
	if !ok || schema["type"] != "object" {
		return nil
	}
	out, _ := defaults(schema, 0)
	return out
}

// maxDefaultDepth limits the depth at which defaults are searched for.
const maxDefaultDepth = 16

// defaults returns the default values of an object schema's properties. some reports whether there
// are any.
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
