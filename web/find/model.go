package find

import (
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
)

// FindPage is what a text may mean.
type FindPage struct {
	kit.Shell
	Query     string
	Runs      []part.Row
	Kinds     []FindKind
	Headlines kit.Link
}

// FindKind is what was found of one kind.
type FindKind struct {
	Title, One string // of all, and of one
	Actions    bool
	Hits       []kit.Link
}

// Suggestion is something that the jump box may mean, and its kind.
type Suggestion struct {
	kit.Link
	Kind string
}
