package start

import (
	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/web/kit"
)

// DemoPage pulls the plug of a kairosd, and asks about the payment in doubt.
type DemoPage struct {
	kit.Shell
	Idem, Error string
	// Ready is set if a demonstration can begin, and Asking if one waits for an answer.
	Ready, Asking bool
	Progress      DemoProgress
	// Payment is the entry of the ledger that the question is about.
	Payment string
	// Done is what a demonstration that has ended came to, and Failed why it did not.
	Done, Failed string
}

// DemoProgress is what happened so far, and what the ledger contains.
type DemoProgress struct {
	Moving bool // it changes without anybody's action
	Notes  []DemoNote
	Ledger []DemoPayment
}

// DemoNote is one thing that happened.
type DemoNote struct {
	At   kit.Time
	Text string
}

// DemoPayment is an entry of the ledger.
type DemoPayment struct{ Receipt, Amount, Calls, Key string }

// following makes the progress fetch itself again while it moves.
func following(p DemoProgress) templ.Attributes {
	if !p.Moving {
		return nil
	}
	return templ.Attributes{"data-live": "demo", "hx-get": "/demo", "hx-trigger": "k:demo from:body", "hx-swap": "morph:outerHTML"}
}
