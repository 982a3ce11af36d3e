package view

import "github.com/a-h/templ"

// HomePage is what is wrong, what needs somebody, what runs: in bands.
type HomePage struct {
	Shell
	Empty bool
	Steps []FirstStep // where nothing has run yet
	Bands []Band
}

// FirstStep is one of a few things to do, with a command.
type FirstStep struct{ Text, Code string }

// Band is one part of home, refreshed by itself.
type Band struct {
	ID, Heading  string
	Topic, Every string // what it follows, and at most how often, in ms; empty: nothing
	Version      string // of what it says
	Content      templ.Component
	Failed       string // why there is nothing to show
}

// AttentionBand is what is wrong.
type AttentionBand struct {
	Sum, AckAll  string
	Groups       []GroupRow
	More         string
	Restart      *RestartLine
	Acked        []AckRow
	AckedHead    string
	Waiting      []RunRow // only a person can let them go on
	MoreWaiting  string
	Retrying     []RunRow // are tried again and again
	MoreRetrying string
	Silent       []RunRow // work without a sign of life
	MoreSilent   string
	Nothing      string // said where nothing is wrong
}

// RestartLine is what a crash of the daemon had in flight.
type RestartLine struct {
	At         Time
	Text, Href string
}

// ApprovalsBand is what waits for a decision.
type ApprovalsBand struct {
	Sum   string
	Items []ApprovalView
}

// NowBand is what runs.
type NowBand struct {
	Sum   []Link
	Slots string
	Rows  []RunRow
	More  bool
}

// DayBand is the last 24 hours, per plan.
type DayBand struct {
	Strips     []StripRow
	StripFrom  Time
	MoreStrips string
}

// SystemLine is how the installation is, in a line.
type SystemLine struct{ Facts []SystemFact }

// SystemFact is a part of it; State is "", need or fail.
type SystemFact struct{ State, Text, Href string }

// SinceBand is what happened since the reader's last visit.
type SinceBand struct {
	Left     Time
	Since    []Link
	Acts     []EventRow
	ActsHead string
	MoreActs string
	Notes    []RunNote
}

// RunNote is what somebody wrote about a run.
type RunNote struct {
	Run, Plan Link
	Note
}

// StripRow is a plan's last 24 hours.
type StripRow struct {
	Plan   Link
	Cells  []Cell
	OK     string
	Failed Link
	Label  string
}

// AckRow is a failure that somebody took note of.
type AckRow struct {
	What, Plan, Who, Note, Runs string
	Says                        string // the newest of the runs
	Href, Back                  string
	At                          Time
}
