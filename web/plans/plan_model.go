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
	Flow
	Source
	Key, Name, Description string
	Version                string
	Older                  *kit.Link // set on a version that is not the current one: that one
	Draft                  bool
	DraftHref              string // its draft, if it has one
	Hash                   string
	Actions                []kit.Link
	Facts                  []kit.Fact
	Found                  []kit.Link // owner and labels
	Versions               []VersionRow
	Runs                   []run.Row
	Input                  []InputRow
	Schema                 kit.Block // of an input that is no object
	Rights                 []kit.Fact
	Tools                  []ToolRight
	Archived               bool
	Paused                 string // since when, by whom and why no run of it starts
	Stats                  PlanStats
	UsedBy                 []kit.Link // plans that run it
	AllRuns                string
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
	Bad, Current                     bool
}

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
type ToolRight struct{ Name, Href, Effect, Says, Steps string }

// RestorePage asks before an earlier version is made the current one.
type RestorePage struct {
	kit.ConfirmPage
	Base, Diff string
	Nothing    bool // it is the current one
}
