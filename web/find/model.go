package find

import (
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
)

// FindPage lists the matches of a text.
type FindPage struct {
	kit.Shell
	Query     string
	Runs      []part.Row
	Kinds     []FindKind
	Headlines kit.Link
}

// FindKind holds the matches of one kind.
type FindKind struct {
	Title, One string // plural and singular name of the kind
	Actions    bool
	Hits       []kit.Link
}

// Suggestion is a suggestion of the jump box.
type Suggestion struct {
	kit.Link
	Kind string
}
