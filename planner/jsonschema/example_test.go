package jsonschema_test

import (
	"fmt"

	"github.com/kairosd/kairosd/planner/jsonschema"
)

// A schema reports every mismatch of a value.
func ExampleParse() {
	schema, err := jsonschema.Parse(map[string]any{"type": "object", "required": []any{"name", "age"},
		"properties": map[string]any{"age": map[string]any{"type": "integer"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range schema.Validate(map[string]any{"age": "ten"}) {
		fmt.Println(p)
	}
	// Output:
	// "name" is required
	// age: must be integer, not string
}
