package view

// PlanForm is the editor.
type PlanForm struct {
	Shell
	Heading  string
	Source   string
	Reason   string
	Post     string
	Idem     string
	Problems []ProblemRow
	Saved    string
	// Base is the newest version when the form was made: its hash and its number.
	// Stale says that there is a newer one, StaleDiff shows what it changed.
	Base, BaseNumber, Stale, StaleDiff string
	Checked                            bool
	Graph                              *Graph
}

// ProblemRow is one thing wrong with a plan.
type ProblemRow struct{ Severity, Where, Message, Suggestion string }
