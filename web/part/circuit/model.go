// Package circuit shows circuits of tools and providers: whether their calls are made, why
// not, and until when.
package circuit

import "github.com/kairosd/kairosd/web/kit"

// List is the circuits of a tool or a provider whose latest calls failed.
type List struct {
	Here    string // address of the page
	PerHost bool
	Rule    string // when one opens
	Rows    []Row
}

// Open is a circuit of a tool that something else waits for.
type Open struct {
	Name, Href string
	Row
}

// Row is one circuit.
type Row struct {
	Part, Why, Failed, Error string
	State                    kit.Status
	Since, ErrorAt           kit.Time
	Until                    Countdown // empty: it is not open
	Action                   kit.Link
}

// Countdown is how long something still takes; At is when it is over, in
// milliseconds.
type Countdown struct {
	Text string
	At   int64
}
