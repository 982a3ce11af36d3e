package agents

import "github.com/kairosd/kairosd/web/kit"

// Pulse summarizes the calls of the last 24 hours.
type Pulse struct {
	Calls, Failed string // counts; Failed is empty if none failed
	Share         string // failed calls in the last hour; empty without calls
	Bad           bool   // Share needs attention
	P95           string
	Last          kit.Time
	// Bars are the half hours, oldest first.
	Bars []PulseBar
	Text string // text alternative of Bars
}

// PulseBar is the bar of a half hour, in SVG user units.
type PulseBar struct{ X, Y, Height, Class string }

// LimitBar is the used part of a provider's rate limit, as last reported by the provider.
type LimitBar struct {
	Of, Text string
	Width    string // in percent
	Bad      bool
	At       kit.Time
}

// FailureRow is a failed call.
type FailureRow struct {
	At           kit.Time
	Code, Text   string
	Run, RunHref string
	Node         string
}

// CountRow is a name with a count.
type CountRow struct{ Name, Count string }
