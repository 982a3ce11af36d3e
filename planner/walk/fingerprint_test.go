package walk_test

import (
	"testing"

	"github.com/kairosd/kairosd/planner"
)

// A step that reads a constant differs between versions in which the constant differs. Other steps do not.
func TestFingerprintsCoverValues(t *testing.T) {
	t.Parallel()
	prints := func(limit string) (reads, other string) {
		src := "values: {limit: " + limit + "}\nnodes: {a: {type: set, input: \"${value.limit}\"}, b: {type: set}}"
		d, problems := planner.Parse([]byte(src))
		if d == nil {
			t.Fatal(problems)
		}
		p, err := d.Program(nil)
		if err != nil {
			t.Fatal(err)
		}
		return p.Fingerprint(p.Index["a"]), p.Fingerprint(p.Index["b"])
	}
	a1, b1 := prints("1")
	a2, b2 := prints("2")
	if a1 == a2 || b1 != b2 {
		t.Errorf("the step that reads the constant is the same: %t; the other one is: %t", a1 == a2, b1 == b2)
	}
}

// A step with a block differs between versions in which a step of the block differs.
func TestFingerprintsCoverBlocks(t *testing.T) {
	t.Parallel()
	print := func(input string) string {
		d, problems := planner.Parse([]byte("id: p\nnodes: {a: {do: {nodes: {b: {type: set, input: " + input + "}}}}}"))
		if d == nil {
			t.Fatal(problems)
		}
		p, err := d.Program(nil)
		if err != nil {
			t.Fatal(err)
		}
		return p.Fingerprint(0)
	}
	first, same, other := print("1"), print("1"), print("2")
	if first == other {
		t.Error("the step is the same")
	}
	if first != same {
		t.Error("the same step differs")
	}
}
