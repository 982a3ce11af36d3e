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

// Why is the band that reports what is wrong and what acting will do.
type Why struct {
	Class    string
	Headline string
	Message  string
	Then     string
	Items    []string
	Links    []kit.Link
	// Conditions have to be met before the run continues.
	Conditions []Condition
	// Failure is the card of a failed run; nil: the run has not failed.
	Failure *Failure
	// Addresses are those in the message.
	Addresses []string
}

// tint is the class of its note: that of a failure, unless it is something else.
func (w Why) tint() string { return cmp.Or(w.Class, "bad") }

// Condition is one thing that has to be so; Mark reports whether it is, Seen what there
// is to see of it.
type Condition struct {
	Mark kit.Status
	Text string
	Seen []string
	Link kit.Link
}

// RunPage is one run.
type RunPage struct {
	kit.Shell
	Way       kit.Crumbs
	Head      Head
	Approvals []approval.Card
	Views     []kit.Link
	Pane      Pane
}

// Head is what stands above the views.
type Head struct {
	record.Refresh
	ID, Title     string
	FaviconPath   string // icon of the tab that goes with the state
	Status        kit.Status
	Plan, Version kit.Link
	Sub           string
	Ended         kit.Time
	// Primary is a resume with its variants; nil: the first of the actions is the primary one.
	Primary *kit.SplitButton
	Actions []kit.Link
	More    []kit.Link // actions that are requested less often
	Why     *Why
	Answer  string // what the steps of a step plan add up to
	Facts   []kit.Fact
	Notes   []part.Note
	Summary string
}

// Pane is one view with all that belongs to it. Choosing a view or a step swaps it.
type Pane struct {
	View View
	// Values can be searched and unfolded: they do not follow events.
	Values    templ.Component
	Inspector *step.Inspector
	Split     bool // there is room for a step beside the view
	Reading   bool // the view is read: what is wrong with the run takes one line above it
}

// View is the part of a view that follows events, and what comes along with it.
type View struct {
	record.Refresh
	Live      templ.Component
	Graph     *graph.Graph    // small, below the view
	Above     templ.Component // forms above the view, which do not follow events
	Inspector *step.Inspector // what the view itself has beside it; nil: the chosen step
}

// Values are the input and the output of a run.
type Values struct {
	Find   *kit.FindForm
	Blocks []kit.Block
}
