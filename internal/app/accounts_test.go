package app_test

import (
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
)

const password = "four unrelated words"

func newUser(t *testing.T, w *apptest.World, name string, role domain.Role) domain.User {
	t.Helper()
	u, err := w.Accounts.CreateUser(t.Context(), app.NewUser{Meta: app.Meta{By: apptest.Admin}, Name: name, Password: password, Role: role})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A user is created once per key. The record of the key contains neither the password nor a digest
// of it.
func TestAUserIsCreatedOnce(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	repeated := false
	req := app.NewUser{
		Meta:     app.Meta{By: apptest.Admin, Key: "k", Repeated: &repeated},
		Name:     "marta",
		Password: password,
		Role:     domain.RoleViewer,
	}
	first, err := w.Accounts.CreateUser(t.Context(), req)
	if err != nil || repeated {
		t.Fatal(repeated, err)
	}
	req.Password = "another one of words"
	again, err := w.Accounts.CreateUser(t.Context(), req)
	if err != nil || !repeated || again.ID != first.ID || again.PasswordHash != first.PasswordHash {
		t.Errorf("a repetition gives %+v, repeated %v, %v", again, repeated, err)
	}
	req.Role = domain.RoleAdmin
	if _, err := w.Accounts.CreateUser(t.Context(), req); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("the key of another request: %v", err)
	}
	if n := len(audited(t, w, "user.create")); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
}

// A secret is shown once. A repeated request reports that it was created.
func TestASecretIsShownOnce(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	newUser(t, w, "marta", domain.RoleViewer)
	m := app.Meta{By: apptest.Admin, Key: "k"}
	text, made, err := w.Tokens.Create(t.Context(), app.NewToken{Meta: m, Name: "ci", Role: domain.RoleViewer})
	if err != nil || !auth.WellFormed(text) {
		t.Fatal(text, err)
	}
	text, _, err = w.Tokens.Create(t.Context(), app.NewToken{Meta: m, Name: "ci", Role: domain.RoleViewer})
	if domain.CodeOf(err) != domain.CodeAlreadyDone || text != "" {
		t.Errorf("a repetition gives %q, %v", text, err)
	}
	if list, err := w.Tokens.List(t.Context(), apptest.Admin); err != nil || len(list) != 1 || list[0].ID != made.ID {
		t.Errorf("tokens: %+v, %v", list, err)
	}
	m.By = domain.Actor{Name: "cli:root", Role: domain.RoleAdmin, Source: "cli"}
	link, err := w.Accounts.MakeLoginLink(t.Context(), app.UserNamed{Meta: m, User: "marta"})
	if err != nil || link == "" {
		t.Fatal(link, err)
	}
	if link, err = w.Accounts.MakeLoginLink(t.Context(), app.UserNamed{Meta: m, User: "marta"}); domain.CodeOf(
		err,
	) != domain.CodeAlreadyDone ||
		link != "" {
		t.Errorf("a login link made again: %q, %v", link, err)
	}
	if _, err := w.Accounts.MakeLoginLink(t.Context(), app.UserNamed{Meta: app.Meta{By: apptest.Admin}, User: "marta"}); domain.CodeOf(
		err,
	) != domain.CodeForbidden {
		t.Errorf("a login link from afar: %v", err)
	}
}

// The owner of an account may perform some operations that otherwise require an admin. Another user
// does not even learn whether the account exists.
func TestOwnersAndOtherUsers(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	marta := newUser(t, w, "marta", domain.RoleViewer)
	owner, stranger := auth.ActorOf(marta, "ui"), domain.Actor{Name: "olga", Role: domain.RoleAuthor, Source: "ui"}
	secret, _, err := w.Config.Auth.Login(t.Context(), "marta", password, "192.0.2.1", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		do   func(by domain.Actor, user string) error
	}{
		{"read", func(by domain.Actor, user string) error { _, err := w.Accounts.User(t.Context(), by, user); return err }},
		{"sessions", func(by domain.Actor, user string) error {
			_, err := w.Accounts.Sessions(t.Context(), by, user)
			return err
		}},
		{"second factor", func(by domain.Actor, user string) error {
			_, _, err := w.Accounts.SecondFactor(t.Context(), by, user)
			return err
		}},
		{"sign out", func(by domain.Actor, user string) error {
			return w.Accounts.SignOut(t.Context(), app.SignOut{Meta: app.Meta{By: by}, User: user, Session: app.SessionHash(secret)})
		}},
		{"remove a second factor", func(by domain.Actor, user string) error {
			err := w.Accounts.RemoveSecondFactor(t.Context(), app.UserNamed{Meta: app.Meta{By: by}, User: user})
			if domain.CodeOf(err) == domain.CodeConflict { // ada has no second factor
				return nil
			}
			return err
		}},
	} {
		for _, user := range []string{"marta", "nobody"} {
			if err := c.do(stranger, user); domain.CodeOf(err) != domain.CodeForbidden {
				t.Errorf("%s of %s as a stranger: %v", c.name, user, err)
			}
		}
		if err := c.do(owner, "marta"); err != nil {
			t.Errorf("%s as the owner: %v", c.name, err)
		}
		if err := c.do(apptest.Admin, "nobody"); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("%s of nobody as an admin: %v", c.name, err)
		}
	}
	if _, err := w.Config.Auth.Session(t.Context(), secret); domain.CodeOf(err) != domain.CodeUnauthorized {
		t.Errorf("the session goes on: %v", err)
	}
}

// A change of an account during a login is not lost, because both read and write in one
// transaction.
func TestALoginDoesNotUndoAChange(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	newUser(t, w, "marta", domain.RoleViewer)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 5 {
			_, _, _ = w.Config.Auth.Login(t.Context(), "marta", password, "192.0.2.1", "") // some logins are rejected
		}
	}()
	if _, err := w.Accounts.UpdateUser(t.Context(),
		app.UserChange{Meta: app.Meta{By: apptest.Admin}, User: "marta", Disabled: new(true)}); err != nil {
		t.Fatal(err)
	}
	<-done
	if u, err := w.Store.User(t.Context(), "marta"); err != nil || !u.Disabled {
		t.Errorf("%+v, %v", u, err)
	}
}
