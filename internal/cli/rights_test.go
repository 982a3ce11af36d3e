package cli_test

import (
	"context"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// What somebody may do is what they may do now, by the name that their runs have
// (ruling 41).
func TestRightsOfWhoStartedARun(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ctx := context.Background()
	now := time.Now().UTC()
	for _, u := range []kairos.User{{ID: "1", Name: "ana", Role: kairos.RoleOperator}, {ID: "2", Name: "bob", Role: kairos.RoleAdmin, Disabled: true}} {
		u.CreatedAt, u.Settings = now, kairos.RawJSON("{}")
		if err := s.CreateUser(ctx, u); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range []kairos.Token{
		{ID: "1", Name: "ci", Role: kairos.RoleOperator, ExpiresAt: now.Add(time.Hour)},
		{ID: "2", Name: "ci", Role: kairos.RoleAdmin, ExpiresAt: now.Add(-time.Hour)},
		{ID: "3", Name: "reader", Role: kairos.RoleAdmin, Scopes: []string{"runs:read"}, ExpiresAt: now.Add(time.Hour)},
		{ID: "4", Name: "old", Role: kairos.RoleAdmin, ExpiresAt: now.Add(time.Hour)},
	} {
		k.SecretHash, k.CreatedAt, k.CreatedBy = "hash "+k.ID, now, "ana"
		if err := s.CreateToken(ctx, k); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.RevokeToken(ctx, "4", now); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]kairos.Role{"ana": kairos.RoleOperator, "bob": "", "eve": "", "token ci": kairos.RoleOperator, "token reader": "", "token old": "",
		"token none": "", "cli:root": kairos.RoleAdmin, kairos.System.Name: kairos.RoleAdmin} {
		if got, err := cli.RoleNow(ctx, s, name); err != nil || got != want {
			t.Errorf("%s: got %q %v, want %q", name, got, err, want)
		}
	}
}
