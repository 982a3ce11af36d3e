package memory

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/query"
)

// MemoryPage lists an owner's sessions, or what one of them remembers.
type MemoryPage struct {
	kit.Shell
	Bar query.Bar
	// Error is why the filter cannot be used.
	Error, Suggestion string

	Owner    string // empty: the reader's own
	Session  string
	Sessions []MemorySessionRow
	Items    []MemoryRow
	More     string // address of the next page
	Forget   string // address; empty: the reader may not
	Back     string
	Example  string // how a session is named
}

// MemorySessionRow is a session in a list.
type MemorySessionRow struct {
	Name, Href, Exchanges string
	Last                  kit.Time
}

// MemoryRow is one exchange.
type MemoryRow struct {
	Asked, Answered string
	Run             kit.Link
	At              kit.Time
}
