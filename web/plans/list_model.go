package plans

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/query"
	"github.com/kairosd/kairosd/web/part/run"
)

// PlanRow is a row of the plan list.
type PlanRow struct {
	Key, Href, Name, Version string
	Updated                  kit.Time
	Stats                    PlanStats
	About                    string
	Paused                   bool
	Author                   string
	Owner                    kit.Link
	Labels                   []kit.Link
}

// PlanStats summarizes the latest runs of a plan.
type PlanStats struct {
	Strip        []run.Cell
	Label        string // text alternative of the strip
	Last         kit.Status
	LastHref     string
	LastAt       kit.Time
	Rate, RateOf string
	Bad          bool
	FailedHref   string
	Median, Slow string
	Next         kit.Time // start of the next scheduled run; NextHref is empty if none is scheduled
	NextHref     string
}

type PlansPage struct {
	kit.Shell
	Tabs         []kit.Link
	Bar          query.Bar
	Rows         []PlanRow
	Drafts       []DraftRow // open drafts
	Newer, Older string
	State        string
	CanStart     bool
	CanWrite     bool
	Example      string // address of the editor with an example
	// Error explains why the query is invalid.
	Error, Suggestion string
}

type DraftRow struct {
	Status                 kit.Status
	Request, Href          string
	Revision, Author, Plan string
	Error                  string
	At                     kit.Time
}
