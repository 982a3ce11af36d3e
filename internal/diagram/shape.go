package diagram

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/kairosd/kairosd/planner/walk"
)

func shapeOf(n *walk.ProgramNode) Shape {
	switch n.Type {
	case walk.TypeAgent:
		return ShapeAgent
	case walk.TypeLLM, walk.TypeGenerator:
		return ShapeModel
	case walk.TypeDecision, walk.TypeRouter:
		return ShapeDecision
	case walk.TypeApproval:
		return ShapeApproval
	case walk.TypePlan:
		return ShapePlan
	case walk.TypeWait:
		return ShapeWait
	case walk.TypeSet, walk.TypeLog, walk.TypeNoop, walk.TypeFail:
		return ShapeQuiet
	}
	return ShapeTool
}

// note returns the description of a node below its name.
func note(n *walk.ProgramNode) string {
	var text string
	switch {
	case n.Tool != "":
		text = n.Tool
	case n.Agent != "":
		text = n.Type + " " + n.Agent
	case n.Plan != "":
		text = "plan " + n.Plan
	case n.Block != nil:
		text = fmt.Sprintf("block of %d", len(n.Block.Program.Nodes))
	default:
		text = n.TypeName
	}
	if n.Foreach != nil {
		text += ", for each"
	}
	if n.MaxVisits > 1 {
		text += fmt.Sprintf(", ≤ %d×", n.MaxVisits)
	}
	return text
}

// outline returns the closed path of a shape, and the path of the lines inside or behind it.
func outline(s Shape, x, y, w, h float64) (closed, detail string) {
	box := func(r float64) string {
		return fmt.Sprintf(
			"M%s %sh%sa%[5]s %[5]s 0 0 1 %[5]s %[5]sv%[4]sa%[5]s %[5]s 0 0 1 -%[5]s %[5]sh-%[3]sa%[5]s %[5]s 0 0 1 -%[5]s "+
				"-%[5]sv-%[4]sa%[5]s %[5]s 0 0 1 %[5]s -%[5]sz",
			num(x+r),
			num(y),
			num(w-2*r),
			num(h-2*r),
			num(r),
		)
	}
	tip := min(h/2, 12)
	switch s {
	case ShapeAgent:
		return box(min(10, h/3)), ""
	case ShapeModel:
		return box(2), fmt.Sprintf("M%s %sv%s", num(x+4), num(y), num(h))
	case ShapeWait:
		return box(h / 2), ""
	case ShapeDecision:
		return fmt.Sprintf(
			"M%s %sh%sl%s %sl-%s %sh-%sl-%s -%sz",
			num(x+tip),
			num(y),
			num(w-2*tip),
			num(tip),
			num(h/2),
			num(tip),
			num(h/2),
			num(w-2*tip),
			num(tip),
			num(h/2),
		), ""
	case ShapeHandoff:
		tip := min(h/4, 8)
		return fmt.Sprintf(
			"M%s %sh%sl%s %sl-%s %sh-%sz",
			num(x),
			num(y),
			num(w-tip),
			num(tip),
			num(h/2),
			num(tip),
			num(h/2),
			num(w-tip),
		), ""
	case ShapeApproval:
		return fmt.Sprintf(
			"M%s %sh%sl%s %sl-%s %sh-%sl-%s -%sz",
			num(x+h/2),
			num(y),
			num(w-h),
			num(h/2),
			num(h/2),
			num(h/2),
			num(h/2),
			num(w-h),
			num(h/2),
			num(h/2),
		), ""
	case ShapeBlock:
		return box(8), ""
	case ShapePlan, ShapeGroup:
		return box(2), fmt.Sprintf("M%s %sv-3h%sv%sh-3", num(x+3), num(y), num(w), num(h))
	}
	return box(2), ""
}

// Bolt returns the path of the side-effect mark in a node of width w: in its upper right corner, or
// at the right end of a compact node.
func Bolt(x, y, w float64, compact bool) string {
	x, y = x+w-11, y+5
	if compact {
		x, y = x+3, y+1
	}
	return fmt.Sprintf("M%s %sl-5 7h3l-2 6 6-8h-3.5l2.5-5z", num(x), num(y))
}

// charWidth is a generous width of a character in a label.
const charWidth = 7.2

func labelSize(label string) (w, h float64) {
	return float64(len([]rune(label)))*charWidth + 8, 16
}

// edgeLabel returns a short text for a condition.
func edgeLabel(text string) string {
	text = strings.TrimSpace(visible(text))
	text = strings.TrimSpace(strings.TrimPrefix(text, "expr:"))
	if text == "" {
		return ""
	}
	return cut(text, 24)
}

func cut(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}

// visible replaces characters that would hide or reorder text, and collapses white space.
func visible(s string) string {
	var b strings.Builder
	blank := false
	for _, r := range s {
		if unicode.IsSpace(r) {
			blank = true
			continue
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
