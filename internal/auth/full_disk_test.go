package auth_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// fullDisk is a store on a disk that the test can fill. Logins and their use can then not be
// written.
type fullDisk struct {
	*store.Store
	full *atomic.Bool
}

func (d fullDisk) space() error {
	if d.full.Load() {
		return domain.Errorf(domain.CodeNoSpace, "commit: the disk is full")
	}
	return nil
}

func (d fullDisk) Audit(ctx context.Context, r domain.AuditRecord) error {
	if err := d.space(); err != nil {
		return err
	}
	return d.Store.Audit(ctx, r)
}

func (d fullDisk) ChangeUser(
	ctx context.Context,
	idOrName string,
	by domain.Actor,
	edit func(*domain.User, int) (domain.UserChange, error),
) (domain.User, error) {
	if err := d.space(); err != nil {
		return domain.User{}, err
	}
	return d.Store.ChangeUser(ctx, idOrName, by, edit)
}

func (d fullDisk) ChangeSecondFactor(ctx context.Context, userID string, edit func(string) (string, error)) error {
	if err := d.space(); err != nil {
		return err
	}
	return d.Store.ChangeSecondFactor(ctx, userID, edit)
}

func (d fullDisk) CreateSession(ctx context.Context, s domain.Session, records ...domain.AuditRecord) error {
	if err := d.space(); err != nil {
		return err
	}
	return d.Store.CreateSession(ctx, s, records...)
}

func (d fullDisk) TouchSession(ctx context.Context, hash string, seen time.Time) error {
	if err := d.space(); err != nil {
		return err
	}
	return d.Store.TouchSession(ctx, hash, seen)
}

func (d fullDisk) DeleteSession(ctx context.Context, hash string, records ...domain.AuditRecord) error {
	if err := d.space(); err != nil {
		return err
	}
	return d.Store.DeleteSession(ctx, hash, records...)
}

func (d fullDisk) DeleteExpiredSessions(ctx context.Context, now, idle time.Time) error {
	if err := d.space(); err != nil {
		return err
	}
	return d.Store.DeleteExpiredSessions(ctx, now, idle)
}

func (d fullDisk) TouchToken(ctx context.Context, id string, used time.Time, from string) error {
	if err := d.space(); err != nil {
		return err
	}
	return d.Store.TouchToken(ctx, id, used, from)
}

// On a full disk, an operator must be able to log in: people log in, use their sessions and tokens,
// and log out. All of it is recorded once there is space.
func TestPeopleLogInOnAFullDisk(t *testing.T) {
	t.Parallel()
	f := open(t)
	disk := fullDisk{f.store, new(atomic.Bool)}
	s, err := auth.New(auth.Config{Store: disk, Audit: disk, Now: func() time.Time { return time.Unix(0, f.clock.Load()) }})
	if err != nil {
		t.Fatal(err)
	}
	f.use(s, f.store)
	ctx := t.Context()
	f.user(t, "ana", domain.RoleAdmin)
	f.user(t, "ben", domain.RoleOperator)
	token, _, err := f.CreateToken(ctx, root, "ci", domain.RoleViewer, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	before, _, err := s.Login(ctx, "ana", good, "10.0.0.1", "")
	if err != nil {
		t.Fatal(err)
	}
	idle, _, err := s.Login(ctx, "ana", good, "10.0.0.2", "")
	if err != nil {
		t.Fatal(err)
	}
	in := func(secret, when string) {
		t.Helper()
		if _, err := s.Session(ctx, secret); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	out := func(secret, when string) {
		t.Helper()
		if _, err := s.Session(ctx, secret); domain.CodeOf(err) != domain.CodeUnauthorized {
			t.Errorf("%s: %v", when, err)
		}
	}

	disk.full.Store(true)
	// A session that is used every 20 minutes for an hour does not end as idle. A session that is
	// not used does.
	for range 3 {
		f.pass(20 * time.Minute)
		in(before, "logged in before")
	}
	out(idle, "idle")
	during, _, err := s.Login(ctx, "ana", good, "10.0.0.3", "")
	if err != nil {
		t.Fatalf("log in on a full disk: %v", err)
	}
	gone, _, err := s.Login(ctx, "ben", good, "10.0.0.4", "")
	if err != nil {
		t.Fatal(err)
	}
	in(during, "logged in on a full disk")
	if _, _, err := s.Login(ctx, "ana", "wrong", "10.0.0.5", ""); domain.CodeOf(err) != domain.CodeUnauthorized {
		t.Errorf("a wrong password: %v", err)
	}
	if err := s.Logout(ctx, gone); err != nil {
		t.Errorf("log out: %v", err)
	}
	out(gone, "logged out")
	if err := s.Logout(ctx, before); err != nil {
		t.Errorf("log out of a stored session: %v", err)
	}
	out(before, "logged out of a stored session")
	ana, err := f.store.User(ctx, "ana")
	if err != nil {
		t.Fatal(err)
	}
	if list, err := s.Sessions(ctx, ana.ID); err != nil || len(list) != 1 {
		t.Errorf("%d sessions are open, %v; want the one of the full disk", len(list), err)
	}
	if _, err := s.Token(ctx, token); err != nil {
		t.Errorf("token: %v", err)
	}
	if _, _, err := f.CreateToken(ctx, root, "more", domain.RoleViewer, nil, 0); err != nil {
		t.Error("what is not about getting in is not touched here:", err)
	}
	f.pass(time.Minute)
	if err := s.Sweep(ctx); domain.CodeOf(err) != domain.CodeNoSpace {
		t.Errorf("a sweep on a full disk: %v", err)
	}

	disk.full.Store(false)
	if err := s.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	in(during, "with space again")
	out(before, "logged out before there was space")
	f.restart(t)
	in(during, "after a restart")
	out(before, "logged out, after a restart")
	out(gone, "logged out, after a restart")
	events, err := f.store.AuditEvents(ctx, domain.AuditFilter{Page: domain.Page{Limit: 100}})
	if err != nil {
		t.Fatal(err)
	}
	var records []string
	for _, e := range events.Items {
		if strings.Contains(e.Reason, "recorded when the disk had space again") {
			records = append(records, e.Action+" "+e.Actor+" "+e.Result)
		}
	}
	slices.Sort(records)
	if got, want := strings.Join(records, ", "), "login ana denied, login ana ok, login ben ok, logout ana ok, logout ben ok"; got != want {
		t.Errorf("recorded late: %s\nwant %s", got, want)
	}
}
