package log

import (
	"github.com/a-h/templ"
	"github.com/kairosd/kairosd/web/kit"
)

// Log is a page of a run's log.
type Log struct {
	Run      string // address of the run's page
	Chunks   [][]LogLine
	Shown    string // range and total number of the displayed lines
	Pages    []kit.Link
	Levels   []kit.Link
	Older    *kit.Link  // loads older lines
	Times    []kit.Link // choices of the time format
	Step     string
	Find     string
	Level    string
	File     string // address of the whole log as text
	Filtered bool
	Newest   string // number of the newest line that passes the filter
	// Follow is set if the end of the log is displayed and more lines may follow.
	Follow bool
	Topic  string
}

// LogLine is one line of a step's log.
type LogLine struct {
	Number, Level, Step, Class string
	Text                       []Span
	Href                       string
	At                         kit.Time
	Marked                     bool // in the line range of the address
}

// Span is text with one style.
type Span struct{ Class, Text string }

// StepLog is the log of one attempt.
type StepLog struct {
	Title   string
	Lines   []LogLine
	Message string // progress, and what was dropped
	All     string // address of the log of the run
	// Topic and Refresh are set while the attempt runs, so that the log is updated.
	Topic, Refresh string
}

// liveLog returns htmx attributes that update the log of a running attempt.
func liveLog(l StepLog) templ.Attributes {
	if l.Topic == "" {
		return nil
	}
	return templ.Attributes{
		"data-live": l.Topic, "data-here": true, "hx-get": l.Refresh, "hx-trigger": "k:" + l.Topic + " from:body",
		"hx-target": "this", "hx-push-url": "false",
		"hx-swap": "morph:outerHTML", "hx-sync": "this:queue last"}
}
