package planschema

// anything describes any value.
func anything(about string) object { return object{"description": about} }

// text describes a text.
func text(about string) object { return object{"description": about, "type": "string"} }

// choice describes a text with a fixed set of values.
func choice(about string, values ...string) object {
	if len(values) == 0 {
		return text(about)
	}
	return object{"description": about, "enum": values}
}

func boolean(about string) object { return object{"description": about, "type": "boolean"} }

func integer(about string, least, most int64) object {
	return object{"description": about, "type": "integer", "minimum": least, "maximum": most}
}

func number(about string, least float64) object {
	return object{"description": about, "type": "number", "minimum": least}
}

// durationPattern accepts every duration of [walk.ParseDuration].
const durationPattern = `^\+?[0-9.]+(ns|us|µs|μs|ms|s|m|h|d)([0-9.]+(ns|us|µs|μs|ms|s|m|h|d))*$`

// referencePattern finds a reference, whose value is known only when the step runs.
const referencePattern = `\$\{`

func duration(about string) object {
	return object{"description": about, "type": "string", "pattern": durationPattern, "examples": []string{"30s", "1h30m"}}
}

// reference describes a text with a reference.
func reference() object { return object{"type": "string", "pattern": referencePattern} }

// or adds texts with a reference to a schema.
func or(about string, s object) object {
	return object{"description": about, "anyOf": []any{s, reference()}}
}

func list(about string, of object) object {
	return object{"description": about, "type": "array", "items": of}
}

func texts(about string) object { return list(about, object{"type": "string"}) }

// scalars describes a map of texts, numbers, and booleans.
func scalars(about string, known object) object {
	return object{"description": about, "type": "object", "properties": known,
		"additionalProperties": object{"type": []string{"string", "number", "boolean", "null"}}}
}

// ref describes a value by a definition.
func ref(about, definition string) object {
	return object{"description": about, "allOf": []any{object{"$ref": "#/definitions/" + definition}}}
}

// closed describes an object that has only these keys, and keys that begin with x-.
func closed(about string, properties object, required ...string) object {
	out := object{"description": about, "type": "object", "properties": properties, "additionalProperties": false,
		"patternProperties": object{"^x-": object{}}}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}
