package timeline

import (
	"slices"

	"github.com/kairosd/kairosd/web/kit"
)

// Timeline is the timeline of a run: a table in which each row has a bar.
type Timeline struct {
	Counts  []kit.Link // filters by state
	Windows []kit.Link // time ranges
	Follow  *kit.Link  // follows the active step
	Chain   string     // description of the critical path
	Idle    *kit.Link  // shows or hides idle time
	Outside string
	// SortTook and SortStatus sort the rows, or restore their order.
	SortTook, SortStatus kit.Link
	Ticks                []Tick
	Cuts                 []Cut
	Rows                 []StepRow
	Pages                kit.RowPages
}

// Marked reports whether a row marks the median duration of its step.
func (t Timeline) Marked() bool {
	return slices.ContainsFunc(t.Rows, func(r StepRow) bool { return r.Median != "" })
}

// StepRow is one step of the timeline, or several in one row.
type StepRow struct {
	Name     string
	Href     string
	Kind     string
	Notes    string
	Due      *Countdown // countdown at the end of Notes
	Waits    string     // reasons of its waits, for screen readers
	Status   kit.Status
	Selected bool
	Dim      bool
	Sub      bool
	Critical bool
	Took     string
	Since    int64
	Bars     []Bar
	Labels   []BarLabel
	Median   string // position of the median duration, or empty if unknown
	// Fold expands or folds the row.
	Fold *kit.Link
	Open bool
	// Items is the range of the shown items of an expanded foreach. ItemPages link to the others.
	Items     string
	ItemPages []kit.Link
}

// Bar is a segment of a row. Positions are in percent of the axis.
type Bar struct {
	X, W, Y, H string
	Class      string
	Hatch      bool
	Notch      string // position of a notch, or empty
	Diamond    string // position of a diamond, or empty
}

// BarLabel is a text between the bars of a row. Due is a countdown at its end, or nil.
type BarLabel struct {
	X, Anchor, Text string
	Due             *Countdown
}

// Countdown is the end of a countdown in Unix milliseconds, and the remaining time as text.
type Countdown struct {
	Until int64
	Left  string
}

// Tick is a mark on the time axis. Its link sets the time range.
type Tick struct{ X, Label, Href, Action string }

// Cut is idle time that the axis omits.
type Cut struct{ X, W, Label, Text string }
