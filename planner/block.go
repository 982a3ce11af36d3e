package planner

import (
	"slices"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// A step with do: contains steps of its own: a block. A block is a plan within the plan. It is compiled as
// a document, with the settings of the plan around it, and a child run executes it.

const (
	maxBlocks     = 100 // of a plan, because each has the values of the plan
	maxBlockDepth = 7   // blocks that contain each other; runs have at most 8 ancestors
)

// decodeBlock reads the block of a step, or returns nil.
func decodeBlock(d *Document, o *object, n Node) *Graph {
	t := o.field("do")
	if t == nil {
		return nil
	}
	for _, key := range []string{"type", "tool", "agent", "plan", "wait"} {
		if v := o.t.Get(key); v != nil && v.Kind != source.Null {
			o.r.Error(v, o.node, "node.do", message.New("remove %s:, or do:", key), "a step with do: has no %s", key)
		}
	}
	if d.depth == maxBlockDepth {
		o.r.Error(t, o.node, "node.do", message.New("move the inner block into a plan of its own"),
			"blocks are nested deeper than %d levels", maxBlockDepth)
		return &Graph{}
	}
	*d.count++
	if *d.count > maxBlocks {
		o.r.Error(t, o.node, "plan.too_many_blocks", message.New("move blocks into plans of their own"),
			"the plan has more than %d blocks", maxBlocks)
		return &Graph{}
	}
	f := newObject(t, o.r, "block", o.node)
	g := &Graph{Start: f.text("start"), Result: f.value("result"), Nodes: map[string]Node{}}
	b := &Document{Graph: g, Format: d.Format, text: d.text, conditions: d.conditions, schemas: d.schemas, lenient: d.lenient,
		Profile: d.Profile, blocks: map[*source.Tree]*Document{}, outer: d, depth: d.depth + 1, count: d.count, tree: blockTree(t, n)}
	if f.bad {
		return g
	}
	decodeNodes(b, g, f)
	decodeEdges(g, f)
	f.finish()
	d.blocks[t] = b
	return g
}

// blockTree returns the document of a block without the settings of the plan.
func blockTree(t *source.Tree, n Node) *source.Tree {
	out := &source.Tree{Kind: source.Map, Line: t.Line, Column: t.Column}
	out.Keys, out.Items = slices.Clone(t.Keys), slices.Clone(t.Items)
	if n.Foreach != nil {
		out.Set("each", &source.Tree{Kind: source.Bool, Text: "true"})
	}
	return out
}

// inherited are the settings that a block has from the plan.
var inherited = []string{"values", "defaults", "strict", "on_failure"}

// sealBlocks completes the documents of the blocks, once that of the plan is complete.
func sealBlocks(d *Document) {
	seal := func(n Node, t *source.Tree) {
		b := d.blocks[t.Get("do")]
		if b == nil {
			return
		}
		b.ID = walk.BlockKey(d.ID, n.ID)
		b.tree.Set("id", &source.Tree{Kind: source.String, Text: b.ID})
		for _, key := range inherited {
			if v := d.tree.Get(key); v != nil {
				b.tree.Set(key, v)
			}
		}
		g := *b.Graph
		g.ID, g.Each = b.ID, n.Foreach != nil
		g.Values, g.Defaults, g.Strict, g.OnFailure = d.Graph.Values, d.Graph.Defaults, d.Graph.Strict, d.Graph.OnFailure
		b.Graph = &g
		b.seal()
		sealBlocks(b)
	}
	if d.Graph == nil {
		return
	}
	for key, n := range d.Graph.Nodes {
		seal(n, d.tree.Get("nodes").Get(key))
	}
	for key, n := range d.Graph.Finally {
		seal(n, d.tree.Get("finally").Get(key))
	}
}

// compileBlock compiles the block of a step.
func compileBlock(k *compiler, n *walk.ProgramNode, s *spec) {
	if s.Do == nil {
		return
	}
	b := k.d.blocks[s.tree.Get("do")]
	if b == nil {
		return // reported when it was read
	}
	b.semantics = k.d.semantics
	inner := compileDocument(b, k.c, k.first, k.r)
	k.blocks[n.Index] = inner
	p := inner.p
	n.Block = &walk.Block{Program: p, Source: b.canonical}
	k.p.Callback = k.p.Callback || p.Callback
}

// insideOf reports whether a document is a block, and a document around it has a step of this name.
func insideOf(d *Document, name string) bool {
	for d = d.outer; d != nil; d = d.outer {
		if hasStep(d.Graph, name) {
			return true
		}
	}
	return false
}

func hasStep(g *Graph, name string) bool {
	for _, nodes := range []map[string]Node{g.Nodes, g.Finally} {
		if _, ok := nodes[name]; ok {
			return true
		}
		for _, n := range nodes {
			if n.ID == name {
				return true
			}
		}
	}
	return false
}

// blockAdvice suggests how a step reads the output of a step outside its block, or inside another one. It
// is zero if there is no such step.
func blockAdvice(d *Document, name string) message.Message {
	if insideOf(d, name) {
		return message.New("a block reads other steps through its input: add %s to input: of the step with do:, and write %s here",
			name+`: "${output.`+name+`}"`, "${input."+name+"}")
	}
	if d.Graph == nil {
		return message.Message{}
	}
	for _, n := range d.Graph.Nodes {
		if n.Do != nil && hasStep(n.Do, name) {
			return message.New("step %s is inside a block: write %s, and add result: to the block", jsonvalue.Quote(name),
				"${output."+n.ID+"}")
		}
	}
	return message.Message{}
}

// blockObject is the block of a step as it appears in a document.
func blockObject(g *Graph) (any, error) {
	if g == nil {
		return nil, nil
	}
	o, err := bodyObject(g)
	return append(ordered{{"start", text(g.Start)}}, o...), err
}
