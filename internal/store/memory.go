package store

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

func memoryParams(m domain.Memory, rowID int64) dbsqlc.MemoryInsertParams {
	return dbsqlc.MemoryInsertParams{RunID: rowID, Scope: core.ScopeOf(m.Owner, m.Session), Owner: m.Owner, Session: m.Session,
		Input: core.ClipMemory(m.Input), Output: core.ClipMemory(m.Output), At: core.Micros(m.At)}
}

// Forget deletes the memory of an owner's session and returns the number of exchanges. Journals of runs keep their content.
func (tx *Tx) Forget(owner, session string) (int64, error) {
	return tx.w.q.MemoryForget(tx.w.ctx, core.ScopeOf(owner, session))
}
