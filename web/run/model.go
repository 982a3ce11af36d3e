package run

import (
	"cmp"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/approval"
	"github.com/kairosd/kairosd/web/part/graph"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/run/record"
	"github.com/kairosd/kairosd/web/run/step"
)

// Why is the section that shows the problem of the run, or what it waits for.
type Why struct {
	Class    string
	Headline string
	Message  string
	Then     string
	Items    []string
	Links    []kit.Link
	// Conditions must be met before the run starts or continues. When introduces them.
	When       string
	Conditions []Condition
	// Failure is the card of a failed run, or nil.
	Failure *Failure
	// Addresses are the addresses in the message.
	Addresses []string
}

// tint returns the CSS class of the note, which is that of a failure by default.
func (w Why) tint() string { return cmp.Or(w.Class, "bad") }

// Condition is a condition for the run to continue. Mark shows whether it is met. Seen contains
// details.
type Condition struct {
	Mark kit.Status
	Text string
	Seen []string
	Link kit.Link
}

// RunPage is the page of one run.
type RunPage struct {
	kit.Shell
	Crumbs    kit.Crumbs
	Head      Head
	Approvals []approval.Card
	Views     []kit.Link
	Pane      Pane
}

// Head is the head of the page, above the views.
type Head struct {
	record.Refresh
	ID, Title     string
	FaviconPath   string // favicon for the status of the run
	Status        kit.Status
	Plan, Version kit.Link
	Sub           string
	Ended         kit.Time
	// Primary is a resume with its variants, or nil if the first action is primary.
	Primary *kit.SplitButton
	Actions []kit.Link
	More    []kit.Link // less frequent actions
	Why     *Why
	Answer  string // combined result of a plan with an aggregation
	Facts   []kit.Fact
	Notes   []part.Note
	Undos   []UndoNote
	Summary string
}

// Pane contains a view and everything that belongs to it. Selecting a view or a step swaps the
// pane.
type Pane struct {
	View View
	// Values can be searched and expanded, so they are not updated live.
	Values    templ.Component
	Inspector *step.Inspector
	Split     bool // a step is shown next to the view
	Reading   bool // the view shows no steps, so the failure card above it takes one line
}

// View is the live region of a view, and what is updated with it.
type View struct {
	record.Refresh
	Live      templ.Component
	Graph     *graph.Graph    // small graph above the view
	Above     templ.Component // forms above the view, which are not updated live
	Inspector *step.Inspector // inspector of the view itself, or nil for the selected step
}

// Values are the input and output of a run.
type Values struct {
	Find   *kit.FindForm
	Blocks []kit.Block
}
