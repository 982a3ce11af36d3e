package app

import (
	"context"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Accounts are the operations on the accounts of people.
type Accounts struct{ *kernel }

type accountStore interface {
	User(ctx context.Context, idOrName string) (domain.User, error)
	Users(ctx context.Context) ([]domain.User, error)
	TokenByID(ctx context.Context, id string) (domain.Token, error)
	Tokens(ctx context.Context) ([]domain.Token, error)
}

// Users returns all users by name.
//
// Errors: forbidden.
func (a *Accounts) Users(ctx context.Context, by domain.Actor) ([]domain.User, error) {
	if err := a.allow(ctx, ListUsers, by, ""); err != nil {
		return nil, err
	}
	return a.store.Users(ctx)
}

// User finds a user by id or name, including disabled users.
//
// Errors: not_found, forbidden.
func (a *Accounts) User(ctx context.Context, by domain.Actor, idOrName string) (domain.User, error) {
	u, _, err := a.subject(ctx, by, idOrName, GetMe, GetUser)
	return u, err
}

// Sessions returns the open sessions of a user, newest first.
//
// Errors: not_found, forbidden.
func (a *Accounts) Sessions(ctx context.Context, by domain.Actor, idOrName string) ([]domain.Session, error) {
	u, _, err := a.subject(ctx, by, idOrName, GetMe, GetUser)
	if err != nil {
		return nil, err
	}
	return a.auth.Sessions(ctx, u.ID)
}

// SecondFactor reports whether a user has a second factor, and how many recovery codes
// are left.
//
// Errors: not_found, forbidden.
func (a *Accounts) SecondFactor(ctx context.Context, by domain.Actor, idOrName string) (on bool, left int, err error) {
	u, _, err := a.subject(ctx, by, idOrName, GetMe, GetUser)
	if err != nil {
		return false, 0, err
	}
	return a.auth.SecondFactor(ctx, u.ID)
}

// subject finds the user of an operation. The operation is own for the principal's own account, and
// others for another account.
func (a *Accounts) subject(ctx context.Context, by domain.Actor, idOrName string, own, others Operation) (domain.User, Operation, error) {
	u, err := a.store.User(ctx, idOrName)
	op := others
	if err == nil && u.Name == by.Name {
		op = own
	}
	if denied := a.allow(ctx, op, by, string(op)); denied != nil { // do not reveal whether the account exists
		return domain.User{}, op, denied
	}
	return u, op, err
}

func (a *Accounts) object() object[domain.User] {
	return object[domain.User]{id: func(u domain.User) string { return u.ID }, find: a.store.User}
}

// account performs an operation on accounts. It works on a full disk too, because an operator must
// then be able to log in, or to lock someone out.
func account[T any](
	ctx context.Context,
	k *kernel,
	op Operation,
	m Meta,
	request any,
	o object[T],
	f func(tx *store.Tx) (T, error),
) (out T, repeated bool, err error) {
	if err := k.allow(ctx, op, m.By, string(op)); err != nil {
		return out, false, err
	}
	intent, err := k.intent(op, m, request)
	if err != nil {
		return out, false, err
	}
	intent.EvenFull = true
	return transact(ctx, k, intent, m, o, f)
}

// shownOnce performs an operation that returns a secret once. A repetition gets CodeAlreadyDone.
func shownOnce[T any](id func(T) string, suggestion string) object[T] {
	return object[T]{id: id, find: func(_ context.Context, id string) (none T, err error) {
		return none, domain.Errorf(domain.CodeAlreadyDone, "a request with this key already succeeded, and its secret is shown only once").
			Suggest(suggestion, id)
	}}
}

// NewUser describes a new user.
type NewUser struct {
	Meta     `json:"-"`
	Name     string
	Role     domain.Role
	Password string `json:"-"` // not even its digest is stored
}

// CreateUser creates a user.
//
// Errors: invalid (the name, the password, or the role), conflict (the name is taken), forbidden.
func (a *Accounts) CreateUser(ctx context.Context, req NewUser) (domain.User, error) {
	known, done, err := before(ctx, a.kernel, CreateUser, req.Meta, req, a.object())
	if err != nil || done {
		return known, err
	}
	u, err := a.auth.NewUser(ctx, req.Name, req.Password, req.Role, a.now())
	if err != nil {
		return domain.User{}, err
	}
	made, _, err := account(ctx, a.kernel, CreateUser, req.Meta, req, a.object(), func(tx *store.Tx) (domain.User, error) {
		if _, err := tx.User(u.Name); err == nil {
			return domain.User{}, domain.Errorf(domain.CodeConflict, "user %q already exists", u.Name).Suggest("choose another name")
		}
		tx.Audit("user:"+u.Name, "role "+string(u.Role), nil)
		return u, tx.CreateUser(u)
	})
	if err == nil {
		a.auth.EndSetup()
	}
	return made, err
}

// UserChange changes the fields of a user that are not nil.
type UserChange struct {
	Meta     `json:"-"`
	User     string // id or name
	Role     *domain.Role
	Disabled *bool
	Password *string `json:"-"` // not even its digest is stored
}

// UpdateUser changes a user and ends their sessions. It rejects a change that would leave no
// enabled administrator. A new password for another user removes their second factor, so that a
// user who lost their phone and recovery codes can log in again.
//
// Errors: invalid (the role or the password), not_found, conflict (the only administrator),
// forbidden.
func (a *Accounts) UpdateUser(ctx context.Context, req UserChange) (domain.User, error) {
	known, done, err := before(ctx, a.kernel, UpdateUser, req.Meta, req, a.object())
	if err != nil || done {
		return known, err
	}
	if req.Role != nil {
		if err := auth.CheckRole(*req.Role); err != nil {
			return domain.User{}, err
		}
	}
	hash := ""
	if req.Password != nil {
		u, err := a.store.User(ctx, req.User)
		if err != nil {
			return domain.User{}, err
		}
		if hash, err = a.auth.HashPassword(ctx, u.Name, *req.Password); err != nil {
			return domain.User{}, err
		}
	}
	edit := func(u *domain.User) (string, error) {
		what := ""
		if req.Role != nil && *req.Role != u.Role {
			u.Role, what = *req.Role, what+" role "+string(*req.Role)
		}
		if req.Disabled != nil && *req.Disabled != u.Disabled {
			u.Disabled, what = *req.Disabled, what+map[bool]string{true: " disabled", false: " enabled"}[*req.Disabled]
		}
		if hash != "" {
			u.PasswordHash, what = hash, what+" password"
		}
		return what, nil
	}
	return a.changeUser(ctx, UpdateUser, req.Meta, req, req.User, "", edit, func(tx *store.Tx, u domain.User) error {
		if hash == "" || u.Name == req.By.Name {
			return nil
		}
		factor, err := tx.SecondFactor(u.ID)
		if err != nil && domain.CodeOf(err) != domain.CodeCorrupt || err == nil && factor == "" {
			return err
		}
		tx.Record("user.second-factor", "user:"+u.Name, "off", nil)
		return tx.SetSecondFactor(u.ID, "")
	})
}

// changeUser changes a user and ends the sessions except the one with the hash keep. edit returns a
// description of the change, or "" if there is none. also, if not nil, runs after edit.
func (a *Accounts) changeUser(
	ctx context.Context,
	op Operation,
	m Meta,
	request any,
	idOrName, keep string,
	edit func(*domain.User) (string, error),
	also func(*store.Tx, domain.User) error,
) (domain.User, error) {
	changed := false
	u, repeated, err := account(ctx, a.kernel, op, m, request, a.object(), func(tx *store.Tx) (domain.User, error) {
		changed = false
		u, err := tx.User(idOrName)
		if err != nil {
			return u, err
		}
		others, err := tx.OtherAdmins(u.ID)
		if err != nil {
			return u, err
		}
		change, err := auth.ChangeUser(&u, others, edit)
		if err != nil || change.Reason == "" {
			return u, err
		}
		changed, change.Keep = true, keep
		if err := tx.ChangeUser(u, change); err != nil || also == nil {
			return u, err
		}
		return u, also(tx, u)
	})
	if err != nil {
		return domain.User{}, err
	}
	if changed && !repeated {
		a.auth.UserChanged(u, keep)
	}
	return u, nil
}

// UserLink is the subject of a user at the identity provider.
type UserLink struct {
	Meta    `json:"-"`
	User    string // id or name
	Subject string // empty: unlink the user
}

// LinkUser links a user to a subject of the identity provider, and ends all their sessions.
//
// Errors: invalid (the subject), not_found, conflict (no provider is configured, or another user is
// linked), forbidden.
func (a *Accounts) LinkUser(ctx context.Context, req UserLink) (domain.User, error) {
	known, done, err := before(ctx, a.kernel, LinkUser, req.Meta, req, a.object())
	if err != nil || done {
		return known, err
	}
	issuer := ""
	if req.Subject != "" {
		if issuer = a.auth.Issuer(); issuer == "" {
			return domain.User{}, domain.Errorf(domain.CodeConflict, "no identity provider is configured").
				Suggest("set login.oidc in the configuration")
		}
		if err := auth.CheckSubject(req.Subject); err != nil {
			return domain.User{}, err
		}
	}
	edit := func(u *domain.User) (string, error) {
		if u.Issuer == issuer && u.Subject == req.Subject {
			return "", nil
		}
		u.Issuer, u.Subject = issuer, req.Subject
		if req.Subject == "" {
			return " no longer linked to an identity provider", nil
		}
		return " linked to " + req.Subject + " of " + issuer, nil
	}
	return a.changeUser(ctx, LinkUser, req.Meta, req, req.User, "", edit, nil)
}

// UserNamed identifies a user.
type UserNamed struct {
	Meta `json:"-"`
	User string // id or name
}

// MakeLoginLink returns the secret of a link, /login/link?token=SECRET. The link logs a user in
// once within ten minutes, if no other way works. Only a local command may request it.
//
// Errors: not_found, conflict (the user is disabled), too_many, already_done, forbidden.
func (a *Accounts) MakeLoginLink(ctx context.Context, req UserNamed) (string, error) {
	link := shownOnce(func(string) string { return req.User }, "create another link with another key: kairosd user login-link %s")
	if _, done, err := before(ctx, a.kernel, MakeLoginLink, req.Meta, req, link); err != nil || done {
		return "", err
	}
	if req.By.Source != "cli" {
		return "", a.permit(
			ctx,
			MakeLoginLink,
			req.By,
			"user:"+req.User,
			domain.Errorf(domain.CodeForbidden, "login links can be created only on the machine of the server").
				Suggest("run there: kairosd user login-link NAME"),
		)
	}
	u, err := a.store.User(ctx, req.User)
	if err != nil {
		return "", err
	}
	if u.Disabled {
		return "", domain.Errorf(domain.CodeConflict, "user %s is disabled", u.Name).
			Suggest("enable the user first: kairosd user enable %s", u.Name)
	}
	secret, err := a.auth.OpenLink(u.ID) // the secret is not returned unless this is recorded
	if err != nil {
		return "", err
	}
	out, _, err := account(ctx, a.kernel, MakeLoginLink, req.Meta, req, link, func(tx *store.Tx) (string, error) {
		tx.Audit("user:"+u.Name, "", nil)
		return secret, nil
	})
	return out, err
}

// SignOut ends sessions of a user.
type SignOut struct {
	Meta    `json:"-"`
	User    string // id or name
	Session string // the hash of the session to end, as returned by Sessions; empty: all sessions
	Keep    string // the hash of the session to keep; empty: none
}

// SignOut ends sessions of a user. Only admins may end sessions of others.
//
// Errors: not_found, forbidden.
func (a *Accounts) SignOut(ctx context.Context, req SignOut) error {
	u, op, err := a.subject(ctx, req.By, req.User, SignOutSelf, SignOutUser)
	if err != nil {
		return err
	}
	_, repeated, err := account(ctx, a.kernel, op, req.Meta, req, a.object(), func(tx *store.Tx) (domain.User, error) {
		tx.Record("session.end", "user:"+u.Name, "", nil)
		if req.Session == "" {
			return u, tx.EndSessions(u.ID, req.Keep)
		}
		session, err := tx.Session(req.Session)
		if err != nil {
			return u, err
		}
		if session.UserID != u.ID {
			return u, domain.Errorf(domain.CodeNotFound, "session not found")
		}
		return u, tx.EndSession(req.Session)
	})
	switch {
	case err != nil || repeated:
		return err
	case req.Session != "":
		a.auth.SessionEnded(req.Session)
	default:
		a.auth.UserChanged(u, req.Keep)
	}
	return nil
}

// RemoveSecondFactor removes the second factor of a user. Only admins may remove that of others.
//
// Without one, it changes nothing.
//
// Errors: not_found, conflict (the role must have one), forbidden.
func (a *Accounts) RemoveSecondFactor(ctx context.Context, req UserNamed) error {
	u, op, err := a.subject(ctx, req.By, req.User, ChangeSecondFactor, RemoveSecondFactor)
	if err != nil {
		return err
	}
	_, _, err = account(ctx, a.kernel, op, req.Meta, req, a.object(), func(tx *store.Tx) (domain.User, error) {
		if u.Name == req.By.Name && a.auth.Demanded(u) {
			return u, domain.Errorf(domain.CodeConflict, "the role %s requires a second factor", u.Role).
				Suggest("for a new phone, another admin must remove this factor; then set up the new one at your next login")
		}
		factor, err := tx.SecondFactor(u.ID)
		if err != nil && domain.CodeOf(err) != domain.CodeCorrupt {
			return u, err
		} else if err == nil && factor == "" {
			return u, nil
		}
		tx.Record("user.second-factor", "user:"+u.Name, "off", nil)
		return u, tx.SetSecondFactor(u.ID, "")
	})
	return err
}
