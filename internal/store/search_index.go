package store

import (
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// A full-text index covers the status messages of failed runs and the labels of all runs. The
// messages of active and waiting runs change at every step. They are few, so they are read
// directly.

// wordsOf writes the index entry of one run again, in the transaction that changes it.
func (w *writer) wordsOf(rowID int64) error {
	// sqlc does not support the rowid of a full-text index.
	for _, text := range []string{core.DropWordsSQL, core.AddWordsSQL + " AND id = ?"} {
		if _, err := w.queries.ExecContext(w.ctx, text, rowID); err != nil {
			return err
		}
	}
	return nil
}
