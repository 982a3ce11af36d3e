// Package circuit shows the circuit breakers of tools and providers: whether they allow calls, why
// not, and until when.
package circuit

import "github.com/kairosd/kairosd/web/kit"

// List contains the circuits of a tool or a provider whose latest calls failed.
type List struct {
	Here    string // address of the page
	PerHost bool
	Rule    string // the condition that opens a circuit
	Rows    []Row
}

// Open is a circuit of a tool that something waits for.
type Open struct {
	Name, Href string
	Row
}

// Row is one circuit.
type Row struct {
	Part, Why, Failed, Error string
	State                    kit.Status
	Since, ErrorAt           kit.Time
	Until                    Countdown // empty if the circuit is not open
	Action                   kit.Link
}

// Countdown is a remaining time. At is its end in Unix milliseconds.
type Countdown struct {
	Text string
	At   int64
}
