package view

import "github.com/kairosd/kairosd/web/part/graph"

// PlanForm is the editor.
type PlanForm struct {
	Shell
	Heading  string
	Source   string
	Reason   string
	Post     string
	Idem     string
	Problems []ProblemRow
	// Base is the newest version when the form was made: its hash and its number.
	// Stale says that there is a newer one, StaleDiff shows what it changed.
	Base, BaseNumber, Stale, StaleDiff string
	// Of a form that is stale: what the others and what the reader changed since the
	// version that the reader began with.
	Began, Now     string
	Theirs, Yours  []DiffLine
	Checked, Valid bool
	Trouble        string // why something other than saving was not done
	Graph          *graph.Graph
	Unsafe         []ProblemRow // steps that cannot be repeated
	Choices        []Option     // what a step may be shown of
	Snippet        string       // a step to be copied into the plan; empty: none was asked for
	TryInput       string
	Examples       []Link         // to begin with, of a plan that is new
	Numbered       [][]SourceSpan // the text with line numbers
}
