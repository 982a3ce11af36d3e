package view

// LineagePage is the family of a run.
type LineagePage struct {
	Shell
	Run   Link
	Plan  string
	Roots []LineageNode
	More  string
}

// LineageNode is a run and what came from it.
type LineageNode struct {
	Run      Link
	How      string // how it came from the run above
	Status   Status
	At       Time
	Headline string
	Compare  string
	Below    []LineageNode
}
