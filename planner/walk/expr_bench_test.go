package walk_test

import (
	"testing"

	"github.com/kairosd/kairosd/planner/walk"
)

func BenchmarkExpressions(b *testing.B) {
	items := make([]any, 100)
	for i := range items {
		items[i] = map[string]any{"ok": i%2 == 0, "name": "some name"}
	}
	for _, c := range []struct{ name, text string }{
		{"member", "expr: last.status == 'ok'"},
		{"list", "expr: input.filter(i, i.ok && i.name == 'some name').size() > 3"},
	} {
		cond, err := walk.ParseCondition(c.text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if holds, _, f := cond.Evaluate(walk.Env{Last: map[string]any{"status": "ok"}, Input: items, Index: -1}); !holds ||
					f != nil {
					b.Fatal(f)
				}
			}
		})
	}
}
