package store

import (
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// The words of runs are in a full text index: the headlines of those
// that failed and everybody's labels. Runs that work or wait change what they say
// at every step and are few; their headlines are read instead.

// wordsOf writes the words of one run anew, in the transaction that changes them.
func (w *writer) wordsOf(rowID int64) error {
	// sqlc does not know the rowid of a full-text index.
	for _, text := range []string{core.DropWordsSQL, core.AddWordsSQL + " AND id = ?"} {
		if _, err := w.queries.ExecContext(w.ctx, text, rowID); err != nil {
			return err
		}
	}
	return nil
}
