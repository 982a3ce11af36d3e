package diagram_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/diagram"
)

// chain is a plan of n steps in a row.
func chain(n int) string {
	var b strings.Builder
	b.WriteString("nodes:\n")
	for i := range n {
		fmt.Fprintf(&b, "  step_%d: {type: set, input: 1}\n", i)
	}
	b.WriteString("edges:\n")
	for i := range n - 1 {
		fmt.Fprintf(&b, "  - {from: step_%d, to: step_%d}\n", i, i+1)
	}
	return b.String()
}

var coordinates = regexp.MustCompile(`-?[0-9.]+ -?[0-9.]+`)

// inside checks that every line is inside the picture.
func inside(d *diagram.Drawing) error {
	for _, e := range d.Edges {
		for _, at := range coordinates.FindAllString(e.Path, -1) {
			x, y, _ := strings.Cut(at, " ")
			px, errX := strconv.ParseFloat(x, 64)
			py, errY := strconv.ParseFloat(y, 64)
			if errX != nil || errY != nil || px < 0 || py < 0 || px > d.Width || py > d.Height {
				return fmt.Errorf("%s→%s leaves %v×%v at %s: %s", e.From, e.To, d.Width, d.Height, at, e.Path)
			}
		}
	}
	return nil
}

// A plan that is wider than its room is wrapped like a text, and then readable: each band has the next
// ranks, from left to right.
func TestALongPlanIsWrapped(t *testing.T) {
	t.Parallel()
	room := diagram.Room{W: 1150, H: 230}
	for n, c := range map[int]struct {
		least   float64
		compact bool
	}{5: {1, false}, 15: {0.9, false}, 30: {0.7, false}, 58: {0.65, true}} {
		d := diagram.Layout(program(t, chain(n)), diagram.Options{Room: room})
		if s := room.Scale(d.Width, d.Height); s < c.least || d.Compact != c.compact {
			t.Errorf("%d steps: %v×%v, at %.2f, compact %v", n, d.Width, d.Height, s, d.Compact)
		}
		for i := 1; i < n; i++ {
			a, b := d.Nodes[i-1], d.Nodes[i]
			if right, below := b.X > a.X && b.Y == a.Y, b.X == d.Nodes[0].X && b.Y > a.Y; !right && !below {
				t.Errorf("%d steps: %s at %v,%v follows %s at %v,%v", n, b.ID, b.X, b.Y, a.ID, a.X, a.Y)
			}
		}
	}
	for name, src := range pictures { // loops, branches, needs, and fans
		one, d := diagram.Layout(program(t, src), diagram.Options{}), diagram.Layout(program(t, src), diagram.Options{Room: room})
		if err := inside(d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if room.Scale(d.Width, d.Height) < room.Scale(one.Width, one.Height) {
			t.Errorf("%s became smaller: %v×%v instead of %v×%v", name, d.Width, d.Height, one.Width, one.Height)
		}
	}
}
