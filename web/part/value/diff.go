package value

import (
	"github.com/kairosd/kairosd/internal/diff/jsondiff"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// shownChanges is the maximum number of lines of a diff.
const shownChanges = 200

// Diff returns the diff of two values in lines. A missing value is nil.
func Diff(l *locale.Language, a, z domain.RawJSON) (lines []kit.DiffLine, note string) {
	if len(a) > CopyBytes || len(z) > CopyBytes {
		return []kit.DiffLine{
				{Sign: "~", Text: l.Text("%s became %s", ui.SizeIn(l, len(a)), ui.SizeIn(l, len(z)))},
			}, locale.Mark(
				"Too long to compare here.",
			)
	}
	decode := func(j domain.RawJSON) any {
		v, err := jsonvalue.Decode(j)
		if err != nil {
			return string(j)
		}
		return v
	}
	if a == nil {
		return []kit.DiffLine{{Sign: "+", Class: "ins", Text: shortValue(decode(z))}}, ""
	}
	if z == nil {
		return []kit.DiffLine{{Sign: "−", Class: "del", Text: shortValue(decode(a))}}, ""
	}
	changes, more := jsondiff.Diff(decode(a), decode(z), shownChanges)
	for _, c := range changes {
		path := kit.Escape(kit.Truncate(c.Path, 300))
		switch c.Op {
		case jsondiff.Added:
			lines = append(lines, kit.DiffLine{Sign: "+", Class: "ins", Text: path + "  " + shortValue(c.New)})
		case jsondiff.Removed:
			lines = append(lines, kit.DiffLine{Sign: "−", Class: "del", Text: path + "  " + shortValue(c.Old)})
		default:
			lines = append(
				lines,
				kit.DiffLine{Sign: "−", Class: "del", Text: path + "  " + shortValue(c.Old)},
				kit.DiffLine{Sign: "+", Class: "ins", Text: path + "  " + shortValue(c.New)},
			)
		}
	}
	if len(lines) == 0 {
		lines = []kit.DiffLine{{Sign: "=", Text: l.Text("the same")}}
	}
	if more {
		note = locale.Mark("There are more differences.")
	}
	return lines, note
}

// shortValue returns a value as one line of a diff.
func shortValue(v any) string {
	j, err := jsonvalue.Encode(v)
	if err != nil {
		return ""
	}
	return kit.Escape(kit.Truncate(string(j), 400))
}
