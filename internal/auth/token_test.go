package auth_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	f := open(t)
	text, tok, err := f.CreateToken(t.Context(), root, "ci", domain.RoleOperator, []string{"runs:write", "runs:read"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !auth.WellFormed(text) || !strings.HasPrefix(text, tok.Prefix+"_") || strings.Contains(text, tok.SecretHash) {
		t.Errorf("token %q, stored as %+v", text, tok)
	}
	if got := tok.ExpiresAt.Sub(tok.CreatedAt); got != 90*24*time.Hour {
		t.Errorf("a token lives %v by default, want 90 days", got)
	}
	a, err := f.Token(t.Context(), text)
	if err != nil || a.Name != auth.TokenActor(tok) || a.Role != domain.RoleOperator || a.Scopes != "runs:read runs:write" ||
		a.Source != "api" {
		t.Fatalf("Token = %+v, %v", a, err)
	}
	flip := []byte(text)
	flip[20] ^= 1
	for name, bad := range map[string]string{"empty": "", "truncated": text[:40], "checksum": text[:len(text)-1] + "x",
		"one bit": string(flip), "unknown": "kro_abcdefgh_" + strings.Repeat("A", 43) + "_00000000", "longer": text + "a"} {
		if _, err := f.Token(t.Context(), bad); domain.CodeOf(err) != domain.CodeUnauthorized {
			t.Errorf("A21 %s: %v", name, err)
		}
	}
	if err := f.RevokeToken(t.Context(), root, tok.ID, ""); err != nil {
		t.Fatal(err)
	}
	_, err = f.Token(t.Context(), text)
	wantCode(t, err, domain.CodeUnauthorized)

	short, _, err := f.CreateToken(t.Context(), root, "short", domain.RoleViewer, nil, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	f.pass(time.Hour)
	_, err = f.Token(t.Context(), short)
	wantCode(t, err, domain.CodeUnauthorized)

	for name, make := range map[string]func() error{
		"scope": func() error {
			_, _, err := f.CreateToken(t.Context(), root, "x", domain.RoleViewer, []string{"everything"}, 0)
			return err
		},
		"role": func() error { _, _, err := f.CreateToken(t.Context(), root, "x", "boss", nil, 0); return err },
		"name": func() error {
			_, _, err := f.CreateToken(t.Context(), root, "x\ny", domain.RoleViewer, nil, 0)
			return err
		},
		"forever": func() error {
			_, _, err := f.CreateToken(t.Context(), root, "x", domain.RoleViewer, nil, 1<<62)
			return err
		},
	} {
		if err := make(); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("a bad %s is accepted: %v", name, err)
		}
	}
}

func TestATokenHasNoMoreRightsThanItsCreator(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.user(t, "other", domain.RoleAdmin)
	marta := f.user(t, "marta", domain.RoleAdmin)
	text, _, err := f.CreateToken(t.Context(), auth.ActorOf(marta, "ui"), "ci", domain.RoleAuthor, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.UpdateUser(t.Context(), root, "marta", new(domain.RoleViewer), nil, nil); err != nil {
		t.Fatal(err)
	}
	if a, err := f.Token(t.Context(), text); err != nil || a.Role != domain.RoleViewer {
		t.Errorf("S33: the token of a viewer has the role %q (%v)", a.Role, err)
	}
	if _, err := f.UpdateUser(t.Context(), root, "marta", nil, nil, new(true)); err != nil {
		t.Fatal(err)
	}
	_, err = f.Token(t.Context(), text)
	wantCode(t, err, domain.CodeUnauthorized)
}

// A token created by a token ends with the person at the end of the chain, and has at most that
// person's permissions.
func TestATokenOfATokenEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.user(t, "other", domain.RoleAdmin)
	marta := f.user(t, "marta", domain.RoleAdmin)
	first, firstToken, err := f.CreateToken(t.Context(), auth.ActorOf(marta, "ui"), "first", domain.RoleAdmin, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.Token(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	second, secondToken, err := f.CreateToken(t.Context(), a, "second", domain.RoleAdmin, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := f.Token(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	third, _, err := f.CreateToken(t.Context(), b, "third", domain.RoleAdmin, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if people, err := auth.People(t.Context(), f.store, auth.TokenActor(secondToken)); err != nil || !slices.Contains(people, "marta") ||
		!slices.Contains(people, auth.TokenActor(firstToken)) {
		t.Errorf("behind a token of a token stand %q, %v", people, err)
	}
	if _, err := f.UpdateUser(t.Context(), root, "marta", new(domain.RoleViewer), nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{second, third} {
		a, err := f.Token(t.Context(), text)
		if err != nil || a.Role != domain.RoleViewer {
			t.Errorf("the role is %q after the owner became a viewer (%v)", a.Role, err)
		}
		_, _, err = f.CreateToken(t.Context(), a, "more", domain.RoleViewer, nil, 0)
		wantCode(t, err, domain.CodeForbidden)
	}
	if role, err := auth.RoleNow(t.Context(), f.store, auth.TokenActor(secondToken), "runs:write",
		time.Unix(0, f.clock.Load())); err != nil ||
		role != domain.RoleViewer {
		t.Errorf("runs of the token go on with the role %q, %v", role, err)
	}
	if _, err := f.UpdateUser(t.Context(), root, "marta", new(domain.RoleAdmin), nil, nil); err != nil {
		t.Fatal(err)
	}
	if a, err := f.Token(t.Context(), third); err != nil || a.Role != domain.RoleAdmin {
		t.Errorf("%+v, %v", a, err)
	}
	if err := f.RevokeToken(t.Context(), root, secondToken.ID, ""); err != nil {
		t.Fatal(err)
	}
	_, err = f.Token(t.Context(), third)
	wantCode(t, err, domain.CodeUnauthorized)
	if _, err := f.UpdateUser(t.Context(), root, "marta", nil, nil, new(true)); err != nil {
		t.Fatal(err)
	}
	_, err = f.Token(t.Context(), first)
	wantCode(t, err, domain.CodeUnauthorized)

	// A token with an unknown creator is invalid.
	stray := auth.NewTokenText()
	storetest.Do(t, f.store, "token.create", func(tx *store.Tx) error {
		return tx.CreateToken(domain.Token{ID: domain.NewID(), Name: "stray", SecretHash: auth.HashOf(stray), Role: domain.RoleAdmin,
			CreatedBy: "nobody", CreatedAt: time.Unix(0, f.clock.Load()), ExpiresAt: time.Unix(0, f.clock.Load()).Add(time.Hour)})
	})
	_, err = f.Token(t.Context(), stray)
	wantCode(t, err, domain.CodeUnauthorized)
}

// A token creates only tokens with a subset of its scopes, at most its role, and at most the rest
// of its lifetime.
func TestATokenCreatesOnlyLesserTokens(t *testing.T) {
	t.Parallel()
	f := open(t)
	text, _, err := f.CreateToken(t.Context(), root, "tokens", domain.RoleAdmin, []string{"tokens", "metrics"}, 48*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.Token(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		scopes []string
		life   time.Duration
	}{"all scopes": {nil, time.Hour}, "another scope": {[]string{"tokens", "admin"}, time.Hour},
		"a longer life": {[]string{"tokens"}, 49 * time.Hour}} {
		_, _, err := f.CreateToken(t.Context(), a, "more", domain.RoleAdmin, c.scopes, c.life)
		if domain.CodeOf(err) != domain.CodeForbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := f.audited(t, "access.denied", "denied"); n != 3 {
		t.Errorf("%d refusals are recorded, want 3", n)
	}
	f.pass(time.Hour)
	_, child, err := f.CreateToken(t.Context(), a, "less", domain.RoleViewer, []string{"metrics"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if left := child.ExpiresAt.Sub(child.CreatedAt); left != 47*time.Hour {
		t.Errorf("the new token lives %v, the one that made it 47h", left)
	}
}

// Two tokens with the same name are two principals.
func TestTokensMayShareAName(t *testing.T) {
	t.Parallel()
	f := open(t)
	names := map[string]bool{}
	for range 2 {
		text, _, err := f.CreateToken(t.Context(), root, "ci", domain.RoleOperator, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		a, err := f.Token(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		names[a.Name] = true
	}
	if len(names) != 2 {
		t.Errorf("two tokens act as %v", names)
	}
}

// A token for all plans creates tokens for one plan, and not the other way round.
func TestScopesOfOnePlanNarrow(t *testing.T) {
	t.Parallel()
	f := open(t)
	make := func(by domain.Actor, scopes ...string) (domain.Actor, error) {
		text, _, err := f.CreateToken(t.Context(), by, "x", domain.RoleAdmin, scopes, 0)
		if err != nil {
			return domain.Actor{}, err
		}
		return f.Token(t.Context(), text)
	}
	all, err := make(root, "tokens", "mcp")
	if err != nil {
		t.Fatal(err)
	}
	one, err := make(all, "tokens", "mcp:refund")
	if err != nil || one.Scopes != "mcp:refund tokens" {
		t.Fatalf("got %q, %v", one.Scopes, err)
	}
	for _, scope := range []string{"mcp", "mcp:deploy"} {
		_, err = make(one, scope)
		wantCode(t, err, domain.CodeForbidden)
	}
	for _, scope := range []string{"mcp:", "mcp:a b", "runs:refund"} {
		_, err = make(root, scope)
		wantCode(t, err, domain.CodeInvalid)
	}
}
