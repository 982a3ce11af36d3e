package auth_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
)

// memory keeps what auth.Store promises in maps.
type memory struct {
	mu       sync.Mutex
	users    map[string]kairos.User
	sessions map[string]kairos.Session
	tokens   map[string]kairos.Token
	records  []kairos.AuditRecord
}

func newMemory() *memory {
	return &memory{users: map[string]kairos.User{}, sessions: map[string]kairos.Session{}, tokens: map[string]kairos.Token{}}
}

func missing(what string) error { return kairos.Errorf(kairos.CodeNotFound, "no such %s", what) }

func (m *memory) CreateUser(_ context.Context, u kairos.User) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.users {
		if x.Name == u.Name {
			return kairos.Errorf(kairos.CodeConflict, "taken")
		}
	}
	m.users[u.ID] = u
	return nil
}

func (m *memory) CreateFirstUser(_ context.Context, u kairos.User) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.users) > 0 {
		return kairos.Errorf(kairos.CodeConflict, "there are users")
	}
	m.users[u.ID] = u
	return nil
}

func (m *memory) User(_ context.Context, idOrName string) (kairos.User, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, u := range m.users {
		if u.ID == idOrName || u.Name == idOrName {
			return u, nil
		}
	}
	return kairos.User{}, missing("user")
}

func (m *memory) Users(context.Context) ([]kairos.User, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []kairos.User
	for _, u := range m.users {
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b kairos.User) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

func (m *memory) UpdateUser(_ context.Context, u kairos.User) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.users[u.ID]; !ok {
		return missing("user")
	}
	m.users[u.ID] = u
	return nil
}

func (m *memory) CountUsers(context.Context) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.users), nil
}

func (m *memory) CreateSession(_ context.Context, s kairos.Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions[s.IDHash] = s
	return nil
}

func (m *memory) SessionByHash(_ context.Context, hash string) (kairos.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.sessions[hash]
	if !ok {
		return s, missing("session")
	}
	return s, nil
}

func (m *memory) Sessions(_ context.Context, userID string) ([]kairos.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []kairos.Session
	for _, s := range m.sessions {
		if s.UserID == userID {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b kairos.Session) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return out, nil
}

func (m *memory) TouchSession(_ context.Context, hash string, seen time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.sessions[hash]; ok && seen.After(s.SeenAt) {
		s.SeenAt = seen
		m.sessions[hash] = s
	}
	return nil
}

func (m *memory) DeleteSession(_ context.Context, hash string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, hash)
	return nil
}

func (m *memory) DeleteSessions(_ context.Context, userID, keep string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for h, s := range m.sessions {
		if s.UserID == userID && h != keep {
			delete(m.sessions, h)
		}
	}
	return nil
}

func (m *memory) DeleteExpiredSessions(_ context.Context, now, idle time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for h, s := range m.sessions {
		if !s.ExpiresAt.After(now) || !s.SeenAt.After(idle) {
			delete(m.sessions, h)
		}
	}
	return nil
}

func (m *memory) CreateToken(_ context.Context, t kairos.Token) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens[t.ID] = t
	return nil
}

func (m *memory) TokenByHash(_ context.Context, hash string) (kairos.Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.tokens {
		if t.SecretHash == hash {
			return t, nil
		}
	}
	return kairos.Token{}, missing("token")
}

func (m *memory) Tokens(context.Context) ([]kairos.Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []kairos.Token
	for _, t := range m.tokens {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b kairos.Token) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return out, nil
}

func (m *memory) RevokeToken(_ context.Context, id string, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.tokens[id]
	if !ok {
		return missing("token")
	}
	if t.RevokedAt.IsZero() {
		t.RevokedAt = at
	}
	m.tokens[id] = t
	return nil
}

func (m *memory) TouchToken(_ context.Context, id string, used time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.tokens[id]
	t.LastUsedAt = used
	m.tokens[id] = t
	return nil
}

func (m *memory) Audit(_ context.Context, r kairos.AuditRecord) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records = append(m.records, r)
	return nil
}

func (m *memory) audited(action, result string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, r := range m.records {
		if r.Action == action && r.Result == result {
			n++
		}
	}
	return n
}
