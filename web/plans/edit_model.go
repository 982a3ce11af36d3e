package plans

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/part/plan"
)

// PlanForm is the model of the plan editor.
type PlanForm struct {
	kit.Shell
	Heading  string
	Source   string
	Reason   string
	Post     string
	Idem     string
	Problems []PlanProblem
	// Base and BaseNumber are the hash and the number of the newest version when the form was made.
	// If a newer version exists now, Stale is the message and StaleDiff the address of its changes.
	Base, BaseNumber, Stale, StaleDiff string
	// Began and Now are set for a stale form. Theirs and Yours are the changes of other users and
	// of this user since the version Began.
	Began, Now     string
	Theirs, Yours  []kit.DiffLine
	Checked, Valid bool
	Trouble        string // error of an action other than saving
	Graph          *graph.Graph
	Unsafe         []PlanProblem // non-idempotent steps
	Choices        []kit.Option  // tools and agents for the snippet
	Snippet        string        // step to copy into the plan; empty if none was requested
	TryInput       string
	Examples       []kit.Link    // for a new plan
	Numbered       [][]plan.Span // text with line numbers
}

// PlanProblem is a problem of the text. Fix identifies the change that solves it, and Change
// describes it. Both are empty if kairosd suggests none.
type PlanProblem struct {
	kit.ProblemRow
	Error       bool
	Fix, Change string
}
