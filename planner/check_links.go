package planner

import (
	"strings"

	"github.com/kairosd/kairosd/planner/internal/foreign"
	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// needs resolves the names in needs: and links dependents.
func (k *compiler) needs() {
	seen := make([]int, len(k.p.Nodes)) // position of the needing node, plus one
	for i := range k.specs {
		s, n, key := &k.specs[i], &k.p.Nodes[i], "needs"
		if len(s.Race) > 0 {
			key = "race"
		}
		for at, name := range s.Needs {
			where := func() *source.Tree {
				list := s.field("needs")
				if list.Kind == source.List && at < len(list.Items) {
					return list.Items[at]
				}
				return list
			}
			if name == "" && s.step {
				continue // a step without id, reported when it was read
			}
			j, ok := k.resolve(name, where, s.ID, key)
			if !ok {
				continue
			}
			switch {
			case j == i:
				k.r.Error(where(), s.ID, "needs.cycle", message.New("remove it"), "step %s depends on itself", jsonvalue.Quote(s.ID))
				k.broken = true
			case seen[j] == i+1:
				k.r.Error(where(), s.ID, "needs.duplicate", message.New("name it once"), "%s lists step %s twice", linkWord(k.d, key),
					jsonvalue.Quote(name))
			default:
				seen[j] = i + 1
				n.Needs = append(n.Needs, j)
				k.p.Nodes[j].Dependents = append(k.p.Nodes[j].Dependents, i)
			}
		}
		if len(s.Needs) > 0 && !s.finally {
			k.p.UsesNeeds = true
		}
	}
}

// unknownCode is the error code of a name that refers to no step, by the key that holds the name.
var unknownCode = map[string]string{
	"needs": "needs.unknown",
	"race":  "needs.unknown",
	"start": "start.unknown",
	"from":  "edge.source_unknown",
	"to":    "edge.target_unknown",
}

// linkWord returns the key of a link as it is spelled in the document.
func linkWord(d *Document, what string) string {
	if what == "needs" && d.Steps != nil {
		return "dependencies"
	}
	return what
}

// resolve finds a node by id or map key.
func (k *compiler) resolve(name string, at func() *source.Tree, node, what string) (int, bool) {
	j, ok := k.names[name]
	switch {
	case !ok:
		k.broken = true
		suggestion := k.r.Suggest(name, func() []string { return keys(k.names) }, message.New("add the step, or correct the name"))
		if !k.r.Full() && insideOf(k.d, name) {
			suggestion = message.New("steps of a block can only name each other; write needs: or an edge for the step with do:")
		}
		k.r.Error(at(), node, unknownCode[what], suggestion,
			"%s refers to step %s, which does not exist", linkWord(k.d, what), jsonvalue.Quote(name))
		return 0, false
	case j < 0:
		k.broken = true
		k.r.Error(at(), node, "node.ambiguous", message.New("give the steps different ids and keys"),
			"%s refers to %s, which is the id of one step and the key of another", linkWord(k.d, what), jsonvalue.Quote(name))
		return 0, false
	}
	return j, true
}

// edges compiles the edges and adds each to its source step, in file order.
func (k *compiler) edges(g *Graph) {
	list := k.d.tree.Get("edges")
	fallback := make([]int, len(k.p.Nodes))         // position of a node's first fallback, plus one
	same := make([]map[string]bool, len(k.p.Nodes)) // conditions of a node's edges
	for i, e := range g.Edges {
		t := list.Items[i]
		if strings.TrimSpace(e.From) == "" || strings.TrimSpace(e.To) == "" {
			k.broken = true
			continue // reported when it was read
		}
		from, ok := k.edgeEnd(e.From, "from", t)
		to, ok2 := k.edgeEnd(e.To, "to", t)
		at := t
		if v := t.Get("condition"); v != nil {
			at = v
		}
		cond, err := k.condition(e.Condition, walk.ParseCondition)
		if err != nil {
			k.malformedEdge(err, at, e)
			if ok && ok2 { // the edge leads there in any case
				always, _ := k.condition("", walk.ParseCondition)
				k.p.Nodes[from].Out = append(k.p.Nodes[from].Out, walk.ProgramEdge{To: to, Position: i, Text: e.Condition, Cond: always})
				if to != walk.End {
					k.p.Nodes[to].Incoming++
				}
			}
			continue
		}
		k.comparedAsText(cond, at, e.From)
		if !ok || !ok2 {
			continue
		}
		text := strings.TrimSpace(e.Condition)
		switch {
		case cond.Fallback() && fallback[from] > 0:
			k.r.Warn(t, e.From, "edge.never_taken", message.New("give it a condition, or remove it"),
				"this edge is never taken, because an earlier edge from %s always is", jsonvalue.Quote(e.From))
		case cond.Fallback():
			fallback[from] = i + 1
		case same[from][text]:
			k.r.Warn(t, e.From, "edge.never_taken", message.New("change its condition, or remove it"),
				"this edge is never taken, because an earlier edge from %s has the same condition", jsonvalue.Quote(e.From))
		default:
			if same[from] == nil {
				same[from] = map[string]bool{}
			}
			same[from][text] = true
		}
		n := &k.p.Nodes[from]
		n.Out = append(n.Out, walk.ProgramEdge{To: to, Position: i, Text: e.Condition, Cond: cond})
		if to != walk.End {
			k.p.Nodes[to].Incoming++
		}
	}
}

// checkEntered reports steps that are activated in two ways.
func checkEntered(k *compiler) {
	for i := range k.specs {
		s, n := &k.specs[i], &k.p.Nodes[i]
		if n.WhenCond != nil && len(s.Needs) == 0 && n.Incoming > 0 {
			withoutNeeds(k.r, s)
		}
		if len(s.Needs) > 0 && n.Incoming > 0 {
			k.broken = true
			k.r.Error(s.field("needs"), s.ID, "needs.with_edges", message.New("keep the edges that lead here, or needs"),
				"step %s has both incoming edges and needs", jsonvalue.Quote(s.ID))
		}
	}
}

// malformedEdge reports a condition that does not parse. A condition that begins with the name of a
// step probably means output.<step>.
func (k *compiler) malformedEdge(err error, at *source.Tree, e Edge) {
	text := strings.TrimSpace(e.Condition)
	word := text
	if i := strings.IndexAny(text, ". \t<>=!"); i >= 0 {
		word = text[:i]
	}
	if _, ok := k.names[word]; ok && !k.r.Full() {
		suggestion := message.New("did you mean output.%s?", text)
		if strings.ContainsAny(text, "<>&|") {
			suggestion = message.New("did you mean expr: output.%s?", text)
		}
		k.r.Error(at, e.From, "condition.malformed", suggestion, "condition: %s is not a value; the output of the step is output.%s",
			jsonvalue.Quote(word), word)
		return
	}
	k.syntax(err, at, e.From, "condition")
}

func (k *compiler) edgeEnd(name, end string, t *source.Tree) (int, bool) {
	at := func() *source.Tree { return t.Get(end) }
	if name == walk.EndName && end == "to" {
		return walk.End, true
	}
	if _, known := k.names[name]; !known {
		if advice := foreign.End(name, end == "from"); !advice.IsZero() {
			k.broken = true
			k.r.Error(at(), "", unknownCode[end], advice, "%s refers to step %s, which does not exist", end, jsonvalue.Quote(name))
			return 0, false
		}
	}
	return k.resolve(name, at, "", end)
}

// roots finds the steps at which tokens start.
func (k *compiler) roots(start string) {
	if start != "" {
		at := func() *source.Tree { return k.d.tree.Get("start") }
		if j, ok := k.resolve(start, at, "", "start"); ok {
			if len(k.specs[j].Needs) > 0 {
				k.broken = true
				k.r.Error(at(), start, "start.with_needs", message.New("start at a step without needs"), "the start step %s has needs",
					jsonvalue.Quote(start))
			}
			k.p.Roots = []int{j}
		}
		return
	}
	var all, candidates []int
	for i := range k.p.Nodes {
		if k.specs[i].finally {
			continue
		}
		all = append(all, i)
		if n := &k.p.Nodes[i]; n.Incoming == 0 && len(k.specs[i].Needs) == 0 {
			candidates = append(candidates, i)
		}
	}
	k.p.Roots = candidates
	if k.broken || len(all) == 0 {
		return
	}
	switch {
	case len(candidates) == 0 && k.p.UsesNeeds && k.d.Graph == nil:
		// All steps depend on one another. The cycle is reported instead.
	case len(candidates) == 0:
		k.broken = !k.p.UsesNeeds
		k.r.Error(k.linksTree(), "", "graph.no_start", message.New("name the first step with start:"),
			"no start node found: every node has an incoming edge or needs (%s)", k.list(all))
	case len(candidates) > 1 && k.d.Graph != nil && len(k.d.Graph.Edges) == 0:
		k.p.UsesNeeds = true // independent steps
	case len(candidates) > 1 && !k.p.UsesNeeds && k.d.Graph != nil:
		k.broken = true
		k.r.Error(k.linksTree(), "", "graph.multiple_starts", message.New("name the first step with start:, or connect the others"),
			"multiple start nodes found: %s", k.list(candidates))
	}
}

// linksTree is the position of the nodes, for problems that concern all of them.
func (k *compiler) linksTree() *source.Tree {
	for i, key := range k.d.tree.Keys {
		if key.Text == "nodes" || key.Text == "steps" {
			return k.d.tree.Keys[i]
		}
	}
	return k.d.tree
}

// list names nodes for a message, ten at most.
func (k *compiler) list(ids []int) string {
	names := make([]string, 0, 11)
	for _, i := range ids[:min(len(ids), 10)] {
		names = append(names, k.name(i))
	}
	if len(ids) > 10 {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}
