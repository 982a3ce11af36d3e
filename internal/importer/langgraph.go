package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// langGraph converts a graph as get_graph().to_json() of LangGraph writes it. The functions of its
// nodes are not part of the file. A model that calls tools in a loop becomes the steps of a router
// graph. Any other node must be written by hand.
func langGraph(id string, root node) *draft {
	g := langGraphFile{draft: newDraft(id), ids: map[string]string{}}
	for _, n := range root.get("nodes").items() {
		g.nodes = append(g.nodes, first(n, "id", "name").text())
	}
	for _, e := range root.get("edges").items() {
		g.edges = append(g.edges, langEdge{from: first(e, "source", "start").text(), to: first(e, "target", "end").text(),
			label: e.get("data").text(), conditional: e.get("conditional").text() == "true", line: e.line()})
	}
	agent, tools := g.loop()
	for _, name := range g.nodes {
		switch {
		case begins(name), ends(name):
		case name == agent:
			g.ids[name] = g.add("router", planner.Node{Type: walk.TypeRouter})
		case name == tools:
			g.ids[name] = g.add("tools", planner.Node{Type: walk.TypeTools})
			g.generator = g.add("generator", planner.Node{Type: walk.TypeGenerator})
		default:
			n := g.todo(root.get("nodes").line(), "node %s is a function: write what it does", name)
			n.MaxVisits = g.visits(name)
			g.ids[name] = g.add(name, n)
		}
	}
	g.connect(agent, tools)
	return g.draft
}

type langGraphFile struct {
	*draft
	nodes     []string
	edges     []langEdge
	ids       map[string]string // of the steps, by the names of nodes
	generator string            // step that answers after the tools; empty if there is none
}

type langEdge struct {
	from, to, label string
	conditional     bool
	line            int
}

func begins(name string) bool { return strings.Trim(strings.ToLower(name), "_") == "start" }
func ends(name string) bool   { return strings.Trim(strings.ToLower(name), "_") == "end" }

// loop finds a node that calls tools until it has an answer, and the node of the tools.
func (g *langGraphFile) loop() (agent, tools string) {
	for _, e := range g.edges {
		back := slices.ContainsFunc(g.edges, func(b langEdge) bool { return b.from == e.to && b.to == e.from && !b.conditional })
		if e.conditional && back && strings.Contains(strings.ToLower(e.to), "tool") {
			return e.from, e.to
		}
	}
	return "", ""
}

// visits returns the maximum number of iterations of a node: more than one if it can be reached again.
func (g *langGraphFile) visits(name string) int {
	seen := map[string]bool{}
	queue := []string{name}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, e := range g.edges {
			switch {
			case e.from != at:
			case e.to == name:
				return 25 // the default recursion limit of LangGraph
			case !seen[e.to]:
				seen[e.to] = true
				queue = append(queue, e.to)
			}
		}
	}
	return 0
}

// connect adds the edges.
func (g *langGraphFile) connect(agent, tools string) {
	if g.generator != "" {
		g.graph.Edges = append(g.graph.Edges,
			planner.Edge{From: g.ids[agent], To: g.ids[tools], Condition: "expr: size(last.selectedTools) > 0"},
			planner.Edge{From: g.ids[agent], To: g.generator, Condition: "default"},
			planner.Edge{From: g.ids[tools], To: g.generator})
	}
	for _, e := range g.edges {
		from, to := g.ids[e.from], g.ids[e.to]
		switch {
		case e.from == agent && (e.to == tools || ends(e.to)), e.from == tools:
			continue // the edges of the router
		case begins(e.from):
			g.start(to, e)
			continue
		case e.from == agent:
			from = g.generator
		}
		if ends(e.to) {
			to = walk.EndName
		}
		if from == "" || to == "" {
			g.note(e.line, "the edge from %s to %s leads to no node", e.from, e.to)
			continue
		}
		edge := planner.Edge{From: from, To: to}
		if e.conditional {
			edge.Condition = fmt.Sprintf("last==%s", slug(strings.Trim(e.label, "_"), slug(strings.Trim(e.to, "_"), "next")))
			g.note(e.line, "the edge from %s to %s has a condition in code: check %q", e.from, e.to, edge.Condition)
		}
		if to == walk.EndName && !e.conditional {
			continue // a branch ends after a step without edges
		}
		g.graph.Edges = append(g.graph.Edges, edge)
	}
}

// start sets the first step.
func (g *langGraphFile) start(id string, e langEdge) {
	if id == "" || g.graph.Start != "" {
		g.note(e.line, "the start leads to several nodes, or to none: %s is left out", e.to)
		return
	}
	g.graph.Start = id
}
