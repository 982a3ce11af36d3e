package timeline

import (
	"slices"

	"github.com/kairosd/kairosd/web/kit"
)

// Timeline is the steps of a run over time: one table, each row with a bar.
type Timeline struct {
	Counts  []kit.Link // by state; each filters
	Windows []kit.Link // what part of the run is shown
	Follow  *kit.Link  // goes along with what runs
	Chain   string     // the critical path in words
	Idle    *kit.Link  // shows or cuts idle time
	Outside string
	// SortTook and SortStatus order the rows, or take their order back.
	SortTook, SortStatus kit.Link
	Ticks                []Tick
	Cuts                 []Cut
	Rows                 []StepRow
	Pages                kit.RowPages
}

// Marked reports that a row shows how long its step usually takes.
func (t Timeline) Marked() bool {
	return slices.ContainsFunc(t.Rows, func(r StepRow) bool { return r.Median != "" })
}

// StepRow is one visit of a node in the timeline, or several in one row.
type StepRow struct {
	Name     string
	Href     string
	Kind     string
	Notes    string
	Due      *Countdown // that its notes end with
	Waits    string     // the reasons of its waits, for those who cannot see the bars
	Status   kit.Status
	Selected bool
	Dim      bool
	Sub      bool
	Critical bool
	Took     string
	Since    int64
	Bars     []Bar
	Labels   []BarLabel
	Median   string // where a mark shows how long it usually takes; empty: unknown
	// Fold shows or hides what is below the row.
	Fold *kit.Link
	Open bool
	// Items names the shown items of an opened foreach, ItemPages leads to the others.
	Items     string
	ItemPages []kit.Link
}

// Bar is a segment of a timeline row; positions are percent of the axis.
type Bar struct {
	X, W, Y, H string
	Class      string
	Hatch      bool
	Notch      string // where a notch is, or ""
	Diamond    string // where a diamond is, or ""
}

// BarLabel is a text among the bars of a row; Due is a time that it ends with.
type BarLabel struct {
	X, Anchor, Text string
	Due             *Countdown
}

// Countdown is a time in ms that a page counts down to, and what is left of it.
type Countdown struct {
	Until int64
	Left  string
}

// Tick is a mark on the time axis; choosing it sets the window.
type Tick struct{ X, Label, Href, Does string }

// Cut is idle time that the axis leaves out.
type Cut struct{ X, W, Label, Text string }
