package view

// StepRow is one visit of a node in the timeline.
type StepRow struct {
	Number   string
	Name     string
	Href     string
	Kind     string
	Notes    string
	Status   Status
	Selected bool
	Dim      bool
	Sub      bool
	Took     string
	Since    int64
	Bars     []Bar
}

// Bar is a segment of a timeline row; positions are percent of the span.
type Bar struct {
	X, W, Y, H string
	Class      string
}

// Tick is a mark on the time axis.
type Tick struct{ X, Label string }
