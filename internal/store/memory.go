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

// Forget removes what a session of an owner remembers and returns how many exchanges
// that were; CodeNotFound if it remembers nothing. Journals keep what was said in their
// runs.
func (tx *Tx) Forget(owner, session string) (int64, error) {
	n, err := tx.w.q.MemoryForget(tx.w.ctx, core.ScopeOf(owner, session))
	if err == nil && n == 0 {
		err = domain.Errorf(domain.CodeNotFound, "session %q of %s has no memory", session, owner)
	}
	return n, err
}
