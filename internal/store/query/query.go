// Package query lists, searches, and counts what is stored. It only reads. Where a
// filter has too many combinations for one generated query each, the statement is
// put together from constant pieces, and every value is bound.
package query

import (
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// Lists are the lists of an open database. They are safe for concurrent use.
type Lists struct {
	db     *core.DB
	bounds Bounds // of searches that no index serves
}

// New gives the lists of a database.
func New(db *core.DB, bounds Bounds) *Lists { return &Lists{db, bounds} }
