package kit

import (
	"net/url"
)

// Notice is a message that every page shows while it applies.
type Notice struct {
	Bad                  bool
	Text, Href, LinkText string
}

// Option is a choice of a select.
type Option struct {
	Value, Text string
	Selected    bool
	Disabled    bool
}

// DiffLine is a line of a diff. Sign is "+", "-", blank, or "…" in place of omitted unchanged
// lines.
type DiffLine struct{ Sign, Text, Class string }

// EventRow is one journal entry or audit event.
type EventRow struct {
	Seq, Event, Step, Actor, Text string
	Href                          string // address of the object of the event
	At                            Time
	Status                        Status
}

// FilterTerm is a filter key with an example.
type FilterTerm struct{ At, Key, Meaning, Example string }

// Href returns the address of the list with the example as its filter.
func (f FilterTerm) Href() string { return f.At + "?q=" + url.QueryEscape(f.Example) }
