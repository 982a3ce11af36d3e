package store

import (
	"context"
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

func memoryParams(m domain.Memory, rowID int64) dbsqlc.MemoryInsertParams {
	return dbsqlc.MemoryInsertParams{RunID: rowID, Scope: core.ScopeOf(m.Owner, m.Session), Owner: m.Owner, Session: m.Session,
		Input: core.ClipMemory(m.Input), Output: core.ClipMemory(m.Output), At: core.Micros(m.At)}
}

// Forget removes what a session of an owner remembers and says how much that was;
// CodeNotFound if it remembers nothing. Journals keep what was said in their runs.
func (s entities) Forget(ctx context.Context, owner, session, reason string, actor domain.Actor) (n int64, err error) {
	if s.store.writer == nil {
		return 0, errReadOnly()
	}
	err = s.store.writer.do(op{apply: func(w *writer) ([]auditRow, error) {
		if n, err = w.q.MemoryForget(w.ctx, core.ScopeOf(owner, session)); err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, domain.Errorf(domain.CodeNotFound, "the session %q of %s remembers nothing", session, owner)
		}
		return []auditRow{{record: domain.AuditRecord{Action: "memory.forget", Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Object: "memory:" + owner + "/" + session, Reason: reason,
			Detail: domain.RawJSON(fmt.Sprintf(`{"exchanges":%d}`, n))}}}, nil
	}})
	return n, err
}
