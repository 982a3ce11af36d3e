package plans

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/part/plan"
)

// PlanForm is the editor.
type PlanForm struct {
	kit.Shell
	Heading  string
	Source   string
	Reason   string
	Post     string
	Idem     string
	Problems []PlanProblem
	// Base is the newest version when the form was made: its hash and its number.
	// Stale is set if there is a newer one, StaleDiff shows what it changed.
	Base, BaseNumber, Stale, StaleDiff string
	// Of a form that is stale: what the others and what the reader changed since the
	// version that the reader began with.
	Began, Now     string
	Theirs, Yours  []kit.DiffLine
	Checked, Valid bool
	Trouble        string // why something other than saving was not done
	Graph          *graph.Graph
	Unsafe         []PlanProblem // steps that cannot be repeated
	Choices        []kit.Option  // what a step may be shown of
	Snippet        string        // a step to be copied into the plan; empty: none was requested
	TryInput       string
	Examples       []kit.Link    // to begin with, of a plan that is new
	Numbered       [][]plan.Span // the text with line numbers
}

// PlanProblem is a problem of a text. Fix names the change that solves it, and Change shows it; both
// are empty if there is none.
type PlanProblem struct {
	kit.ProblemRow
	Error       bool
	Fix, Change string
}
