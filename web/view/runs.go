package view

// RunRow is a run in a list.
type RunRow struct {
	ID, Short, Href string
	Status          Status
	Plan, PlanHref  string
	Version         string
	Headline        string
	Took            string
	Since           int64 // ms of its start while it runs, else 0
	Started         Time
	Strip           []Cell
}

// Cell is one step in the strip of a run's shape.
type Cell struct {
	X     string // percent
	W     string
	Y, H  string
	Class string
}

// RunsPage is the run list.
type RunsPage struct {
	Shell
	Query, Error, Suggestion string
	Chips                    []Link
	Rows                     []RunRow
	Count                    string
	Newest, Newer, Older     string
	Topic                    string
	// Views are saved queries; CanSave offers to keep this one.
	Views   []Link
	CanSave bool
	Saved   string // name under which this query is kept
	// Acts on many runs, if the reader may act.
	Acts    []Link
	All     string // "select all 27 that match"
	AllHref []Link
	Back    string
	Pill    string // address of how many are new
	Narrow  []Link // what removing a term would give
}
