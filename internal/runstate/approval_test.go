package runstate

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/planner/jsonvalue"
)

func TestReadApproval(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		message, onTimeout string
		timeout            time.Duration
		ok                 bool
	}{
		`"go on?"`: {"go on?", "reject", 0, true},
		`{"message": "go on?", "timeout": "10m", "on_timeout": "approve"}`: {"go on?", "approve", 10 * time.Minute, true},
		`{"message": "go on?", "timeout": "-1s"}`:                          {},
		`{"message": "go on?", "timeout": "soon"}`:                         {},
		`{"message": "go on?", "on_timeout": "shrug"}`:                     {},
		`{"message": "go on?", "form": {"type": "nothing known"}}`:         {},
		`7`: {},
	} {
		v, err := jsonvalue.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		in, err := ReadApproval(v)
		if (err == nil) != want.ok ||
			want.ok && (in.message != want.message || in.onTimeout != want.onTimeout || in.Timeout != want.timeout) {
			t.Errorf("%s: got %+v, %v", text, in, err)
		}
	}
}

// Equal requests have equal ids, and different requests have different ids.
func TestDerivedID(t *testing.T) {
	t.Parallel()
	one := DerivedID("approval", "r", "a", 1, NoItem, 3)
	if one != DerivedID("approval", "r", "a", 1, NoItem, 3) || one == DerivedID("approval", "r", "a", 1, NoItem, 4) ||
		one == DerivedID("consent", "r", "a", 1, NoItem, 3) {
		t.Error("an id must follow from what it names")
	}
}
