package view

import "github.com/kairosd/kairosd/web/part/run"

// PlanRow is a plan in a list.
type PlanRow struct {
	Key, Href, Name, Version string
	Updated                  Time
	Stats                    PlanStats
	About                    string
	Paused                   bool
	Author                   string
	Owner                    Link
	Labels                   []Link
}

// PlanStats is how the last runs of a plan went.
type PlanStats struct {
	Strip        []run.Cell
	Label        string // the strip in words
	Last         Status
	LastHref     string
	LastAt       Time
	Rate, RateOf string
	Bad          bool
	FailedHref   string
	Median, Slow string
	Next         Time // when a run begins by itself; NextHref is empty: none does
	NextHref     string
}

// PlansPage is the plan list.
type PlansPage struct {
	Shell
	Query        string
	Rows         []PlanRow
	Drafts       []DraftRow // open ones
	Newer, Older string
	State        string
	States       []Link
	CanStart     bool
	CanWrite     bool
	Example      string // address of an editor with one in it
	// Error says what of the query is not understood.
	Error, Suggestion string
}
