package diagram

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/walk"
)

// Mermaid returns the plan as a Mermaid flowchart. Nodes are numbered and every text is quoted, so
// that a name in a plan cannot add statements to the chart. A block is a subgraph.
func Mermaid(p *walk.Program) string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	mermaid(&b, p, "n", "  ")
	return b.String()
}

// mermaid writes the nodes and links of a program. Names of nodes begin with prefix.
func mermaid(b *strings.Builder, p *walk.Program, prefix, indent string) {
	for i := range p.Nodes {
		n := &p.Nodes[i]
		text := mermaidText(n.ID) + "<br/>" + mermaidText(remark(n))
		if n.Block != nil {
			fmt.Fprintf(b, "%ssubgraph %s%d[\"%s\"]\n%s  direction LR\n", indent, prefix, i, text, indent)
			mermaid(b, n.Block.Program, fmt.Sprintf("%s%d_", prefix, i), indent+"  ")
			fmt.Fprintf(b, "%send\n", indent)
			continue
		}
		open, end := `["`, `"]`
		switch shapeOf(n) {
		case ShapeAgent:
			open, end = `("`, `")`
		case ShapeModel, ShapePlan:
			open, end = `[["`, `"]]`
		case ShapeDecision:
			open, end = `{{"`, `"}}`
		case ShapeApproval:
			open, end = `{"`, `"}`
		case ShapeWait:
			open, end = `(["`, `"])`
		}
		fmt.Fprintf(b, "%s%s%d%s%s%s\n", indent, prefix, i, open, text, end)
	}
	pic := pictureOf(p, sizes{chars: 3}, false)
	if len(pic.boxes) > len(p.Nodes) {
		fmt.Fprintf(b, "%s%s%d([\"%s\"])\n", indent, prefix, len(p.Nodes), mermaidText(walk.EndName))
	}
	for _, l := range pic.links {
		arrow := "-->"
		switch {
		case l.failed:
			arrow = "-.->"
		case l.need:
			arrow = "==>"
		}
		if l.text != "" {
			arrow += `|"` + mermaidText(cut(visible(l.text), 80)) + `"|`
		}
		fmt.Fprintf(b, "%s%s%d %s %s%d\n", indent, prefix, l.from, arrow, prefix, l.to)
	}
}

// mermaidText replaces every character with a meaning in Mermaid, HTML, or Markdown by a numeric
// entity.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range visible(s) {
		switch {
		case r >= 0x80 || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(" .,:=!_/@×≤-", r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// DOT returns the plan in the Graphviz language. Nodes are numbered, and every text is a quoted
// string. A block is a cluster.
func DOT(p *walk.Program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  rankdir=LR;\n", dotText(p.Name))
	if slices.ContainsFunc(p.Nodes, func(n walk.ProgramNode) bool { return n.Block != nil }) {
		b.WriteString("  compound=true;\n") // edges may end at a cluster
	}
	b.WriteString("  node [shape=box];\n")
	dot(&b, p, "n", "  ")
	b.WriteString("}\n")
	return b.String()
}

// dot writes the nodes and edges of a program. Names of nodes begin with prefix.
func dot(b *strings.Builder, p *walk.Program, prefix, indent string) {
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if n.Block != nil {
			fmt.Fprintf(b, "%ssubgraph cluster_%s%d {\n%s  label=%s;\n", indent, prefix, i, indent, dotText(n.ID, remark(n)))
			dot(b, n.Block.Program, fmt.Sprintf("%s%d_", prefix, i), indent+"  ")
			fmt.Fprintf(b, "%s}\n", indent)
			continue
		}
		attributes := ""
		switch shapeOf(n) {
		case ShapeAgent, ShapeWait:
			attributes = ", style=rounded"
		case ShapeDecision:
			attributes = ", shape=hexagon"
		case ShapeApproval:
			attributes = ", shape=diamond"
		case ShapePlan:
			attributes = ", shape=box3d"
		case ShapeModel:
			attributes = ", peripheries=2"
		}
		fmt.Fprintf(b, "%s%s%d [label=%s%s];\n", indent, prefix, i, dotText(n.ID, remark(n)), attributes)
	}
	pic := pictureOf(p, sizes{chars: 3}, false)
	if len(pic.boxes) > len(p.Nodes) {
		fmt.Fprintf(b, "%s%s%d [label=%s, shape=plaintext];\n", indent, prefix, len(p.Nodes), dotText(walk.EndName))
	}
	for _, l := range pic.links {
		var attributes []string
		if l.text != "" {
			attributes = append(attributes, "label="+dotText(l.text))
		}
		if l.failed {
			attributes = append(attributes, "arrowhead=empty", "style=dashed")
		}
		from, out := dotEnd(p, prefix, l.from)
		to, in := dotEnd(p, prefix, l.to)
		if out != "" {
			attributes = append(attributes, "ltail="+out)
		}
		if in != "" {
			attributes = append(attributes, "lhead="+in)
		}
		fmt.Fprintf(b, "%s%s -> %s", indent, from, to)
		if len(attributes) > 0 {
			fmt.Fprintf(b, " [%s]", strings.Join(attributes, ", "))
		}
		b.WriteString(";\n")
	}
}

// dotEnd returns the node at which an edge ends. For a block, that is a step in its cluster.
func dotEnd(p *walk.Program, prefix string, i int) (node, cluster string) {
	node = fmt.Sprintf("%s%d", prefix, i)
	if i < len(p.Nodes) && p.Nodes[i].Block != nil {
		inner, _ := dotEnd(p.Nodes[i].Block.Program, node+"_", 0)
		return inner, "cluster_" + node
	}
	return node, ""
}

// dotText returns lines of text as one quoted string.
func dotText(lines ...string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, line := range lines {
		if i > 0 {
			b.WriteString(`\n`)
		}
		b.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(visible(line)))
	}
	b.WriteByte('"')
	return b.String()
}
