// Package plandiff lists the differences between two versions of a plan, line by line.
package plandiff

import (
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// Sign is the kind of a line.
type Sign string

const (
	Same  Sign = " "
	Plus  Sign = "+"
	Minus Sign = "-"
	Cut   Sign = "…" // equal lines that are left out
)

// Line is a line of a difference.
type Line struct {
	Sign Sign
	Text string
}

// Diff is the difference of two versions. If they are equal, it has no added or removed lines.
type Diff struct {
	Lines          []Line
	Added, Removed int
}

// Versions compares two versions as written. If their formats differ, it compares both as YAML,
// because otherwise every line would differ.
func Versions(a, b domain.Version) Diff {
	x, y := string(a.Source), string(b.Source)
	if a.Format != b.Format {
		x, y = asYAML(a), asYAML(b)
	}
	var d Diff
	d.Lines, d.Added, d.Removed = lines(split(x), split(y))
	return d
}

func split(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") }

// asYAML returns a version's document as YAML, or unchanged if it cannot be converted.
func asYAML(v domain.Version) string {
	doc, problems := planner.Parse(v.Source, planner.WithFormat(planner.Format(v.Format)), planner.WithLenientRules())
	if doc == nil || problems.Err() != nil {
		return string(v.Source)
	}
	out, err := doc.Encode(planner.FormatYAML)
	if err != nil {
		return string(v.Source)
	}
	return string(out)
}

// around is the number of equal lines that are shown around a change.
const around = 3

// lines compares two texts by their longest common subsequence of lines. For longer texts, it only
// finds their common beginning and end.
func lines(a, b []string) (out []Line, added, removed int) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	x, y := a[head:len(a)-tail], b[head:len(b)-tail]
	var all []Line
	same := func(s string) { all = append(all, Line{Same, s}) }
	plus := func(s string) { all, added = append(all, Line{Plus, s}), added+1 }
	minus := func(s string) { all, removed = append(all, Line{Minus, s}), removed+1 }
	for _, s := range a[:head] {
		same(s)
	}
	var common [][]uint16
	if len(x)*len(y) <= 4<<20 {
		common = make([][]uint16, len(x)+1)
		for i := range common {
			common[i] = make([]uint16, len(y)+1)
		}
		for i := len(x) - 1; i >= 0; i-- {
			for j := len(y) - 1; j >= 0; j-- {
				if x[i] == y[j] {
					common[i][j] = common[i+1][j+1] + 1
				} else {
					common[i][j] = max(common[i+1][j], common[i][j+1])
				}
			}
		}
	}
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case common != nil && i < len(x) && j < len(y) && x[i] == y[j]:
			same(x[i])
			i, j = i+1, j+1
		case i < len(x) && (common == nil || j == len(y) || common[i+1][j] >= common[i][j+1]):
			minus(x[i])
			i++
		default:
			plus(y[j])
			j++
		}
	}
	for _, s := range a[len(a)-tail:] {
		same(s)
	}
	// Leave out equal lines far from any change.
	keep := make([]bool, len(all))
	for i, l := range all {
		if l.Sign == Same {
			continue
		}
		for k := max(0, i-around); k < min(len(all), i+around+1); k++ {
			keep[k] = true
		}
	}
	for i, l := range all {
		if keep[i] {
			out = append(out, l)
		} else if i == 0 || keep[i-1] {
			out = append(out, Line{Sign: Cut})
		}
	}
	return out, added, removed
}
