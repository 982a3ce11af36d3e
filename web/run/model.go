package run

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/approval"
	"github.com/kairosd/kairosd/web/part/graph"
	part "github.com/kairosd/kairosd/web/part/run"
)

// Why is the band that says what is wrong and what acting will do.
type Why struct {
	Class    string
	Headline string
	Message  string
	Then     string
	Items    []string
	Links    []kit.Link
	// Conditions have to be met before the run goes on.
	Conditions []Condition
	// Addresses are those in the message.
	Addresses []string
}

// Condition is one thing that has to be so; Mark says whether it is, Seen what there
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
	ID, Short string
	Status    kit.Status
	Plan      kit.Link
	Version   kit.Link
	Sub       string
	Ended     kit.Time
	Actions   []kit.Link
	Why       *Why
	Answer    string // what the steps of a step plan add up to
	Facts     []kit.Fact
	Notes     []part.Note
	More      []kit.Link // acts that are asked for less often
	Views     []kit.Link
	View      string
	Timeline  *Timeline
	Inspector *Inspector
	Approvals []approval.Card
	Graph     *graph.Graph
	Events    *Events
	Blocks    []kit.Block
	Find      *kit.FindForm
	Log       *Log
	Related   []part.Row
	State     *StateView
	Handoffs  *Handoffs
	Summary   string
	// FaviconPath is the icon of the tab that goes with the state.
	FaviconPath string
	Refresh     string // address of this page's live part
	Topic       string
	Terminal    bool
}
