package cli_test

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// A run has the current rights of the user who started it.
func TestRightsOfWhoStartedARun(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ctx := context.Background()
	now := time.Now().UTC()
	for _, u := range []domain.User{{ID: "1", Name: "ana", Role: domain.RoleOperator},
		{ID: "2", Name: "bob", Role: domain.RoleAdmin, Disabled: true}} {
		u.CreatedAt, u.Settings = now, domain.RawJSON("{}")
		if err := s.CreateUser(ctx, u); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range []domain.Token{
		{ID: "1", Name: "ci", Role: domain.RoleOperator, ExpiresAt: now.Add(time.Hour)},
		{ID: "2", Name: "ci", Role: domain.RoleAdmin, ExpiresAt: now.Add(-time.Hour)},
		{ID: "3", Name: "reader", Role: domain.RoleAdmin, Scopes: []string{"runs:read"}, ExpiresAt: now.Add(time.Hour)},
		{ID: "4", Name: "old", Role: domain.RoleAdmin, ExpiresAt: now.Add(time.Hour)},
		{ID: "5", Name: "bobs", Role: domain.RoleOperator, ExpiresAt: now.Add(time.Hour), CreatedBy: "bob"},
		{ID: "6", Name: "child", Role: domain.RoleAdmin, ExpiresAt: now.Add(time.Hour), CreatedBy: "token ci 1"},
	} {
		k.SecretHash, k.CreatedAt, k.CreatedBy = "hash "+k.ID, now, cmp.Or(k.CreatedBy, "ana")
		storetest.Do(t, s, "token.create", func(tx *store.Tx) error { return tx.CreateToken(k) })
	}
	storetest.Do(t, s, "token.revoke", func(tx *store.Tx) error { return tx.RevokeToken("4", now) })
	for name, want := range map[string]domain.Role{"ana": domain.RoleOperator, "bob": "", "eve": "",
		"token ci 1": domain.RoleOperator, "token ci 2": "", "token reader 3": "", "token old 4": "",
		"token bobs 5": "", "token child 6": domain.RoleOperator, "token none 7": "", "cli:root": domain.RoleAdmin,
		domain.System.Name: domain.RoleAdmin} {
		if got, err := auth.RoleNow(ctx, s, name, "runs:write", now); err != nil || got != want {
			t.Errorf("%s: got %q %v, want %q", name, got, err, want)
		}
	}
}
