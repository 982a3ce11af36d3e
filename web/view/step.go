package view

// StepPage is one step as a page of its own.
type StepPage struct {
	Shell
	Run, RunHref, Plan string
	Inspector          Inspector
}
