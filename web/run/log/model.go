package log

import (
	"github.com/a-h/templ"
	"github.com/kairosd/kairosd/web/kit"
)

// Log is what the steps of a run have logged.
type Log struct {
	Run      string // address of the run's page
	Chunks   [][]LogLine
	Shown    string // which lines of how many
	Pages    []kit.Link
	Levels   []kit.Link
	Older    *kit.Link  // shows more above
	Times    []kit.Link // how the time of a line is said
	Step     string
	Find     string
	Level    string
	File     string // address of the whole as text
	Filtered bool
	Newest   string // number of the newest line that passes the filter
	// Follow reports that the end of the log is shown and that more may come.
	Follow bool
	Topic  string
}

// LogLine is one line of a node's log.
type LogLine struct {
	Number, Level, Step, Class string
	Text                       []Span
	Href                       string
	At                         kit.Time
	Marked                     bool // it is in the range that the address names
}

// Span is a stretch of text with one look.
type Span struct{ Class, Text string }

// StepLog is what one attempt has logged.
type StepLog struct {
	Title   string
	Lines   []LogLine
	Message string // its progress, and what is not kept
	All     string // address of the log of the run
	// Topic and Refresh are set while it runs: then it is followed.
	Topic, Refresh string
}

// liveLog makes the log of a running attempt fetch itself again.
func liveLog(l StepLog) templ.Attributes {
	if l.Topic == "" {
		return nil
	}
	return templ.Attributes{
		"data-live": l.Topic, "data-here": true, "hx-get": l.Refresh, "hx-trigger": "k:" + l.Topic + " from:body",
		"hx-target": "this", "hx-push-url": "false",
		"hx-swap": "morph:outerHTML", "hx-sync": "this:queue last"}
}
