package planner

import (
	"cmp"
	"strings"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/suggest"
	"github.com/kairosd/kairosd/planner/walk"
)

func decodeNodes(d *Document, g *Graph, o *object) {
	nodes := o.field("nodes")
	if nodes == nil {
		o.r.Error(cmp.Or(o.t.Get("nodes"), o.t), o.node, "plan.no_nodes", message.New("add a step"), "the plan has no steps")
		return
	}
	if nodes.Kind != source.Map {
		o.r.Error(nodes, "", "field.type", message.New("write nodes as a map from id to step"), "nodes must be an object, not %s",
			nodes.Kind)
		return
	}
	if len(nodes.Keys) == 0 {
		o.r.Error(nodes, "", "plan.no_nodes", message.New("add a step"), "the plan has no steps")
	}
	if len(nodes.Keys) > MaxNodes {
		o.r.Error(nodes, "", "plan.too_many_nodes", message.New("split the plan into sub-plans"),
			"the plan has %d steps; at most %d are allowed", len(nodes.Keys), MaxNodes)
		return
	}
	for i, k := range nodes.Keys {
		g.Nodes[k.Text] = decodeNode(d, k, nodes.Items[i], o.r)
		g.order = append(g.order, k.Text)
	}
	decodeFinally(d, g, o)
}

// decodeFinally reads the steps that run after all others.
func decodeFinally(d *Document, g *Graph, o *object) {
	nodes := o.field("finally")
	switch {
	case nodes == nil:
		return
	case nodes.Kind != source.Map:
		o.r.broken = true
		o.r.Error(nodes, "", "field.type", message.New("write finally as a map from id to step"), "finally must be an object, not %s",
			nodes.Kind)
		return
	case len(nodes.Keys)+len(g.Nodes) > MaxNodes:
		o.r.Error(nodes, "", "plan.too_many_nodes", message.New("split the plan into sub-plans"),
			"the plan has %d steps; at most %d are allowed", len(nodes.Keys)+len(g.Nodes), MaxNodes)
		return
	}
	g.Finally = map[string]Node{}
	for i, k := range nodes.Keys {
		g.Finally[k.Text] = decodeNode(d, k, nodes.Items[i], o.r)
		g.finallyOrder = append(g.finallyOrder, k.Text)
	}
}

func decodeNode(d *Document, key, t *source.Tree, r *reporter) Node {
	id := key.Text
	o := newObject(t, r, "node", id)
	n := Node{ID: o.text("id"), Type: o.text("type"), Tool: o.text("tool"), Agent: o.text("agent"), Plan: o.text("plan"),
		Plans: o.texts("plans"), Input: o.value("input"), Metadata: o.strings("metadata"), Retry: decodeRetry(o),
		Timeout: o.duration("timeout"), OnReject: o.text("on_reject"), Effect: walk.Effect(o.text("effect")),
		Needs: o.texts("needs"), Race: o.texts("race"),
		Foreach: o.value("foreach"), MaxParallel: int(o.integer("max_parallel", 1, 10_000)),
		MaxVisits: int(o.integer("max_visits", 1, 1_000_000)), OutputSchema: o.value("output_schema")}
	n.After, n.When = decodeWhen(o)
	n.Ends, n.Queue = o.text("ends"), o.text("queue")
	n.OnError, n.ErrorRules = decodeOnError(o, decodeRetry)
	if n.ID == "" {
		n.ID = id
	}
	broken := o.field("use") != nil // else the keys of the template have replaced it
	decodeWait(o, &n)
	n.Do = decodeBlock(d, o, n)
	n.Undo = decodeUndo(o)
	v := t.Get("type")
	if n.Type == "" && n.Do == nil && !broken && !o.bad && (v == nil || v.Kind == source.Null || v.Kind == source.String) {
		suggestion := message.New("add type:, for example type: tool")
		for _, k := range t.Keys {
			if near := suggest.Nearest(k.Text, []string{"type"}); near != "" && k.Text != "type" {
				suggestion = message.New("did you mean type instead of %s?", k.Text)
			}
		}
		r.Error(t, id, "node.type_missing", suggestion, "step %s has no type", jsonvalue.Quote(id))
	}
	checkOnReject(o, n.OnReject)
	checkEnds(o, n.Ends)
	checkEffect(o, string(n.Effect))
	o.finish()
	return n
}

// decodeWait reads wait:, the short form of type: wait with an input.
func decodeWait(o *object, n *Node) {
	v := o.field("wait")
	switch {
	case v == nil:
		return
	case n.Type != "" && n.Type != walk.TypeWait:
		o.r.Error(v, o.node, "node.wait", message.New("remove type: or wait:"), "wait: needs type: wait")
	case n.Input != nil:
		n.Type = walk.TypeWait
		o.r.Error(v, o.node, "node.wait", message.New("keep one of them"), "a step has wait: or input:, not both")
	default:
		n.Type, n.Input = walk.TypeWait, v.Value()
	}
}

// decodeWhen reads a rule, a condition, or {after: RULE, if: CONDITION}.
func decodeWhen(o *object) (after walk.When, when string) {
	v := o.field("when")
	if v == nil || v.Kind != source.Map {
		return "", o.text("when")
	}
	f := newObject(v, o.r, "when", o.node)
	after, when = walk.When(f.text("after")), f.text("if")
	f.finish()
	return after, when
}

func decodeEdges(g *Graph, o *object) {
	edges := o.list("edges")
	if len(edges) > MaxEdges {
		o.r.broken = true
		o.r.Error(o.t.Get("edges"), "", "plan.too_many_edges", message.Message{}, "the plan has %d edges; at most %d are allowed",
			len(edges), MaxEdges)
		return
	}
	for _, t := range edges {
		f := newObject(t, o.r, "edge", "")
		e := Edge{From: f.text("from"), To: f.text("to")}
		// A bare `condition: true` is a frequent slip for a fallback.
		if c := f.field("condition"); c != nil && c.Kind == source.Bool {
			o.r.Error(c, e.From, "edge.condition", message.New("write default for a condition that always holds"),
				"a condition must be text, not %s", c.Text)
		} else {
			e.Condition = f.text("condition")
		}
		for _, end := range []struct{ key, id string }{{"from", e.From}, {"to", e.To}} {
			if v := t.Get(end.key); t.Kind == source.Map &&
				(v == nil || v.Kind == source.Null || v.Kind == source.String && strings.TrimSpace(end.id) == "") {
				o.r.Error(t, "", "edge.end_missing", message.Message{}, "an edge has no %s", end.key)
			}
		}
		f.finish()
		g.Edges = append(g.Edges, e)
	}
}
