package run

import (
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/run/timeline"
)

// Failure is the card of a failed run: what happened, what differs from the last successful
// run, and what a resume would do.
type Failure struct {
	Title string
	Raw   string // the error as it was recorded; empty: the title has it
	Tags  []kit.Tag
	// Step leads to the step that failed; Bars are its attempts and waits.
	Step kit.Link
	Took string
	Bars []timeline.Bar
	// Similar leads to the runs that failed the same way; empty: there are no others.
	Similar kit.Link
	// Good is the last successful run, and Compare puts both side by side.
	Good, Compare kit.Link
	Differences   []Difference
	See           []kit.Link
	Resume        *Consequence // nil: it cannot be resumed
	Items         []string     // who acknowledged it
	Addresses     []string     // in its error
}

// Difference is one thing that differs from the last successful run, or that is the same.
type Difference struct {
	Icon, Class string
	Term        string
	Text        string
	Link        kit.Link
}

// Consequence is what a resume would do, as a strip of steps and in numbers.
type Consequence struct {
	Refused bool // then Text is why, and Links are what helps
	Strip   []part.Cell
	Parts   []ConsequencePart
	Text    string // the same in a sentence, with what else is to know
	Links   []kit.Link
}

// ConsequencePart is how many steps are kept, run again, or run for the first time.
type ConsequencePart struct{ Class, Count, Text string }
