package diagram_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/diagram"
)

// A large plan is folded to a readable size. Every node is in one box or counted as left out. The
// focus and its neighbors have their own boxes.
func TestLargePlansAreFolded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		nodes := rapid.IntRange(1, 120).Draw(rt, "nodes")
		p := program(t, graph(nodes, rapid.IntRange(0, nodes).Draw(rt, "edges"), rapid.Bool().Draw(rt, "needs"), r.IntN))
		o := diagram.Options{Most: rapid.IntRange(1, 40).Draw(rt, "most"), Focus: fmt.Sprintf("n%d", r.IntN(nodes))}
		d := diagram.Layout(p, o)
		if len(d.Nodes) > max(o.Most, 1) {
			rt.Fatalf("%d boxes, %d are asked for", len(d.Nodes), o.Most)
		}
		count, focus := d.Left, false
		for _, n := range d.Nodes {
			count += len(n.Members)
			focus = focus || n.ID == o.Focus && len(n.Members) == 1
		}
		if count != nodes {
			rt.Fatalf("%d nodes are drawn or left out of %d", count, nodes)
		}
		if !focus {
			rt.Fatalf("the focus %s is not drawn", o.Focus)
		}
		if err := sound(d); err != nil {
			rt.Fatal(err)
		}
		if again := diagram.Layout(p, o); !bytes.Equal(diagram.SVG(d), diagram.SVG(again)) {
			rt.Fatal("the same plan gave two pictures")
		}
	})
}

func TestRepeatedBranchesAndChainsFold(t *testing.T) {
	t.Parallel()
	boxes := func(src, focus string) (names []string) {
		for _, n := range diagram.Layout(program(t, src), diagram.Options{Most: 60, Focus: focus}).Nodes {
			names = append(names, n.Label)
		}
		return names
	}
	if got, want := boxes(pictures["fanout"], "load"), []string{"load", "98 steps", "join"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := boxes(pictures["fanout"], "work_05"), []string{"load", "97 steps", "work_05", "join"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	var b strings.Builder
	b.WriteString("nodes:\n  n0: {type: set, input: 1}\n")
	for i := 1; i < 500; i++ {
		fmt.Fprintf(&b, "  n%d: {type: set, input: 1, needs: [n%d]}\n", i, i-1)
	}
	if got, want := boxes(b.String(), "n250"), []string{"248 steps", "n248", "n249", "n250", "n251", "n252", "247 steps"}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The picture of a run has a box for every visit of a loop.
func TestARunIsUnrolled(t *testing.T) {
	t.Parallel()
	p := program(t, pictures["loop"])
	d := diagram.LayoutRun(
		p,
		[]diagram.Visit{
			{Node: "draft", Label: "draft"},
			{Node: "review", Label: "review", From: []int{0}},
			{Node: "draft", Label: "draft #2", From: []int{1}},
			{Node: "review", Label: "review #2", From: []int{2}},
			{Node: "publish", Label: "publish", From: []int{3}},
		},
		diagram.Options{},
	)
	if len(d.Nodes) != 5 || len(d.Edges) != 4 || d.Nodes[2].X <= d.Nodes[1].X || d.Nodes[1].Shape != diagram.ShapeDecision {
		t.Errorf("%+v", d.Nodes)
	}
	if err := sound(d); err != nil {
		t.Error(err)
	}
	if d := diagram.LayoutRun(p, nil, diagram.Options{}); len(d.Nodes) != 0 {
		t.Error("a picture of nothing")
	}
}
