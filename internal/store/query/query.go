// Package query lists, searches, and counts what is stored. It only reads. Where a
// filter has too many combinations for one generated query each, the statement is
// put together from constant pieces, and every value is bound.
package query

import (
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// Lists are the lists of an open database. They are safe for concurrent use.
type Lists struct {
	db   *core.DB
	rows int // largest number of rows that a request reads
}

// New returns the lists of a database. A request reads at most this many rows.
func New(db *core.DB, rows int) *Lists { return &Lists{db, rows} }

// SummaryReader reads sums and choices: how runs ended, notes, values to choose from.
type SummaryReader struct{ db *core.DB }

// Readers read one subject each.
type Readers struct {
	*RunReader
	*PlanReader
	*JournalReader
	*MemoryReader
	*SmallReader
	*SummaryReader
}

// ReadersOf gives the readers of a database.
func ReadersOf(db *core.DB) Readers {
	return Readers{&RunReader{db}, &PlanReader{db}, &JournalReader{db}, &MemoryReader{db}, &SmallReader{db}, &SummaryReader{db}}
}
