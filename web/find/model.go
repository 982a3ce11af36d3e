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
	Title string
	Hits  []kit.Link
}
