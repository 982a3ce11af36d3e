package jsondiff_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/diff/jsondiff"
)

func value(tb testing.TB, s string) any {
	tb.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		tb.Fatal(err)
	}
	return v
}

func TestDiff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want []string
	}{
		{`1`, `1`, nil},
		{`9223372036854775807`, `9223372036854775808`, []string{"~"}},
		{`{"a":1,"b":{"c":[1,2,3]}}`, `{"b":{"c":[1,9,3]},"d":null}`, []string{"- .a", "~ .b.c[1]", "+ .d"}},
		{`[1,2,3]`, `[0,1,2,3]`, []string{"+ [0]"}},
		{`[1,2,3]`, `[1,3]`, []string{"- [1]"}},
		{`{"x":[]}`, `{"x":{}}`, []string{"~ .x"}},
		{`{"a b":{"":1}}`, `{"a b":{"":2}}`, []string{`~ ["a b"][""]`}},
		{`null`, `{"a":1}`, []string{"~"}},
	} {
		changes, more := jsondiff.Diff(value(t, c.a), value(t, c.b), 100)
		var got []string
		for _, x := range changes {
			got = append(got, strings.TrimSpace(string(x.Op)+" "+x.Path))
		}
		if d := cmp.Diff(c.want, got); d != "" || more {
			t.Errorf("%s → %s: %s", c.a, c.b, d)
		}
	}
	if changes, more := jsondiff.Diff(value(t, `[1,2,3,4]`), value(t, `[5,6,7,8]`), 2); len(changes) != 2 || !more {
		t.Errorf("%d changes, more %v", len(changes), more)
	}
}

// Two values differ exactly if there is a change. In the opposite direction, added values are
// removed.
func TestDiffIsSymmetric(t *testing.T) {
	t.Parallel()
	leaf := rapid.Custom(func(t *rapid.T) any {
		return rapid.SampledFrom([]any{nil, true, "x", "", json.Number("1"), json.Number("1.0")}).Draw(t, "leaf")
	})
	var tree func(depth int) *rapid.Generator[any]
	tree = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return leaf
		}
		return rapid.Custom(func(t *rapid.T) any {
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				return any(rapid.MapOfN(rapid.StringMatching(`[a-c ]{0,2}`), tree(depth-1), 0, 3).Draw(t, "object"))
			case 1:
				return any(rapid.SliceOfN(tree(depth-1), 0, 4).Draw(t, "list"))
			}
			return leaf.Draw(t, "value")
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := tree(3).Draw(t, "a"), tree(3).Draw(t, "b")
		there, _ := jsondiff.Diff(a, b, 1000)
		back, _ := jsondiff.Diff(b, a, 1000)
		if (len(there) == 0) != jsondiff.Equal(a, b) || len(there) != len(back) {
			t.Fatalf("%d changes there, %d back, equal %v", len(there), len(back), jsondiff.Equal(a, b))
		}
		mirror := map[jsondiff.Op]jsondiff.Op{
			jsondiff.Added:   jsondiff.Removed,
			jsondiff.Removed: jsondiff.Added,
			jsondiff.Changed: jsondiff.Changed,
		}
		for i := range there {
			if back[i].Op != mirror[there[i].Op] || back[i].Path != there[i].Path {
				t.Fatalf("%v there, %v back", there[i], back[i])
			}
		}
		if same, _ := jsondiff.Diff(a, a, 10); len(same) != 0 {
			t.Fatalf("a value differs from itself: %v", same)
		}
	})
}
