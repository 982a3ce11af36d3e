package auth_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// Codes match the test values of RFC 6238 for SHA-1, shortened to six digits.
func TestCodesAreThoseOfTheStandard(t *testing.T) {
	t.Parallel()
	secret := []byte("12345678901234567890")
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924",
		2000000000: "279037", 20000000000: "353130"} {
		if got := auth.CodeAt(secret, at/30); got != want {
			t.Errorf("at %d: %s, not %s", at, got, want)
		}
	}
}

// clocked returns a fixture with a clock that the test moves.
func clocked(t *testing.T) (*fixture, *atomic.Int64) {
	t.Helper()
	f := open(t)
	f.clock.Store(time.Date(2026, 3, 9, 2, 47, 0, 0, time.UTC).UnixNano())
	f.restart(t)
	return f, f.clock
}

// A login with a second factor requires a code besides the password. A code and a recovery code are
// valid once, guesses are throttled, and a password that an admin sets removes the factor.
func TestALoginWithASecondFactor(t *testing.T) {
	t.Parallel()
	s, at := clocked(t)
	ctx := t.Context()
	admin := domain.Actor{Name: "root", Role: domain.RoleAdmin, Source: "cli"}
	u, err := s.CreateUser(ctx, admin, "marta", good, domain.RoleAdmin)
	if err != nil {
		t.Fatal(err)
	}
	secret := s.NewSecondFactor()
	raw, err := auth.CodeText.DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	code := func() string { return auth.CodeAt(raw, at.Load()/int64(30*time.Second)) }
	if _, err := s.EnableSecondFactor(ctx, u, secret, "000000", ""); domain.CodeOf(err) != domain.CodeInvalid {
		t.Fatalf("a wrong code turns it on: %v", err)
	}
	recovery, err := s.EnableSecondFactor(ctx, u, secret, code(), "")
	if err != nil || len(recovery) != auth.RecoveryMany {
		t.Fatal(recovery, err)
	}
	if _, err := s.EnableSecondFactor(ctx, u, secret, code(), ""); err == nil {
		t.Error("it is turned on twice")
	}
	login := func() string {
		t.Helper()
		_, _, err := s.Login(ctx, "marta", good, "10.0.0.1", "")
		need, ok := errors.AsType[*auth.SecondFactorNeeded](err)
		if !ok {
			t.Fatalf("the password alone: %v", err)
		}
		return need.Ticket
	}
	// The code that enabled the factor is not valid again.
	if _, _, err := s.LoginCode(ctx, login(), code(), "10.0.0.1", ""); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("a used code: %v", err)
	}
	at.Add(int64(30 * time.Second))
	ticket := login()
	session, _, err := s.LoginCode(ctx, ticket, code(), "10.0.0.1", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Session(ctx, session); err != nil {
		t.Error(err)
	}
	if _, _, err := s.LoginCode(ctx, ticket, code(), "10.0.0.1", ""); domain.CodeOf(err) != domain.CodeUnauthorized {
		t.Errorf("a ticket works twice: %v", err)
	}
	// A recovery code is valid once, in any usual spelling.
	typed := strings.ToUpper(strings.ReplaceAll(recovery[3], "-", " "))
	if _, _, err := s.LoginCode(ctx, login(), typed, "10.0.0.1", ""); err != nil {
		t.Errorf("a recovery code: %v", err)
	}
	if _, _, err := s.LoginCode(ctx, login(), typed, "10.0.0.1", ""); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("a recovery code twice: %v", err)
	}
	if on, left, err := s.SecondFactor(ctx, u.ID); !on || left != auth.RecoveryMany-1 || err != nil {
		t.Errorf("left: %v %d %v", on, left, err)
	}
	// Earlier tickets are invalid.
	old := login()
	at.Add(int64(6 * time.Minute))
	if _, _, err := s.LoginCode(ctx, old, code(), "10.0.0.1", ""); domain.CodeOf(err) != domain.CodeUnauthorized {
		t.Errorf("an old ticket: %v", err)
	}
	// A correct password alone allows only five guesses of a code per login.
	at.Add(int64(time.Hour))
	throttled := false
	for i := range 30 {
		at.Add(int64(10 * time.Second)) // refills the bucket of the address
		_, _, err := s.Login(ctx, "marta", good, "10.6.6.6", "")
		need, ok := errors.AsType[*auth.SecondFactorNeeded](err)
		if !ok {
			throttled = true
			break
		}
		if _, _, err = s.LoginCode(ctx, need.Ticket, "123456", "10.6.6.6", ""); domain.CodeOf(err) == domain.CodeTooMany {
			throttled = true
			break
		} else if i > 20 {
			break
		}
	}
	if !throttled {
		t.Error("codes can be guessed without end")
	}
	password := "a wholly other password"
	if _, err := s.UpdateUser(ctx, admin, "marta", nil, &password, nil); err != nil {
		t.Fatal(err)
	}
	at.Add(int64(2 * time.Hour))
	if _, _, err := s.Login(ctx, "marta", password, "10.0.0.1", ""); err != nil {
		t.Errorf("after an admin set a password: %v", err)
	}
}

// The stored form of a second factor is encrypted, and cannot be decrypted for another user.
func TestStoredSecretsAreSealed(t *testing.T) {
	t.Parallel()
	s, at := clocked(t)
	ctx := t.Context()
	u, raw := enrolled(t, s, at)
	another, err := s.CreateUser(
		ctx,
		domain.Actor{Name: "cli:root", Role: domain.RoleAdmin, Source: "cli"},
		"paul",
		good,
		domain.RoleViewer,
	)
	if err != nil {
		t.Fatal(err)
	}
	path := s.store.Path()
	stored := storetest.Text(t, path, "SELECT sealed FROM second_factors WHERE user_id = '"+u.ID+"'")
	if stored == "" || strings.Contains(stored, base64.StdEncoding.EncodeToString(raw)) || strings.Contains(stored, "secret") {
		t.Errorf("stored as %q", stored)
	}
	storetest.Alter(t, path, "INSERT INTO second_factors SELECT '"+another.ID+"', sealed FROM second_factors")
	if _, _, err := s.SecondFactor(ctx, another.ID); domain.CodeOf(err) != domain.CodeCorrupt {
		t.Errorf("it opens for another user: %v", err)
	}
}

// enrolled creates an admin with a second factor, and returns its secret.
func enrolled(t *testing.T, s *fixture, at *atomic.Int64) (domain.User, []byte) {
	t.Helper()
	u, err := s.CreateUser(
		t.Context(),
		domain.Actor{Name: "cli:root", Role: domain.RoleAdmin, Source: "cli"},
		"marta",
		good,
		domain.RoleAdmin,
	)
	if err != nil {
		t.Fatal(err)
	}
	secret := s.NewSecondFactor()
	raw, err := auth.CodeText.DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.EnableSecondFactor(t.Context(), u, secret, auth.CodeAt(raw, at.Load()/int64(30*time.Second)), ""); err != nil {
		t.Fatal(err)
	}
	return u, raw
}

// A login that waits for its code ends when the password changes, or when all logins are ended.
func TestAWaitingLoginEndsWithThePassword(t *testing.T) {
	t.Parallel()
	s, at := clocked(t)
	ctx := t.Context()
	u, raw := enrolled(t, s, at)
	begin := func(password string) string {
		t.Helper()
		_, _, err := s.Login(ctx, "marta", password, "10.0.0.1", "")
		needed, ok := errors.AsType[*auth.SecondFactorNeeded](err)
		if !ok {
			t.Fatal(err)
		}
		return needed.Ticket
	}
	code := func() string {
		at.Add(int64(time.Minute)) // a code is valid only once
		return auth.CodeAt(raw, at.Load()/int64(30*time.Second))
	}
	refused := func(why, ticket string) {
		t.Helper()
		if session, _, err := s.LoginCode(ctx, ticket, code(), "10.0.0.1", ""); domain.CodeOf(err) != domain.CodeUnauthorized {
			t.Errorf("after %s: %q, %v", why, session, err)
		}
	}
	const next = "another correct horse"
	ticket := begin(good)
	if err := s.ChangePassword(ctx, u, good, next, ""); err != nil {
		t.Fatal(err)
	}
	refused("a new password", ticket)
	ticket = begin(next)
	if err := s.EndSessions(ctx, domain.Actor{Name: "marta", Role: domain.RoleAdmin}, u.ID, ""); err != nil {
		t.Fatal(err)
	}
	refused("the end of all logins", ticket)
	if _, _, err := s.LoginCode(ctx, begin(next), code(), "10.0.0.1", ""); err != nil {
		t.Errorf("a login afterwards: %v", err)
	}
}

// A login proves the user's identity for a quarter of an hour. After that, only the password can
// confirm it.
func TestALoginExpires(t *testing.T) {
	t.Parallel()
	s, at := clocked(t)
	ctx := t.Context()
	if _, err := s.CreateUser(ctx, domain.Actor{Name: "root", Role: domain.RoleAdmin, Source: "cli"}, "marta", good,
		domain.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	session, _, err := s.Login(ctx, "marta", good, "10.0.0.1", "")
	if err != nil {
		t.Fatal(err)
	}
	fresh := func(want bool) {
		t.Helper()
		if got, err := s.Fresh(ctx, session); got != want || err != nil {
			t.Errorf("fresh: %v %v, want %v", got, err, want)
		}
	}
	fresh(true)
	at.Add(int64(auth.ConfirmFor))
	fresh(false)
	if err := s.Confirm(ctx, session, "wrong password!", ""); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("a wrong password: %v", err)
	}
	fresh(false)
	if err := s.Confirm(ctx, session, good, ""); err != nil {
		t.Fatal(err)
	}
	fresh(true)
	at.Add(int64(auth.ConfirmFor))
	fresh(false)
	if _, err := s.Fresh(ctx, "no session"); domain.CodeOf(err) != domain.CodeUnauthorized {
		t.Errorf("no session: %v", err)
	}
}
