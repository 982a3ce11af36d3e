package recovery

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// guarded returns the path of a database with a row of every kind that grants access, as a stopped
// server leaves it.
func guarded(t *testing.T) (path string) {
	t.Helper()
	ctx := context.Background()
	path = filepath.Join(t.TempDir(), "kairos.db")
	s := reopened(t, path)
	now := time.Now().UTC().Truncate(time.Second)
	said := func(action string) domain.AuditRecord {
		return domain.AuditRecord{Action: action, Actor: "cli:root", Source: "cli"}
	}
	for i, u := range []domain.User{{ID: "1", Name: "marta", Role: domain.RoleAdmin},
		{ID: "2", Name: "paul", Role: domain.RoleViewer}, {ID: "3", Name: "gone", Role: domain.RoleAdmin}} {
		u.PasswordHash, u.CreatedAt = "hash of "+u.Name, now
		must(t, s.CreateUser(ctx, u, said("user.create")))
		if i == 2 {
			u.Disabled = true
			storetest.Do(t, s, "user.update", func(tx *store.Tx) error {
				return tx.ChangeUser(u, domain.UserChange{Reason: "disabled", EndsSessions: true})
			})
		}
	}
	for _, id := range []string{"1", "2"} {
		storetest.Do(t, s, "token.create", func(tx *store.Tx) error {
			tx.Audit("", "", nil)
			return tx.CreateToken(
				domain.Token{
					ID:         id,
					Name:       "ci",
					Prefix:     "kro_" + id,
					SecretHash: "token " + id,
					Role:       domain.RoleViewer,
					Scopes:     []string{"runs:read"},
					CreatedBy:  "marta",
					CreatedAt:  now,
					ExpiresAt:  now.Add(time.Hour),
				},
			)
		})
	}
	storetest.Do(t, s, "token.revoke", func(tx *store.Tx) error {
		tx.Audit("", "", nil)
		return tx.RevokeToken("2", now)
	})
	must(
		t,
		s.CreateSession(
			ctx,
			domain.Session{IDHash: "session of paul", UserID: "2", CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(time.Hour)},
		),
	)
	storetest.Do(t, s, "user.second-factor", func(tx *store.Tx) error {
		tx.Audit("", "", nil)
		return tx.SetSecondFactor("1", `{"secret":"of marta"}`)
	})
	askingRun(t, s)
	_, _, err := s.Do(
		store.Operation{
			Name:   "assign-approval",
			Action: "approval.assign",
			By:     domain.Actor{Name: "marta", Role: domain.RoleOperator},
			At:     now,
		},
		func(tx *store.Tx) (string, error) {
			p, err := tx.AssignApproval("approval", "", "paul", "")
			return p.ID, err
		},
	)
	must(t, err)
	must(t, s.Close())
	return path
}

func reopened(t *testing.T, path string) *store.Store {
	t.Helper()
	s, err := Open(context.Background(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// askingRun stores a run that waits for the approval request "approval".
func askingRun(t *testing.T, s *store.Store) {
	t.Helper()
	v := putVersion(t, s, "asks", strings.Repeat("a", 64))
	r, _, err := s.CreateRun(context.Background(), domain.NewRun{Hash: v.Hash, Actor: "marta", Origin: "api"})
	must(t, err)
	must(
		t,
		s.Commit(
			context.Background(),
			domain.Checkpoint{
				Run: r.ID,
				Entries: []domain.Entry{
					{
						Kind:   domain.EntryWait,
						Node:   "a",
						Visit:  1,
						Item:   -1,
						Reason: string(domain.WaitApproval),
						Ref:    "approval",
						At:     time.Now(),
					},
				},
				Patch: &domain.RunPatch{Status: domain.RunWaiting, WaitReason: domain.WaitApproval},
				Approvals: []domain.Approval{
					{
						ID:        "approval",
						Run:       r.ID,
						PlanKey:   "asks",
						Node:      "a",
						Visit:     1,
						Item:      -1,
						Message:   "pay 5?",
						Status:    "pending",
						OnTimeout: "reject",
						CreatedAt: time.Now(),
						StartedBy: "marta",
					},
				},
			},
		),
	)
}

// edits are changes by a person who can write the database's file but does not have its key file.
var edits = map[string]struct{ sql, says string }{
	"a user added": {
		`INSERT INTO users SELECT '9', 'mallory', 'admin', 'hash', 0, created_at, 0, '{}', '', '', seal FROM users WHERE id = '1'`,
		"user mallory",
	},
	"a user promoted":     {`UPDATE users SET role = 'admin' WHERE name = 'paul'`, "user paul"},
	"a user enabled":      {`UPDATE users SET disabled = 0 WHERE name = 'gone'`, "user gone"},
	"a password replaced": {`UPDATE users SET password_hash = 'known' WHERE name = 'marta'`, "user marta"},
	"an identity linked":  {`UPDATE users SET issuer = 'https://idp', subject = 'mallory' WHERE name = 'marta'`, "user marta"},
	"a user removed":      {`DELETE FROM users WHERE name = 'gone'`, "was deleted"},
	"a token added": {
		`INSERT INTO tokens SELECT '9', name, prefix, 'known', 'admin', '[]', created_by, created_at, expires_at, 0, '', 0, ` +
			`seal FROM tokens WHERE id = '1'`,
		"token ci",
	},
	"a token promoted":    {`UPDATE tokens SET role = 'admin', scopes = '[]' WHERE id = '1'`, "token ci"},
	"a token for longer":  {`UPDATE tokens SET expires_at = expires_at * 2 WHERE id = '1'`, "token ci"},
	"a token valid again": {`UPDATE tokens SET revoked_at = 0 WHERE id = '2'`, "token ci"},
	"a login added": {
		`INSERT INTO sessions SELECT 'known', '1', created_at, seen_at, expires_at, '', '', seal FROM sessions`,
		"login of user 1",
	},
	"a login of another":    {`UPDATE sessions SET user_id = '1'`, "login of user 1"},
	"a second factor gone":  {`DELETE FROM second_factors WHERE user_id = '1'`, "was deleted"},
	"another second factor": {`UPDATE second_factors SET sealed = '{"secret":"known"}' WHERE user_id = '1'`, "second factor of user 1"},
	"a second factor moved": {
		`INSERT INTO second_factors SELECT '2', sealed FROM second_factors WHERE user_id = '1'`,
		"second factor of user 2",
	},
	"another question":       {`UPDATE approvals SET message = 'pay 888888?'`, "approval request"},
	"other arguments":        {`UPDATE approvals SET tool = 'pay', arguments = '{"amount":888888}'`, "approval request"},
	"another assignee":       {`UPDATE approvals SET assignee = 'mallory'`, "approval request"},
	"no seal of them all":    {`DELETE FROM settings WHERE key = 'access_seal'`, "was deleted"},
	"an empty seal of a row": {`UPDATE users SET seal = x'' WHERE name = 'paul'`, "user paul"},
}

// Changes without the key file grant nothing. The check of every start and of doctor finds them
// until they are repaired.
func TestChangedRowsGrantNothing(t *testing.T) {
	t.Parallel()
	for name, c := range edits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			path := guarded(t)
			sound := reopened(t, path)
			if found, err := sound.CheckAccess(ctx); err != nil || len(found) > 0 {
				t.Fatalf("before any change: %q, %v", found, err)
			}
			must(t, sound.Close())
			must(t, alter(t, path, c.sql))
			s := reopened(t, path)
			found, err := s.CheckAccess(ctx)
			if err != nil || len(found) == 0 || !strings.Contains(found[0], c.says) {
				t.Errorf("the check finds %q, %v", found, err)
			}
			checks, err := Doctor(ctx, s)
			must(t, err)
			for _, check := range checks {
				if (len(check.Problems) > 0) != (check.Name == "access") && check.Name != "permissions" && check.Name != "space" {
					t.Errorf("doctor: %+v", check)
				}
			}
			for _, name := range []string{"mallory", "paul", "gone", "marta"} {
				u, err := s.User(ctx, name)
				if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
					t.Error(err)
				}
				if strings.HasPrefix(c.says, "user "+name) && err == nil && (!u.Disabled || !u.Unsealed) {
					t.Errorf("%s may log in: %+v", name, u)
				}
			}
			if k, err := s.TokenByHash(ctx, "known"); err == nil && !k.Unsealed {
				t.Errorf("the forged token is taken: %+v", k)
			}
			if v, err := s.SessionByHash(ctx, "known"); err == nil {
				t.Errorf("the forged login is taken: %+v", v)
			}
			if v, err := s.SessionByHash(ctx, "session of paul"); err == nil && v.UserID == "1" {
				t.Errorf("the login of paul became marta's: %+v", v)
			}
			if text, err := s.SecondFactor(ctx, "1"); err == nil && strings.Contains(text, "known") {
				t.Errorf("the forged second factor is taken: %s", text)
			}
			if p, err := s.Approval(ctx, "approval"); (domain.CodeOf(err) == domain.CodeCorrupt) != strings.HasPrefix(c.says, "approval") {
				t.Errorf("the request is shown as %+v, %v", p, err)
			}
			// Another change does not make it valid.
			storetest.Do(t, s, "token.create", func(tx *store.Tx) error {
				tx.Audit("", "", nil)
				return tx.CreateToken(
					domain.Token{
						ID:         "5",
						Name:       "later",
						SecretHash: "later",
						Role:       domain.RoleViewer,
						CreatedBy:  "marta",
						CreatedAt:  time.Now(),
						ExpiresAt:  time.Now().Add(time.Hour),
					},
				)
			})
			if again, err := s.CheckAccess(ctx); err != nil || len(again) == 0 {
				t.Errorf("after another change: %q, %v", again, err)
			}
			if done, err := s.RepairAccess(ctx, domain.Actor{Name: "cli:root", Role: domain.RoleAdmin, Source: "cli"}); err != nil ||
				len(done) == 0 {
				t.Errorf("repair: %q, %v", done, err)
			}
			if found, err := s.CheckAccess(ctx); err != nil || len(found) > 0 {
				t.Errorf("after the repair: %q, %v", found, err)
			}
			if list, err := s.AuditEvents(ctx, domain.AuditFilter{Action: "access.repair"}); err != nil || len(list.Items) != 1 {
				t.Errorf("the repair is not recorded: %+v, %v", list.Items, err)
			}
			if strings.HasPrefix(c.says, "user ") {
				u, err := s.User(ctx, strings.TrimPrefix(c.says, "user "))
				if err != nil || !u.Disabled || u.PasswordHash != "" || u.Subject != "" {
					t.Errorf("after the repair: %+v, %v", u, err)
				}
			}
		})
	}
}

// Rows with valid seals that are older than the audit log are detected.
func TestRestoredAccessIsFound(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := guarded(t)
	old := filepath.Join(t.TempDir(), "old.db")
	s := reopened(t, path)
	must(t, CopyTo(ctx, s, old))
	u, err := s.User(ctx, "paul")
	must(t, err)
	u.Disabled = true
	storetest.Do(t, s, "user.update", func(tx *store.Tx) error {
		return tx.ChangeUser(u, domain.UserChange{Reason: "disabled", EndsSessions: true})
	})
	must(t, s.Close())
	must(
		t,
		alter(
			t,
			path,
			`ATTACH '`+old+`' AS old; DELETE FROM sessions; DELETE FROM tokens; DELETE FROM users; INSERT INTO users SELECT * FROM old.users; INSERT INTO tokens SELECT * FROM old.tokens;
UPDATE settings SET value = (SELECT value FROM old.settings AS o WHERE o.key = 'access_seal') WHERE key = 'access_seal'`,
		),
	)
	s = reopened(t, path)
	if found, err := s.CheckAccess(ctx); err != nil || len(found) != 1 || !strings.Contains(found[0], "earlier state") {
		t.Errorf("%q, %v", found, err)
	}
}

func accessEnded(t *testing.T, s *store.Store) {
	t.Helper()
	ctx := context.Background()
	h, err := s.Hold(ctx)
	if err != nil || h == nil || h.Reason != domain.HoldKeyLost || h.Held != 1 {
		t.Fatalf("hold: %+v, %v", h, err)
	}
	users, err := s.Users(ctx)
	must(t, err)
	for _, u := range users {
		if !u.Disabled || u.Unsealed || u.PasswordHash != "" || u.Subject != "" {
			t.Errorf("user: %+v", u)
		}
	}
	tokens, err := s.Tokens(ctx)
	if err != nil || len(tokens) > 0 {
		t.Errorf("tokens: %+v, %v", tokens, err)
	}
	if _, err := s.SessionByHash(ctx, "session of paul"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("the login of paul: %v", err)
	}
	if text, err := s.SecondFactor(ctx, "1"); err != nil || text != "" {
		t.Errorf("the second factor: %q, %v", text, err)
	}
	if p, err := s.Approval(ctx, "approval"); err != nil || p.Status != "cancelled" || p.Comment != domain.ApprovalKeyLost {
		t.Errorf("the approval request: %+v, %v", p, err)
	}
	if found, err := s.CheckAccess(ctx); err != nil || len(found) > 0 {
		t.Errorf("check: %q, %v", found, err)
	}
	list, err := s.AuditEvents(ctx, domain.AuditFilter{Action: "access.reset"})
	if err != nil || len(list.Items) != 1 || !strings.Contains(string(list.Items[0].Detail), `"tokensRemoved":2`) {
		t.Errorf("audit: %+v, %v", list.Items, err)
	}
	root := domain.Actor{Name: "cli:root", Role: domain.RoleAdmin, Source: "cli"}
	if _, err := s.EndHold(ctx, root, ""); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("released without an administrator: %v", err)
	}
	must(
		t,
		s.CreateUser(
			ctx,
			domain.User{ID: "new", Name: "new", Role: domain.RoleAdmin, PasswordHash: "x", CreatedAt: time.Now()},
			domain.AuditRecord{Action: "user.create", Actor: "cli:root"},
		),
	)
	if _, err := s.EndHold(ctx, domain.Actor{Name: "op", Role: domain.RoleOperator}, ""); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("released by an operator: %v", err)
	}
	if ended, err := s.EndHold(ctx, domain.Actor{Name: "new", Role: domain.RoleAdmin}, "looked at"); err != nil || !ended {
		t.Errorf("released by the new administrator: %v, %v", ended, err)
	}
}

// The database, and with it every backup, opens no second factor: what they are
// encrypted with follows from the key file alone.
func TestASecondFactorNeedsTheKeyFile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := guarded(t)
	s := reopened(t, path)
	stolen := filepath.Join(t.TempDir(), "kairos.db")
	must(t, CopyTo(ctx, s, stolen))
	instance := s.InstanceKey()
	if text, err := s.SecondFactor(ctx, "1"); err != nil || text != `{"secret":"of marta"}` {
		t.Fatalf("%q, %v", text, err)
	}
	pool, err := sql.Open("sqlite", stolen)
	must(t, err)
	defer pool.Close()
	var sealed string
	must(t, pool.QueryRow("SELECT sealed FROM second_factors WHERE user_id = '1'").Scan(&sealed))
	if strings.Contains(sealed, "marta") || !strings.HasPrefix(sealed, "sealed:") {
		t.Errorf("stored as %s", sealed)
	}
	for name, key := range map[string][]byte{"no key": nil, "the key in the database": instance, "another key": core.RandomBytes(32)} {
		c, err := Open(ctx, stolen, Options{Options: store.Options{ReadOnly: true, AuditKey: key}})
		must(t, err)
		if text, err := c.SecondFactor(ctx, "1"); domain.CodeOf(err) != domain.CodeCorrupt {
			t.Errorf("%s opens it: %q, %v", name, text, err)
		}
		must(t, c.Close())
	}
	must(t, s.Close())
	must(t, alter(t, path, `INSERT INTO second_factors SELECT '2', sealed FROM second_factors WHERE user_id = '1'`))
	s = reopened(t, path)
	if _, err := s.SecondFactor(ctx, "2"); domain.CodeOf(err) != domain.CodeCorrupt {
		t.Errorf("it opens under another user: %v", err)
	}
}
