package start

import (
	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/web/kit"
)

// DemoPage is the page of the demonstration, in which kairosd is killed during a payment.
type DemoPage struct {
	kit.Shell
	Idem, Error string
	// Ready is set if a demonstration can begin. Asking is set if its payment is in doubt.
	Ready, Asking bool
	Progress      DemoProgress
	// Payment is the ledger entry of the in-doubt payment.
	Payment string
	// Done is the result of a completed demonstration, and Failed the error of a failed one.
	Done, Failed string
}

// DemoProgress holds the events so far and the entries of the ledger.
type DemoProgress struct {
	Moving bool // in progress, so that the region follows events
	Notes  []DemoNote
	Ledger []DemoPayment
}

// DemoNote is one event of a demonstration.
type DemoNote struct {
	At   kit.Time
	Text string
}

// DemoPayment is an entry of the ledger.
type DemoPayment struct{ Receipt, Amount, Calls, Key string }

// following returns the attributes that reload the progress on events, while it is Moving.
func following(p DemoProgress) templ.Attributes {
	if !p.Moving {
		return nil
	}
	return templ.Attributes{"data-live": "demo", "hx-get": "/demo", "hx-trigger": "k:demo from:body", "hx-swap": "morph:outerHTML"}
}
