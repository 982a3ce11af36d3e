package view

import "github.com/kairosd/kairosd/web/part/circuit"

// GroupRow is a group of failed runs.
type GroupRow struct {
	Code, Node, Plan, Version string
	Href                      string // its runs
	Runs                      string
	First, Last               Time
	Headline                  string
	Newest                    Link
	One                       bool   // a single run: its own pages say more
	Resume                    string // address of the preview; empty: not allowed
	Ack                       string // address of taking note of it
	Ref                       string // its name in forms
	// Acked says that it was acknowledged before and has come back, Note with what.
	Acked, Note string
	// New says since what change failures like these are new, Compare and Good
	// lead to what differs.
	New           string
	Compare, Good Link
}

// BulkPage says what an act on many runs would do.
type BulkPage struct {
	Shell
	Heading, Sentence string
	Error             string
	Action, Query     string
	Runs              []string // chosen ones
	Count             string
	Refused           []string
	Button            string
	Danger            bool
	Canary, CanCanary bool
	Rate, Reason      string
	Idem, Digest      string
	First             Link
	Consequence       string
	Effects           []string
	Sample            []RunRow
	Empty             bool
	NeedsReason       bool
	CanLabel          bool
	Labels            string
	// What it may wait for: a time in a zone, a provider, and a circuit of a tool.
	// Circuits are those that are open for these runs.
	CanWait          bool
	At, Zone         string
	Providers, Tools []Option
	Circuits         []circuit.Open
	Back             string
}

// BulkProgress is an act on many runs under way, or over.
type BulkProgress struct {
	Shell
	ID, Heading string
	Status      Status
	Note        string
	Facts       []Fact
	Done        string // percent
	Label       string
	Items       []BulkRow
	Older       string
	CanStop     bool
	Idem        string
	Topic       string
	Filter      string
	Circuits    []circuit.Open // that it waits for
}

// BulkRow is one run of it.
type BulkRow struct {
	Status Status
	Run    Link
	Result Link
	Detail string
	At     Time
}

// BulkListPage lists acts on many runs.
type BulkListPage struct {
	Shell
	Rows []BulkListRow
}

// BulkListRow is one of them.
type BulkListRow struct {
	Href, Heading, Who, Count string
	Status                    Status
	At                        Time
}
