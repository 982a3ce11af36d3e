// Package query lists, searches, and counts stored data. It only reads. If a filter has too many
// combinations for one generated query each, the package combines constant parts into a statement
// and binds every value.
package query

import (
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// Lists reads the lists of an open database. It is safe for concurrent use.
type Lists struct {
	db   *core.DB
	rows int // largest number of rows that a request reads
}

// New returns the lists of a database. A request reads at most rows rows.
func New(db *core.DB, rows int) *Lists { return &Lists{db, rows} }

// SummaryReader reads totals and choices: outcomes of runs, notes, and values to choose from.
type SummaryReader struct{ db *core.DB }

// Readers contains a reader for each subject.
type Readers struct {
	*RunReader
	*PlanReader
	*JournalReader
	*MemoryReader
	*ScheduleReader
	*SignalReader
	*BudgetReader
	*SmallReader
	*SummaryReader
}

// ReadersOf returns the readers of a database.
func ReadersOf(db *core.DB) Readers {
	return Readers{&RunReader{db}, &PlanReader{db}, &JournalReader{db}, &MemoryReader{db}, &ScheduleReader{db}, &SignalReader{db},
		&BudgetReader{db},
		&SmallReader{db},
		&SummaryReader{db}}
}
