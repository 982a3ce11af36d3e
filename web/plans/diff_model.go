package plans

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/graph"
)

// DiffPage compares versions A and B of a plan.
type DiffPage struct {
	kit.Shell
	Plan, PlanHref string
	A, B           string
	Lines          []kit.DiffLine
	Added, Removed int
	Swap           string
	Same           bool
	Graph          *graph.Graph
	Steps          string // summary, such as the number of added steps
}
