package agents

import "github.com/kairosd/kairosd/web/kit"

// Pulse is how calls went in the last 24 hours.
type Pulse struct {
	Calls, Failed string // numbers; Failed is empty for none
	Share         string // of the last hour's calls, those that failed; empty: none was made
	Bad           bool   // the share asks for attention
	P95           string
	Last          kit.Time
	// Bars draw the calls of each half hour.
	Bars []PulseBar
	Text string // the picture in words
}

// PulseBar is a half hour with failures, in units of the drawing.
type PulseBar struct{ X, Y, Height, Class string }

// LimitBar is how much of a limit is used, as its server said last.
type LimitBar struct {
	Of, Text string
	Width    string // percent
	Bad      bool
	At       kit.Time
}

// FailureRow is a call that failed.
type FailureRow struct {
	At           kit.Time
	Code, Text   string
	Run, RunHref string
	Node         string
}

// CountRow is how often something happened.
type CountRow struct{ Name, Count string }
