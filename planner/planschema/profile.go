package planschema

import "maps"

// profile describes the settings that a profile changes. They are merged into those of the plan, so that each can
// have some members only, and null removes the setting of the plan.
func profile() object {
	return closed("Settings that replace those of the plan in runs with this profile.", object{
		"values":      orNull("Constants. They are merged with those of the plan.", object{"type": "object"}),
		"limits":      orNull("Limits of a run.", partial(limits())),
		"labels":      scalars("Labels of the runs.", object{}),
		"priority":    orNull("The priority of the runs.", integer("", -1000, 1000)),
		"timeout":     orNull("A run that takes longer fails.", duration("")),
		"concurrency": orNull("The maximum number of active runs with the same key.", partial(concurrency())),
		"defaults": orNull("Settings of all steps that do not set them.", closed("", object{
			"retry":   orNull("The attempts of a step.", partial(retry())),
			"timeout": orNull("The maximum duration of one attempt.", duration("")),
		})),
		"nodes": object{"description": "Settings of steps by their id, without those in blocks.", "type": []string{"object", "null"},
			"additionalProperties": object{"$ref": "#/definitions/profileStep"}},
	})
}

// profileStep describes the settings of a step in a profile.
func (b builder) profileStep() object {
	return closed("Settings of a step in runs with this profile.", object{
		"agent":        b.agent(),
		"timeout":      orNull("The maximum duration of one attempt.", duration("")),
		"retry":        orNull("The attempts of the step.", partial(retry())),
		"queue":        orNull("On Temporal, the queue of the workers that execute the step.", text("")),
		"max_parallel": orNull("The number of items that run at the same time.", integer("", 1, 10_000)),
		"metadata":     closed("Texts.", object{"model": text("The model of a step of type llm.")}),
	})
}

// orNull adds null to a schema.
func orNull(about string, s object) object {
	s = maps.Clone(s)
	delete(s, "description")
	return object{"description": about, "anyOf": []any{s, object{"type": "null"}}}
}

// partial returns the schema of an object that need not be whole.
func partial(s object) object {
	s = maps.Clone(s)
	delete(s, "required")
	return s
}
