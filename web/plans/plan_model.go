package plans

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/part/plan"
	"github.com/kairosd/kairosd/web/part/run"
)

// VersionRow is a row of the version list.
type VersionRow struct {
	Number, Href, Hash, Author, Origin, Reason string
	At                                         kit.Time
	Current                                    bool   // shown on this page
	InUse                                      bool   // used by new runs
	Diff                                       string // address of the comparison with the previous version
	Restore                                    string
	Runs, RunsHref, Rate                       string
	Bad                                        bool
	Active, ActiveHref                         string // active runs of the version
}

// PlanPage is the model of the page of a version.
type PlanPage struct {
	kit.Shell
	PlanHead
	PlanState
	Overview
	Flow
	Source
	Tab      string // selected tab; empty for the overview
	Tabs     []kit.Link
	Versions []VersionRow
	Input    []InputRow
	Schema   kit.Block // set if the input is not an object
	Rights   []kit.Fact
	Tools    []ToolRight
}

// PlanHead is the name of a version, its author, and the available actions.
type PlanHead struct {
	Key, Name, Description string
	Number, Hash           string
	Author, Size           string // user who saved it, and number of steps
	Saved                  kit.Time
	Found                  []kit.Link // owner and labels
	Schedules              []Scheduled
	Settings               []kit.Fact // what the version sets for its runs
	Profiles               []kit.Link // to the version with each profile; empty: it declares none
	Actions, More          []kit.Link
}

// PlanState describes whether new runs of a plan start, and where the plan is used.
type PlanState struct {
	Older     *kit.Link // link to the current version, on the page of another version
	Draft     bool
	DraftHref string // address of its draft; empty if none
	Archived  bool
	Paused    string // when, by whom, and why the plan was paused
	Next      kit.Time
	NextHref  string     // next scheduled run; empty if none
	UsedBy    []kit.Link // plans that run this plan
}

// Overview contains the key figures and the recent runs of a plan.
type Overview struct {
	Figures []Figure
	Scatter *Scatter // nil if the plan has not run
	Runs    []run.Row
	AllRuns string
	Start   kit.Link
}

// Flow contains the results of runs by step: the graph and one page of the step table.
type Flow struct {
	Graph     *graph.Graph
	Steps     []FlowRow
	StepPages kit.RowPages
	Chosen    *FlowNode
}

// Source is one page of a plan's text.
type Source struct {
	Lines     [][]plan.Span
	FirstLine int // number of the first line in Lines
	LinePages kit.RowPages
	Download  string
}

// FlowRow is a step of a plan with the results of its runs.
type FlowRow struct {
	ID, Href, Action, Effect         string
	Runs, Failed, P50, P95, Attempts string
	// FailedBar and TimeBar are the widths of bars: the share of failures, and the share in the
	// total time.
	FailedBar, TimeBar, Time string
	Bad, Current             bool
}

// Figure is a key figure of a plan.
type Figure struct {
	Title, Value, Remark, Href string
	Bad                        bool
	// Parts are the cells of a stacked bar.
	Parts []run.Cell
}

// Scatter is a plot of the durations of recent runs, with marks for new versions.
type Scatter struct {
	Label, Remark string
	Dots          []Dot
	Lines         []ScatterLine
	Marks         []ScatterLine
	From, To      kit.Time
	Legend        []kit.Status
}

// Dot is a run in a scatter plot. X and Y are in percent, and Path is its shape.
type Dot struct{ X, Y, Class, Path, Title string }

// ScatterLine is a labeled line at a position in percent.
type ScatterLine struct{ At, Text string }

// FlowNode is the panel of the selected step.
type FlowNode struct {
	ID, Close             string
	Facts                 []kit.Fact
	Failures, Slow        []run.StepHit
	All, Failing, Slowest string
}

type InputRow struct {
	Name, Type, About, Choice, Default string
	Required                           bool
}

// ToolRight is a tool that a plan calls, with its permission.
type ToolRight struct{ Name, Href, Effect, Text, Steps string }

// RestorePage is the model of the page that confirms restoring an earlier version.
type RestorePage struct {
	kit.ConfirmPage
	Base, Diff string
	Nothing    bool // already the current version
}

// Scheduled is a schedule of the plan, with its next slot.
type Scheduled struct {
	Link kit.Link
	Next kit.Time
}
