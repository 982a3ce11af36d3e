package plans

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/query"
	"github.com/kairosd/kairosd/web/part/run"
)

// PlanRow is a plan in a list.
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

// PlanStats is how the last runs of a plan went.
type PlanStats struct {
	Strip        []run.Cell
	Label        string // the strip in words
	Last         kit.Status
	LastHref     string
	LastAt       kit.Time
	Rate, RateOf string
	Bad          bool
	FailedHref   string
	Median, Slow string
	Next         kit.Time // when a run starts automatically; NextHref is empty: none does
	NextHref     string
}

// PlansPage is the plan list.
type PlansPage struct {
	kit.Shell
	Bar          query.Bar
	Rows         []PlanRow
	Drafts       []DraftRow // open ones
	Newer, Older string
	State        string
	CanStart     bool
	CanWrite     bool
	Example      string // address of an editor with one in it
	// Error is why the query is invalid.
	Error, Suggestion string
}

// DraftRow is a draft in a list.
type DraftRow struct {
	Status              kit.Status
	Request, Href       string
	Revision, Who, Plan string
	Error               string
	At                  kit.Time
}
