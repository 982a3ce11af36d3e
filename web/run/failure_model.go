package run

import (
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/run/timeline"
)

// Failure is the card of a failed run: the failure, the differences from the last completed run,
// and the effect of a resume.
type Failure struct {
	Title string
	Raw   string // recorded error, or empty if Title contains it
	Tags  []kit.Tag
	// Step links to the failed step. Bars are its attempts and waits.
	Step kit.Link
	Took string
	Bars []timeline.Bar
	// Similar links to the runs that failed in the same way. It is empty if there are none.
	Similar kit.Link
	// Good links to the last completed run, and Compare to the comparison with it.
	Good, Compare kit.Link
	Differences   []Difference
	See           []kit.Link
	Resume        *Consequence // nil if the run cannot be resumed
	Items         []string     // acknowledgments
	Addresses     []string     // addresses in the error
}

// Difference is a fact that differs from the last completed run, or the list of equal facts.
type Difference struct {
	Icon, Class string
	Term        string
	Text        string
	Link        kit.Link
}

// Consequence is the effect of a resume, as a strip of steps and in numbers.
type Consequence struct {
	Refused bool // the resume is refused, Text is the reason, and Links are alternatives
	Strip   []part.Cell
	Parts   []ConsequencePart
	Text    string // additional information in sentences
	Links   []kit.Link
}

// ConsequencePart is the number of steps that are kept, repeated, or run for the first time.
type ConsequencePart struct{ Class, Count, Text string }
