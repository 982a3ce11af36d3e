package walk_test

import (
	"testing"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// A default replaces null and missing values.
func TestDefaultOfAReference(t *testing.T) {
	t.Parallel()
	env := walk.Env{Last: map[string]any{"null": nil, "no": false, "empty": ""}, Index: -1}
	for text, want := range map[string]string{
		`input ?? "world"`: "world", `last.null ?? "x"`: "x", `last.missing ?? "x"`: "x", `last.no ?? "x"`: "false",
		`last.empty ?? "x"`: "", `last.null ?? null`: "null", `input`: "null",
	} {
		r, err := walk.ParseReference(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, f := r.Resolve(env); f != nil || jsonvalue.Text(got) != want {
			t.Errorf("%s: got %q, %v; want %q", text, jsonvalue.Text(got), f, want)
		}
	}
}
