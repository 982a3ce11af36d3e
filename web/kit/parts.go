package kit

import (
	"net/url"
)

// Notice is a message that every page shows while it applies.
type Notice struct {
	Bad             bool
	Text, Href, Act string
}

// Option is a choice of a select.
type Option struct {
	Value, Text string
	Selected    bool
	Disabled    bool
}

// DiffLine is a line of a difference; Sign is "+", "-" or blank, and "…" where
// lines that are the same are left out.
type DiffLine struct{ Sign, Text, Class string }

// EventRow is one journal row or audit event.
type EventRow struct {
	Seq, What, Where, Who, Text string
	Href                        string // of what it is about
	At                          Time
	Status                      Status
}

// FilterTerm is a key of the filter with an example.
type FilterTerm struct{ At, Key, Does, Example string }

// Href is the list that the example selects.
func (f FilterTerm) Href() string { return f.At + "?q=" + url.QueryEscape(f.Example) }
