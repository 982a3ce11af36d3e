package home

import (
	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/approval"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/steps"
)

// HomePage is what is wrong, what needs a decision, and what runs, in sections.
type HomePage struct {
	kit.Shell
	Empty bool // nothing has run yet
	// Confirmation is the decision that led here.
	Confirmation *approval.Confirmation
	Steps        *steps.Card // nil: all first steps are done, or dismissed
	// Top are the sections above the columns, Main and Side those in them.
	Top, Main, Side []HomeSection
	New             bool // few runs have started yet
}

// SituationSection states how things stand. If all is well, Last is when a run failed last.
type SituationSection struct {
	Sentence, Last string
	Well           bool
}

// FiguresSection is how the last day went in figures.
type FiguresSection struct{ Figures []Figure }

// Figure is one of them: Of is what it was taken from, Change how it changed, Share how full it is.
type Figure struct {
	Title, Value, Remark string
	Of, Href             string
	Change               string
	Good, Bad            bool
	Spark, Share         string
}

// HomeSection is one part of home, refreshed separately.
type HomeSection struct {
	ID, Heading  string
	Topic, Every string // what it follows, and at most how often, in ms; empty: nothing
	Version      string // of its content
	Content      templ.Component
	Failed       string // why there is nothing to show
}

// AttentionSection is what is wrong.
type AttentionSection struct {
	Sum, AckAll  string
	Groups       []Group
	Restart      *RestartLine
	Acked        []AckRow
	AckedHead    string
	Waiting      []part.Row // only a person can continue them
	MoreWaiting  string
	Retrying     []part.Row // are tried again and again
	MoreRetrying string
	Silent       []part.Row // work without a sign of life
	MoreSilent   string
}

// RestartLine is what a crash of the daemon had in flight.
type RestartLine struct {
	At         kit.Time
	Text, Href string
}

// ApprovalsSection is what waits for a decision.
type ApprovalsSection struct {
	Sum, Oldest string
	Requests    []approval.Request
}

// NowSection is what runs.
type NowSection struct {
	Sum   []kit.Link
	Slots string
	Rows  []part.Row
	More  bool
}

// DaySection is the last 24 hours, per plan.
type DaySection struct {
	Sum        string
	Strips     []StripRow
	StripFrom  kit.Time
	MoreStrips string
}

// SystemLine is the state of the server.
type SystemLine struct{ Facts []SystemFact }

// SystemFact is a part of it; State is "", need or fail.
type SystemFact struct{ State, Text, Href string }

// SinceSection is what happened since the reader's last visit.
type SinceSection struct {
	Left     kit.Time
	Since    []kit.Link
	Acts     []kit.EventRow
	ActsHead string
	MoreActs string
	Notes    []RunNote
}

// RunNote is a note about a run.
type RunNote struct {
	Run, Plan kit.Link
	Who, Text string
	At        kit.Time
}

// StripRow is a plan's last 24 hours.
type StripRow struct {
	Plan   kit.Link
	Cells  []part.Cell
	Runs   string
	Spend  string
	OK     string // share of the runs that completed
	Role   string // of the share: fail, need, or empty
	P95    string
	Failed kit.Link
	Label  string
}

// AckRow is an acknowledged failure.
type AckRow struct {
	What, Plan, Who, Note, Runs string
	Text                        string // the newest of the runs
	Href, Back                  string
	At                          kit.Time
}

// GroupRow is a group of failed runs.
type Group struct {
	Spark                     []part.Cell // its runs that failed in 24 hours
	Seen                      bool        // show when it failed first
	Code, Node, Plan, Version string
	Href                      string // its runs
	Runs, Count               string
	First, Last               kit.Time
	Headline                  string
	Newest                    kit.Link
	One                       bool   // a single run: its own pages say more
	Resume                    string // address of the preview; empty: not allowed
	Ack                       string // address of acknowledging it
	// Acked is set if it was acknowledged before and has come back, Note is the note of then.
	Acked, Note string
	// New is the change since which failures like these are new, Compare and Good
	// lead to what differs.
	New           string
	Compare, Good kit.Link
}

// FailuresPage lists failure groups.
type FailuresPage struct {
	kit.Shell
	AckAll string
	Groups GroupList
}

// GroupList is the part of it that follows events. Terms choose a plan or a code.
type GroupList struct {
	Address      string
	Chips, Terms []kit.Link
	Rows         []Group
	Acked        []AckRow
}
