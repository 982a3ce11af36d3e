package diagram

import (
	"fmt"
	"strings"

	"github.com/kairosd/kairosd/planner/walk"
)

// Mermaid returns the plan as a Mermaid flowchart. Nodes are numbered and every text is quoted, so
// that a name in a plan cannot add statements to the chart.
func Mermaid(p *walk.Program) string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for i := range p.Nodes {
		n := &p.Nodes[i]
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
		fmt.Fprintf(&b, "  n%d%s%s<br/>%s%s\n", i, open, mermaidText(n.ID), mermaidText(remark(n)), end)
	}
	pic := pictureOf(p, sizes{chars: 3})
	if len(pic.boxes) > len(p.Nodes) {
		fmt.Fprintf(&b, "  n%d([\"%s\"])\n", len(p.Nodes), mermaidText(walk.EndName))
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
		fmt.Fprintf(&b, "  n%d %s n%d\n", l.from, arrow, l.to)
	}
	return b.String()
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
// string.
func DOT(p *walk.Program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  rankdir=LR;\n  node [shape=box];\n", dotText(p.Name))
	for i := range p.Nodes {
		n := &p.Nodes[i]
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
		fmt.Fprintf(&b, "  n%d [label=%s%s];\n", i, dotText(n.ID, remark(n)), attributes)
	}
	pic := pictureOf(p, sizes{chars: 3})
	if len(pic.boxes) > len(p.Nodes) {
		fmt.Fprintf(&b, "  n%d [label=%s, shape=plaintext];\n", len(p.Nodes), dotText(walk.EndName))
	}
	for _, l := range pic.links {
		var attributes []string
		if l.text != "" {
			attributes = append(attributes, "label="+dotText(l.text))
		}
		if l.failed {
			attributes = append(attributes, "arrowhead=empty", "style=dashed")
		}
		fmt.Fprintf(&b, "  n%d -> n%d", l.from, l.to)
		if len(attributes) > 0 {
			fmt.Fprintf(&b, " [%s]", strings.Join(attributes, ", "))
		}
		b.WriteString(";\n")
	}
	b.WriteString("}\n")
	return b.String()
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
