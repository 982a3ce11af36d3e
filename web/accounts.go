package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// Accounts manages users and API tokens. Every change is recorded with its
// actor, and every refusal too.
type Accounts interface {
	Users(ctx context.Context) ([]domain.User, error)
	User(ctx context.Context, idOrName string) (domain.User, error)
	CreateUser(ctx context.Context, actor domain.Actor, name, password string, role domain.Role) (domain.User, error)
	// UpdateUser changes what is not nil; the last admin cannot be disabled or
	// made less (CodeConflict).
	UpdateUser(ctx context.Context, actor domain.Actor, idOrName string, role *domain.Role, password *string, disabled *bool) (domain.User, error)
	// LinkUser says who a user is at the identity provider; an empty subject ends
	// the link.
	LinkUser(ctx context.Context, actor domain.Actor, idOrName, subject string) (domain.User, error)
	// ChangePassword checks the old one, and ends all sessions but keep.
	ChangePassword(ctx context.Context, u domain.User, old, password, keep string) error
	Sessions(ctx context.Context, userID string) ([]domain.Session, error)
	EndSession(ctx context.Context, actor domain.Actor, userID, hash string) error
	// EndSessions ends all sessions of a user but the one with the secret keep.
	EndSessions(ctx context.Context, actor domain.Actor, idOrName, keep string) error
	Tokens(ctx context.Context) ([]domain.Token, error)
	// CreateToken returns the token's text, which cannot be seen again.
	CreateToken(ctx context.Context, actor domain.Actor, name string, role domain.Role, scopes []string, lifetime time.Duration) (string, domain.Token, error)
	RevokeToken(ctx context.Context, actor domain.Actor, id, reason string) error
}

var roles = []domain.Role{domain.RoleViewer, domain.RoleOperator, domain.RoleAuthor, domain.RoleAdmin}

// roleWords say what a role may do.
var roleWords = map[domain.Role]string{
	domain.RoleViewer:   locale.Mark("viewer: sees everything"),
	domain.RoleOperator: locale.Mark("operator: also starts, resumes and decides"),
	domain.RoleAuthor:   locale.Mark("author: also writes plans"),
	domain.RoleAdmin:    locale.Mark("admin: also users, tokens and the installation"),
}

func (r *request) roleOptions(selected domain.Role) []view.Option {
	var out []view.Option
	for _, role := range roles {
		out = append(out, view.Option{Value: string(role), Text: r.t(roleWords[role]), Selected: role == selected})
	}
	return out
}

// accounts are the installation's, or none are managed here.
func (r *request) accounts() (Accounts, error) {
	if r.s.Accounts == nil {
		return nil, domain.Errorf(domain.CodeNotFound, "accounts are not managed here")
	}
	return r.s.Accounts, nil
}

func (r *request) settings() error { return r.c.Redirect(http.StatusSeeOther, "/settings/users") }

// users lists who may log in, with a form for one more.
func (r *request) users() error { return r.usersPage(http.StatusOK, "") }

func (r *request) usersPage(code int, problem string) error {
	a, err := r.accounts()
	if err != nil {
		return err
	}
	list, err := a.Users(r.ctx)
	if err != nil {
		return err
	}
	p := view.UsersPage{Shell: r.shell("settings", "Users"), Idem: newID(), Error: problem, Name: r.c.FormValue("name"), Roles: r.roleOptions(domain.RoleOperator)}
	for _, u := range list {
		row := view.UserRow{Name: visible(u.Name), Href: "/settings/users/" + url.PathEscape(u.ID), Role: string(u.Role), Disabled: u.Disabled, Linked: u.Subject != "", Created: r.time(u.CreatedAt), Seen: r.time(u.LastSeenAt)}
		sessions, err := a.Sessions(r.ctx, u.ID)
		if err != nil {
			return err
		}
		row.Sessions = r.number(int64(len(sessions)))
		row.Seen = r.time(lastSeen(u, sessions))
		if row.Second, err = r.secondFactorWord(u); err != nil {
			return err
		}
		p.Users = append(p.Users, row)
	}
	return r.render(code, view.Users(p))
}

func (r *request) createUser() error {
	a, err := r.accounts()
	if err != nil {
		return err
	}
	to, err := r.result("", func() (string, error) {
		u, err := a.CreateUser(r.ctx, r.who.actor(), strings.TrimSpace(r.c.FormValue("name")), r.c.FormValue("password"), domain.Role(r.c.FormValue("role")))
		return "/settings/users/" + url.PathEscape(u.ID), err
	})
	if problem, ok := r.refused(err); ok {
		return r.usersPage(http.StatusUnprocessableEntity, problem)
	}
	if err != nil {
		return err
	}
	return r.to(to)
}

// lastSeen is when a user was last there: a login that is used counts, not only its
// beginning.
func lastSeen(u domain.User, sessions []domain.Session) time.Time {
	last := u.LastSeenAt
	for _, s := range sessions {
		if s.SeenAt.After(last) {
			last = s.SeenAt
		}
	}
	return last
}

func (r *request) user() error { return r.userPage(http.StatusOK, "") }

func (r *request) userPage(code int, problem string) error {
	a, err := r.accounts()
	if err != nil {
		return err
	}
	u, err := a.User(r.ctx, r.c.Param("user"))
	if err != nil {
		return err
	}
	p := view.UserPage{Shell: r.shell("settings", "Users"), Idem: newID(), Error: problem, Name: visible(u.Name), Action: "/settings/users/" + url.PathEscape(u.ID),
		Role: string(u.Role), Roles: r.roleOptions(u.Role), Disabled: u.Disabled, Self: u.ID == r.who.ID, Created: r.time(u.CreatedAt)}
	sessions, err := a.Sessions(r.ctx, u.ID)
	if err != nil {
		return err
	}
	p.Seen = r.time(lastSeen(u, sessions))
	_, p.Provider = r.s.Auth.Ways()
	p.Subject, p.Issuer, p.HasPassword = visible(u.Subject), visible(u.Issuer), u.PasswordHash != ""
	if p.Sessions, err = r.sessions(u.ID); err != nil {
		return err
	}
	on, _, err := r.s.Auth.SecondFactor(r.ctx, u.ID)
	if err != nil {
		return err
	}
	p.Second, p.CanTakeSecond = r.t(secondWords[on]), on && u.ID != r.who.ID
	return r.render(code, view.User(p))
}

// changeUser does one thing to a user: role, password, disable, enable, sign-out.
func (r *request) changeUser() error {
	a, err := r.accounts()
	if err != nil {
		return err
	}
	id := r.c.Param("user")
	to, err := r.result("", func() (string, error) {
		var role *domain.Role
		var password *string
		var disabled *bool
		switch do := r.c.FormValue("do"); do {
		case "role":
			v := domain.Role(r.c.FormValue("role"))
			role = &v
		case "password":
			v := r.c.FormValue("password")
			password = &v
		case "disable", "enable":
			v := do == "disable"
			disabled = &v
		case "link", "unlink":
			subject := ""
			if do == "link" {
				if subject = strings.TrimSpace(r.c.FormValue("subject")); subject == "" {
					return "", domain.Errorf(domain.CodeInvalid, "no subject is given").Suggest("the audit log names it where the login was refused")
				}
			}
			u, err := a.LinkUser(r.ctx, r.who.actor(), id, subject)
			return "/settings/users/" + url.PathEscape(u.ID), err
		case "second-factor-off":
			return "/settings/users/" + url.PathEscape(id), r.s.Auth.DisableSecondFactor(r.ctx, r.who.actor(), id)
		case "sign-out":
			keep := ""
			if id == r.who.ID {
				keep = r.who.secret
			}
			return "/settings/users/" + url.PathEscape(id), a.EndSessions(r.ctx, r.who.actor(), id, keep)
		default:
			return "", domain.Errorf(domain.CodeInvalid, "nothing is done by %q", do)
		}
		u, err := a.UpdateUser(r.ctx, r.who.actor(), id, role, password, disabled)
		return "/settings/users/" + url.PathEscape(u.ID), err
	})
	if problem, ok := r.refused(err); ok {
		return r.userPage(http.StatusUnprocessableEntity, problem)
	}
	if err != nil {
		return err
	}
	return r.to(to)
}

// sessions are a user's open logins.
func (r *request) sessions(userID string) ([]view.SessionRow, error) {
	a, err := r.accounts()
	if err != nil {
		return nil, err
	}
	list, err := a.Sessions(r.ctx, userID)
	if err != nil {
		return nil, err
	}
	var out []view.SessionRow
	for _, s := range list {
		out = append(out, view.SessionRow{ID: s.IDHash, Agent: visible(s.Agent), Address: visible(s.Address), Created: r.time(s.CreatedAt), Seen: r.time(s.SeenAt),
			This: r.who.secret != "" && s.IDHash == hashOf(r.who.secret)})
	}
	return out, nil
}
