package planschema

// refers reports whether a schema contains a reference. References are relative to the root of a
// document, so that the schema cannot become part of another one.
func refers(schema any) bool {
	switch s := schema.(type) {
	case object:
		for key, v := range s {
			if key == "$ref" || key == "$dynamicRef" || refers(v) {
				return true
			}
		}
	case []any:
		for _, v := range s {
			if refers(v) {
				return true
			}
		}
	}
	return false
}

// relaxed returns the schema of arguments in a plan: each value can also be a text with a reference,
// whose value is known only when the step runs.
func relaxed(schema object) object {
	out := object{}
	for key, v := range schema {
		switch key {
		case "properties", "patternProperties":
			members, _ := v.(object)
			relaxedMembers := object{}
			for name, m := range members {
				relaxedMembers[name] = relaxedValue(m)
			}
			out[key] = relaxedMembers
		case "items", "additionalProperties":
			out[key] = relaxedValue(v)
		case "description", "title", "type", "enum", "const", "required", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
			"minLength", "maxLength", "pattern", "minItems", "maxItems", "default", "examples":
			out[key] = v
		}
	}
	if about, ok := out["description"].(string); ok {
		delete(out, "description")
		return or(about, out)
	}
	return object{"anyOf": []any{out, reference()}}
}

// relaxedValue is like relaxed, for a schema that may be a boolean.
func relaxedValue(v any) any {
	if s, ok := v.(object); ok {
		return relaxed(s)
	}
	return v
}
