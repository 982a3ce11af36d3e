package home

import (
	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/approval"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/steps"
)

// HomePage is the model of the home page.
type HomePage struct {
	kit.Shell
	Empty bool // no run has started yet
	// Confirmation confirms the decision that redirected here.
	Confirmation *approval.Confirmation
	Steps        *steps.Card // nil if all getting-started steps are done or dismissed
	// Top are the sections above the columns. Main and Side are the columns.
	Top, Main, Side []HomeSection
	New             bool // few runs have started yet
}

// SituationSection summarizes the situation. If nothing needs attention, Well is set, and Last is a
// sentence with the time of the last failure.
type SituationSection struct {
	Sentence, Last string
	Well           bool
}

// FiguresSection contains the key figures of the last 24 hours.
type FiguresSection struct{ Figures []Figure }

// Figure is a key figure. Of is its sample, Change its change from the previous 24 hours, and Share
// the filled part of its bar.
type Figure struct {
	Title, Value, Remark string
	Of, Href             string
	Change               string
	Good, Bad            bool
	Spark, Share         string
}

// HomeSection is a section of home, which is refreshed separately.
type HomeSection struct {
	ID, Heading  string
	Topic, Every string // live topic, and minimum interval in ms; empty if not live
	Version      string // hash of the content
	Content      templ.Component
	Failed       string // error message; empty if the section was read
}

// AttentionSection lists the problems.
type AttentionSection struct {
	Sum, AckAll  string
	Groups       []Group
	Restart      *RestartLine
	Acked        []AckRow
	AckedHead    string
	Waiting      []part.Row // only a person can continue them
	MoreWaiting  string
	Retrying     []part.Row // retrying an attempt
	MoreRetrying string
	Silent       []part.Row // active, but without activity
	MoreSilent   string
}

// RestartLine describes the runs that a crash interrupted.
type RestartLine struct {
	At         kit.Time
	Text, Href string
}

// ApprovalsSection lists the pending decisions.
type ApprovalsSection struct {
	Sum, Oldest string
	Requests    []approval.Request
}

// NowSection lists the active runs.
type NowSection struct {
	Sum   []kit.Link
	Slots string
	Rows  []part.Row
	More  bool
}

// DaySection contains the results of the last 24 hours by plan.
type DaySection struct {
	Sum        string
	Strips     []StripRow
	StripFrom  kit.Time
	MoreStrips string
}

// SystemLine contains facts about the state of the server.
type SystemLine struct{ Facts []SystemFact }

// SystemFact is one fact. State is empty, need, or fail.
type SystemFact struct{ State, Text, Href string }

// SinceSection lists activity since the user's last visit.
type SinceSection struct {
	Left     kit.Time
	Since    []kit.Link
	Acts     []kit.EventRow
	ActsHead string
	MoreActs string
	Notes    []RunNote
}

type RunNote struct {
	Run, Plan    kit.Link
	Author, Text string
	At           kit.Time
}

// StripRow contains the results of a plan in the last 24 hours.
type StripRow struct {
	Plan   kit.Link
	Cells  []part.Cell
	Runs   string
	Spend  string
	OK     string // share of completed runs
	Role   string // color role of OK: fail, need, or empty
	P95    string
	Failed kit.Link
	Label  string
}

// AckRow is an acknowledged failure.
type AckRow struct {
	What, Plan, Actor, Note, Runs string
	Text                          string // message of the newest run
	Href, Back                    string
	At                            kit.Time
}

// Group is a failure group.
type Group struct {
	Spark                     []part.Cell // failures in the last 24 hours
	Seen                      bool        // show the time of the first failure
	Code, Node, Plan, Version string
	Href                      string // address of its runs
	Runs, Count               string
	First, Last               kit.Time
	Headline                  string
	Newest                    kit.Link
	One                       bool   // a single run, whose page shows the details
	Resume                    string // address of the preview; empty if not allowed
	Ack                       string // address of the form that acknowledges it
	// Acked is set if the failure was acknowledged and has recurred. Note is the note of that
	// acknowledgment.
	Acked, Note string
	// New is the change that preceded the first failure of the group. Compare links to the
	// comparison of versions, and Good to the last good run.
	New           string
	Compare, Good kit.Link
}

// FailuresPage is the model of the page of failure groups.
type FailuresPage struct {
	kit.Shell
	AckAll string
	Groups GroupList
}

// GroupList is its live region. Terms are links that filter by plan or code.
type GroupList struct {
	Address      string
	Chips, Terms []kit.Link
	Rows         []Group
	Acked        []AckRow
}
