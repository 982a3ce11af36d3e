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
	Checked  bool
	Graph    *Graph
}

// ProblemRow is one thing wrong with a plan.
type ProblemRow struct{ Severity, Where, Message, Suggestion string }
