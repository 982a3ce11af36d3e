package diagram_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/diagram"
	"pgregory.net/rapid"
)

func init() {
	pictures["block"] = `
name: Orders with blocks
nodes:
  fetch: {type: http, input: {url: "https://example.com/orders"}}
  ship:
    needs: [fetch]
    foreach: output.fetch.body
    do:
      start: reserve
      nodes:
        reserve: {type: http, effect: unsafe, input: {method: POST, url: "https://example.com"}}
        pack: {do: {nodes: {pick: {type: agent, agent: picker}, wrap: {type: agent, agent: packer, needs: [pick]}}}}
        sorry: {type: log, input: "none left"}
      edges: [{from: reserve, to: pack}, {from: reserve, to: sorry, condition: failed}]
  audit: {type: log, needs: [fetch], input: "orders"}
  report: {type: set, needs: [ship, audit], input: "${output.ship}"}
`
}

// within checks a drawing and the drawings inside its blocks. It returns the number of steps.
func within(d *diagram.Drawing) (steps int, err error) {
	if err := sound(d); err != nil {
		return 0, err
	}
	for _, n := range d.Nodes {
		steps++
		if n.Inside == nil {
			continue
		}
		header := 30.0
		if d.Compact {
			header = 18
		}
		if n.InsideX < n.X || n.InsideY < n.Y+header || n.InsideX+n.Inside.Width > n.X+n.W || n.InsideY+n.Inside.Height > n.Y+n.H {
			return 0, fmt.Errorf("the steps of %s are not inside its box", n.ID)
		}
		inner, err := within(n.Inside)
		if err != nil {
			return 0, fmt.Errorf("in %s: %w", n.ID, err)
		}
		steps += inner
	}
	return steps, nil
}

// flow returns steps of which each needs some of the earlier ones, as members of a map.
func flow(prefix string, nodes int, pick func(n int) int) string {
	var list []string
	for i := range nodes {
		needs := ""
		if i > 0 {
			needs = fmt.Sprintf(", needs: [%s%d]", prefix, pick(i))
		}
		list = append(list, fmt.Sprintf("%s%d: {type: noop%s}", prefix, i, needs))
	}
	return strings.Join(list, ", ")
}

// The box of a block contains the boxes of its steps, however the plan looks.
func TestABlockContainsItsSteps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		size := func(name string, most int) int { return rapid.IntRange(1, most).Draw(rt, name) }
		outer, inner, innermost := size("outer", 20), size("inner", 20), size("innermost", 5)
		src := fmt.Sprintf("{nodes: {%s, block: {needs: [o0], do: {nodes: {%s, deeper: {do: {nodes: {%s}}}}}}, "+
			"end: {type: noop, needs: [block]}}}", flow("o", outer, r.IntN), flow("i", inner, r.IntN), flow("x", innermost, r.IntN))
		p := program(t, src)
		for _, o := range []diagram.Options{{}, {Compact: true}, {Room: diagram.Room{W: 800, H: 500}}} {
			steps, err := within(diagram.Layout(p, o))
			if want := 3 + outer + inner + innermost; err != nil || steps != want {
				rt.Fatalf("%d steps drawn of %d: %v\n%s", steps, want, err, src)
			}
		}
	})
}

// A plan with very many steps in blocks is drawn with closed blocks.
func TestManyStepsInBlocksAreNotDrawn(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	d := diagram.Layout(program(t, "{nodes: {a: {do: {nodes: {"+flow("n", 400, r.IntN)+"}}}}}"), diagram.Options{})
	if len(d.Nodes) != 1 || d.Nodes[0].Inside != nil || d.Nodes[0].Note != "block of 400" {
		t.Errorf("%+v", d.Nodes)
	}
}
