package app

import (
	"cmp"
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Memory contains the operations on the memory of sessions. A session belongs to the person who
// started its runs. Only admins see sessions of others.
type Memory struct{ *kernel }

type memoryStore interface {
	MemorySessions(ctx context.Context, owner string, p domain.Page) (domain.List[domain.MemorySession], error)
	Memories(ctx context.Context, owner, session string, p domain.Page) (domain.List[domain.Memory], error)
}

// Sessions lists the sessions of an owner that have a memory, by name. An empty owner means the
// principal.
//
// Errors: invalid (the position of a page), forbidden.
func (m *Memory) Sessions(ctx context.Context, by domain.Actor, owner string, p domain.Page) (domain.List[domain.MemorySession], error) {
	owner, err := m.owner(ctx, ListSessions, by, owner)
	if err != nil {
		return domain.List[domain.MemorySession]{}, err
	}
	return m.store.MemorySessions(ctx, owner, p)
}

// Exchanges lists the exchanges that a session remembers, newest first. An empty owner means the
// principal.
//
// Errors: invalid (the position of a page), forbidden.
func (m *Memory) Exchanges(ctx context.Context, by domain.Actor, owner, session string, p domain.Page) (domain.List[domain.Memory], error) {
	owner, err := m.owner(ctx, GetSession, by, owner)
	if err != nil {
		return domain.List[domain.Memory]{}, err
	}
	return m.store.Memories(ctx, owner, session, p)
}

func (m *Memory) owner(ctx context.Context, op Operation, by domain.Actor, owner string) (string, error) {
	if err := m.allow(ctx, op, by, ""); err != nil {
		return "", err
	}
	owner = cmp.Or(owner, by.Name)
	return owner, domain.CheckMemoryOwner(by, owner)
}

// SessionChange identifies a session.
type SessionChange struct {
	Meta           `json:"-"`
	Owner, Session string // an empty owner means the principal
	Reason         string // kept in the audit log
}

// Forget deletes the memory of a session, and returns the number of deleted exchanges. The journals
// of its runs stay.
//
// Errors: forbidden.
func (m *Memory) Forget(ctx context.Context, req SessionChange) (int64, error) {
	owner := cmp.Or(req.Owner, req.By.Name)
	if err := m.permit(ctx, ForgetSession, req.By, "memory:"+owner+"/"+req.Session, domain.CheckMemoryOwner(req.By, owner)); err != nil {
		return 0, err
	}
	return perform(ctx, m.kernel, ForgetSession, req.Meta, req, counted, func(tx *store.Tx) (int64, error) {
		n, err := tx.Forget(owner, req.Session)
		if err == nil && n > 0 {
			tx.Audit("memory:"+owner+"/"+req.Session, req.Reason, encode(map[string]int64{"exchanges": n}))
		}
		return n, err
	})
}
