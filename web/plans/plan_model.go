package plans

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/part/plan"
	"github.com/kairosd/kairosd/web/part/run"
)

// VersionRow is a version of a plan.
type VersionRow struct {
	Number, Href, Hash, Author, Origin, Reason string
	At                                         kit.Time
	Current                                    bool   // the one that is shown
	InUse                                      bool   // the one that is followed from now on
	Diff                                       string // address of the difference to the version before
	Restore                                    string
	Runs, RunsHref, Rate                       string
	Bad                                        bool
	Active, ActiveHref                         string // what still runs on it
}

// PlanPage is one version of a plan.
type PlanPage struct {
	kit.Shell
	PlanHead
	PlanState
	Overview
	Flow
	Source
	Tab      string // which of Tabs is shown; empty: the overview
	Tabs     []kit.Link
	Versions []VersionRow
	Input    []InputRow
	Schema   kit.Block // of an input that is not an object
	Rights   []kit.Fact
	Tools    []ToolRight
}

// PlanHead is the name of a version, who saved it, and what the reader may do with it.
type PlanHead struct {
	Key, Name, Description string
	Number, Hash           string
	Author, Size           string // who saved it, and how many steps it has
	Saved                  kit.Time
	Found                  []kit.Link // owner and labels
	Actions, More          []kit.Link
}

// PlanState is whether new runs of a plan start, and where it is used.
type PlanState struct {
	Older     *kit.Link // set on a version that is not the current one: that one
	Draft     bool
	DraftHref string // its draft, if it has one
	Archived  bool
	Paused    string // since when, by whom, and why no new runs start
	Next      kit.Time
	NextHref  string     // the run that starts next at a set time; empty: none does
	UsedBy    []kit.Link // plans that run it
}

// Overview is how a plan does.
type Overview struct {
	Figures []Figure
	Scatter *Scatter // nil: the plan has not run
	Runs    []run.Row
	AllRuns string
	Start   kit.Link
}

// Flow is how runs went through a plan: its picture, and a page of its steps.
type Flow struct {
	Graph     *graph.Graph
	Steps     []FlowRow
	StepPages kit.RowPages
	Chosen    *FlowNode
}

// Source is a page of a plan's text.
type Source struct {
	Lines     [][]plan.Span
	FirstLine int // of Lines
	LinePages kit.RowPages
	Download  string
}

// FlowRow is a node of a plan with how its runs did.
type FlowRow struct {
	ID, Href, Does, Effect           string
	Runs, Failed, P50, P95, Attempts string
	// FailedBar and TimeBar are widths of bars: the share that failed, and its share of the time.
	FailedBar, TimeBar, Time string
	Bad, Current             bool
}

// Figure is a number that stands for how a plan does.
type Figure struct {
	Title, Value, Remark, Href string
	Bad                        bool
	// Parts are the parts of a whole, as widths of a bar.
	Parts []run.Cell
}

// Scatter shows how long the last runs took, one after another, with the versions that they ran.
type Scatter struct {
	Label, Remark string
	Dots          []Dot
	Lines         []ScatterLine
	Marks         []ScatterLine
	From, To      kit.Time
	Legend        []kit.Status
}

// Dot is a run: its place in percent, its role, and the path of its shape.
type Dot struct{ X, Y, Class, Path, Title string }

// ScatterLine is a line with its text, at a place in percent.
type ScatterLine struct{ At, Text string }

// FlowNode is the panel of a chosen node.
type FlowNode struct {
	ID, Close             string
	Facts                 []kit.Fact
	Failures, Slow        []run.StepHit
	All, Failing, Slowest string
}

// InputRow is a field of a plan's input.
type InputRow struct {
	Name, Type, About, Choice, Default string
	Required                           bool
}

// ToolRight is a tool that a plan calls, and whether it may.
type ToolRight struct{ Name, Href, Effect, Text, Steps string }

// RestorePage asks before an earlier version is made the current one.
type RestorePage struct {
	kit.ConfirmPage
	Base, Diff string
	Nothing    bool // it is the current one
}
