package auth_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// G12: A change and its record are one transaction, so that a power failure keeps both or neither.
func TestAChangeAndItsRecordCommitTogether(t *testing.T) {
	t.Parallel()
	f := open(t)
	u := f.user(t, "ana", domain.RoleViewer)
	var transactions, recorded atomic.Int64
	f.store.OnBatch(func(int, time.Duration) { transactions.Add(1) })
	f.store.OnCommit(func(events []domain.AuditEvent) { recorded.Add(int64(len(events))) })
	var secret string
	var tok domain.Token
	for _, act := range []struct {
		name         string
		do           func() error
		transactions int64
	}{
		{"make a user", func() error {
			_, err := f.CreateUser(t.Context(), root, "eve", good, domain.RoleAuthor)
			return err
		}, 1},
		{"change one, whose sessions end", func() error {
			_, err := f.UpdateUser(t.Context(), root, u.ID, new(domain.RoleOperator), nil, nil)
			return err
		}, 1},
		{"log in, and be seen", func() (err error) {
			secret, _, err = f.Login(t.Context(), "ana", good, "192.0.2.1", "test")
			return err
		}, 2},
		{"log out", func() error { return f.Logout(t.Context(), secret) }, 1},
		{"end sessions", func() error { return f.EndSessions(t.Context(), root, u.ID, "") }, 1},
		{"make a token", func() (err error) {
			_, tok, err = f.CreateToken(t.Context(), root, "ci", domain.RoleViewer, nil, 0)
			return err
		}, 1},
		{"revoke it", func() error { return f.RevokeToken(t.Context(), root, tok.ID, "lost") }, 1},
	} {
		transactions.Store(0)
		recorded.Store(0)
		if err := act.do(); err != nil {
			t.Fatalf("%s: %v", act.name, err)
		}
		// The next transaction starts after all subscribers have received this one.
		if err := f.store.SetSetting(t.Context(), "barrier", act.name); err != nil {
			t.Fatal(err)
		}
		if n, records := transactions.Load()-1, recorded.Load(); n != act.transactions || records != 1 {
			t.Errorf("%s: %d transactions with %d records, want %d with 1", act.name, n, records, act.transactions)
		}
	}
}
