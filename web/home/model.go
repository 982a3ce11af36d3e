package home

import (
	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/approval"
	part "github.com/kairosd/kairosd/web/part/run"
)

// HomePage is what is wrong, what needs somebody, what runs: in bands.
type HomePage struct {
	kit.Shell
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
	Groups       []Group
	More         string
	Restart      *RestartLine
	Acked        []AckRow
	AckedHead    string
	Waiting      []part.Row // only a person can let them go on
	MoreWaiting  string
	Retrying     []part.Row // are tried again and again
	MoreRetrying string
	Silent       []part.Row // work without a sign of life
	MoreSilent   string
	Nothing      string // said where nothing is wrong
}

// RestartLine is what a crash of the daemon had in flight.
type RestartLine struct {
	At         kit.Time
	Text, Href string
}

// ApprovalsBand is what waits for a decision.
type ApprovalsBand struct {
	Sum   string
	Items []approval.Card
}

// NowBand is what runs.
type NowBand struct {
	Sum   []kit.Link
	Slots string
	Rows  []part.Row
	More  bool
}

// DayBand is the last 24 hours, per plan.
type DayBand struct {
	Strips     []StripRow
	StripFrom  kit.Time
	MoreStrips string
}

// SystemLine is how the installation is, in a line.
type SystemLine struct{ Facts []SystemFact }

// SystemFact is a part of it; State is "", need or fail.
type SystemFact struct{ State, Text, Href string }

// SinceBand is what happened since the reader's last visit.
type SinceBand struct {
	Left     kit.Time
	Since    []kit.Link
	Acts     []kit.EventRow
	ActsHead string
	MoreActs string
	Notes    []RunNote
}

// RunNote is what somebody wrote about a run.
type RunNote struct {
	Run, Plan kit.Link
	Who, Text string
	At        kit.Time
}

// StripRow is a plan's last 24 hours.
type StripRow struct {
	Plan   kit.Link
	Cells  []part.Cell
	OK     string
	Failed kit.Link
	Label  string
}

// AckRow is a failure that somebody took note of.
type AckRow struct {
	What, Plan, Who, Note, Runs string
	Says                        string // the newest of the runs
	Href, Back                  string
	At                          kit.Time
}

// GroupRow is a group of failed runs.
type Group struct {
	Code, Node, Plan, Version string
	Href                      string // its runs
	Runs                      string
	First, Last               kit.Time
	Headline                  string
	Newest                    kit.Link
	One                       bool   // a single run: its own pages say more
	Resume                    string // address of the preview; empty: not allowed
	Ack                       string // address of acknowledging it
	// Acked says that it was acknowledged before and has come back, Note with what.
	Acked, Note string
	// New says since what change failures like these are new, Compare and Good
	// lead to what differs.
	New           string
	Compare, Good kit.Link
}
