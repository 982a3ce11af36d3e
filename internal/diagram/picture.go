package diagram

import (
	"slices"

	"github.com/kairosd/kairosd/planner/walk"
)

// picture is the input of a layout: boxes, and links between them by position.
type picture struct {
	boxes []Node
	links []link
	roots []int
	// left is the number of nodes without a box.
	left int
}

// pictureOf returns the picture of a plan as written: one box per node. If open is set, the box of a block
// contains the picture of its steps.
func pictureOf(p *walk.Program, s sizes, open bool) picture {
	pic := picture{boxes: make([]Node, len(p.Nodes)), roots: p.Roots}
	for i := range p.Nodes {
		pic.boxes[i] = boxOf(&p.Nodes[i], s)
		pic.boxes[i].Root = slices.Contains(p.Roots, i)
		if b := p.Nodes[i].Block; b != nil && open {
			pic.boxes[i].open(pictureOf(b.Program, s, open).draw(s, s.compact, Room{}), s)
		}
		if p.Nodes[i].Finally {
			pic.boxes[i].Note = cut(visible(remark(&p.Nodes[i])), s.chars+4)
		}
		for _, e := range p.Nodes[i].Out {
			l := link{
				from:     i,
				to:       e.To,
				position: e.Position,
				text:     e.Text,
				labelAt:  -1,
				failed:   e.Cond.OnFailure(),
				fallback: e.Cond.Fallback(),
			}
			if e.To == walk.End {
				l.to = pic.end(s)
			}
			if !l.fallback || len(p.Nodes[i].Out) > 1 {
				l.label = edgeLabel(e.Text)
			}
			pic.links = append(pic.links, l)
		}
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		for _, need := range n.Needs {
			l := link{from: need, to: i, position: -1, labelAt: -1, need: true, fallback: true}
			l.text, l.failed = rule(n), n.When == walk.WhenFailure
			l.label = edgeLabel(l.text)
			// One label is enough for all needs of a node.
			if need != n.Needs[0] {
				l.label = ""
			}
			pic.links = append(pic.links, l)
		}
	}
	return pic
}

// open makes a box large enough for the drawing inside.
func (n *Node) open(inside *Drawing, s sizes) {
	n.Shape, n.Inside = ShapeBlock, inside
	n.W, n.H = max(s.nodeW, inside.Width), s.nodeH-s.margin/2+inside.Height
	n.InsideX, n.InsideY = (n.W-inside.Width)/2, s.nodeH-s.margin/2
}

// remark returns the note of a node, with a mark for finally steps.
func remark(n *walk.ProgramNode) string {
	if n.Finally {
		return "finally: " + note(n)
	}
	return note(n)
}

// end returns the position of the box for edges that end their branch. It is the last box.
func (pic *picture) end(s sizes) int {
	last := len(pic.boxes) - 1
	if pic.boxes[last].ID == walk.EndName {
		return last
	}
	pic.boxes = append(pic.boxes, Node{ID: walk.EndName, Type: walk.TypeNoop, Shape: ShapeQuiet, Label: cut(walk.EndName, s.chars),
		Members: []string{walk.EndName}})
	return last + 1
}

// rule returns the label of a node's needs: the rule under which it runs, unless that is success,
// and its condition.
func rule(n *walk.ProgramNode) string {
	text := ""
	switch n.When {
	case walk.WhenSuccess:
	case walk.WhenFirst:
		text = "race"
	default:
		text = string(n.When)
	}
	switch {
	case n.WhenCond == nil:
		return text
	case text == "":
		return n.WhenCond.Text
	}
	return text + ", " + n.WhenCond.Text
}

// handsOff reports whether work passes from one agent to another over a link.
func (pic picture) handsOff(l *link) bool {
	giver, taker := pic.boxes[l.from].Agent, pic.boxes[l.to].Agent
	return giver != "" && taker != "" && giver != taker
}

// handOff sets the shape of agents that hand off work to another agent.
func (pic picture) handOff() {
	for i := range pic.links {
		if b := &pic.boxes[pic.links[i].from]; b.Shape == ShapeAgent && pic.handsOff(&pic.links[i]) {
			b.Shape = ShapeHandoff
		}
	}
}

// boxOf returns the box of a node.
func boxOf(n *walk.ProgramNode, s sizes) Node {
	if n.Effect == walk.EffectUnsafe {
		s.chars -= s.mark
	}
	return Node{
		ID:      n.ID,
		Type:    n.Type,
		Agent:   n.Agent,
		Shape:   shapeOf(n),
		Label:   cut(visible(n.ID), s.chars),
		Note:    cut(visible(note(n)), s.chars+4),
		Foreach: n.Foreach != nil,
		Unsafe:  n.Effect == walk.EffectUnsafe,
		Members: []string{n.ID},
	}
}

// Visit is one visit of a node in a run, for a picture of the run.
type Visit struct {
	Node  string
	Label string
	// From contains the positions of the preceding visits, all less than its own.
	From []int
}

// ran returns the picture of a run: one box per visit, with loops unrolled.
func ran(p *walk.Program, visits []Visit, s sizes) picture {
	pic := picture{boxes: make([]Node, len(visits))}
	for i, v := range visits {
		pic.boxes[i] = Node{ID: v.Label, Label: cut(visible(v.Label), s.chars), Shape: ShapeTool, Members: []string{v.Label}}
		if n, ok := p.Index[v.Node]; ok {
			b := boxOf(&p.Nodes[n], s)
			b.ID, b.Label, b.Members = v.Label, cut(visible(v.Label), s.chars), []string{v.Label}
			pic.boxes[i] = b
		}
		for _, from := range v.From {
			pic.links = append(pic.links, link{from: from, to: i, position: -1, labelAt: -1, fallback: true})
		}
		if len(v.From) == 0 {
			pic.roots = append(pic.roots, i)
			pic.boxes[i].Root = true
		}
	}
	return pic
}
