package jsondiff_test

import (
	"encoding/json"
	"testing"

	"github.com/kairosd/kairosd/internal/diff/jsondiff"
)

// Another date, ID, or duration is volatile. Another amount, name, or status is not, and neither is
// a key that appears or disappears.
func TestVolatileChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path     string
		old, now any
		want     bool
	}{
		{`.headers["Date"]`, "Mon, 23 Nov 2026 05:45:23 GMT", "Mon, 23 Nov 2026 05:46:01 GMT", true},
		{`.headers["X-Request-Id"][0]`, "a1", "b2", true},
		{".created", "2026-11-23T05:45:23Z", "2026-11-23T05:46:01Z", true},
		{".elapsed_ms", json.Number("12"), json.Number("14"), true},
		{".durationMs", json.Number("12"), json.Number("14"), true},
		{".ref", "550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440001", true},
		{".took", "1.2s", "3ms", true},
		{".port", json.Number("18598"), json.Number("18599"), false},
		{".status", "ok", "failed", false},
		{".customer", "Marta", "Luis", false},
		{".valid", true, false, false},
		{".id", "A-1", "A-2", false},
		{".paid", "yes", "no", false},
		{".at", map[string]any{}, "x", false},
	} {
		if got := (jsondiff.Change{Op: jsondiff.Changed, Path: c.path, Old: c.old, New: c.now}).Volatile(); got != c.want {
			t.Errorf("%s: %v → %v is volatile: %v", c.path, c.old, c.now, got)
		}
	}
	if (jsondiff.Change{Op: jsondiff.Added, Path: ".port", New: json.Number("18598")}).Volatile() {
		t.Error("a new key is volatile")
	}
}

// Meaningful differences come first. Each group has the order of the values.
func TestVolatileChangesComeLast(t *testing.T) {
	t.Parallel()
	a := map[string]any{"date": "2026-11-23T05:45:23Z", "port": json.Number("1"), "status": "ok"}
	b := map[string]any{"date": "2026-11-24T05:45:23Z", "port": json.Number("2"), "status": "bad"}
	changes, _ := jsondiff.Diff(a, b, 10)
	var paths []string
	for _, c := range changes {
		paths = append(paths, c.Path)
	}
	if len(paths) != 3 || paths[0] != ".port" || paths[1] != ".status" || paths[2] != ".date" {
		t.Errorf("the order is %v", paths)
	}
}
