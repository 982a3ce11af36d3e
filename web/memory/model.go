package memory

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/query"
)

// MemoryPage is the model of the session list, and of the memory of a session.
type MemoryPage struct {
	kit.Shell
	Bar query.Bar
	// Error explains why the filter is invalid.
	Error, Suggestion string

	Owner    string // empty for the user's own sessions
	Session  string
	Sessions []MemorySessionRow
	Items    []MemoryRow
	More     string // address of the next page
	Forget   string // address of the form that clears the memory; empty if not allowed
	Back     string
	Example  string // example of a session name
}

// MemorySessionRow is a row of the session list.
type MemorySessionRow struct {
	Name, Href, Exchanges string
	Last                  kit.Time
}

// MemoryRow is an exchange in a session.
type MemoryRow struct {
	Asked, Answered string
	Run             kit.Link
	At              kit.Time
}
