package account

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

var roles = []domain.Role{domain.RoleViewer, domain.RoleOperator, domain.RoleAuthor, domain.RoleAdmin}

// roleWords say what a role may do.
var roleWords = map[domain.Role]string{
	domain.RoleViewer:   locale.Mark("viewer: sees everything"),
	domain.RoleOperator: locale.Mark("operator: also starts, resumes and decides"),
	domain.RoleAuthor:   locale.Mark("author: also writes plans"),
	domain.RoleAdmin:    locale.Mark("admin: also users, tokens and the installation"),
}

func (s *section) roleOptions(c *ui.Context, selected domain.Role) []kit.Option {
	var out []kit.Option
	for _, role := range roles {
		out = append(out, kit.Option{Value: string(role), Text: c.T(roleWords[role]), Selected: role == selected})
	}
	return out
}

// accounts are the installation's, or none are managed here.
func (s *section) accounts(c *ui.Context) (Accounts, error) {
	if s.Accounts == nil {
		return nil, domain.Errorf(domain.CodeNotFound, "accounts are not managed here")
	}
	return s.Accounts, nil
}

// users lists who may log in, with a form for one more.
func (s *section) users(c *ui.Context) error { return s.usersPage(c, http.StatusOK, "") }

func (s *section) usersPage(c *ui.Context, code int, problem string) error {
	a, err := s.accounts(c)
	if err != nil {
		return err
	}
	list, err := a.Users(c)
	if err != nil {
		return err
	}
	p := UsersPage{Shell: c.Shell("settings", "Users"), Idem: kit.NewID(), Error: problem, Name: c.Field("name"), Roles: s.roleOptions(c, domain.RoleOperator)}
	for _, u := range list {
		row := UserRow{Name: kit.Visible(u.Name), Href: "/settings/users/" + url.PathEscape(u.ID), Role: string(u.Role), Disabled: u.Disabled, Linked: u.Subject != "", Created: c.Time(u.CreatedAt), Seen: c.Time(u.LastSeenAt)}
		sessions, err := a.Sessions(c, u.ID)
		if err != nil {
			return err
		}
		row.Sessions = c.Number(int64(len(sessions)))
		row.Seen = c.Time(lastSeen(u, sessions))
		if row.Second, err = s.secondFactorWord(c, u); err != nil {
			return err
		}
		p.Users = append(p.Users, row)
	}
	return c.Render(code, Users(p))
}

func (s *section) createUser(c *ui.Context) error {
	a, err := s.accounts(c)
	if err != nil {
		return err
	}
	to, err := c.Result("", func() (string, error) {
		u, err := a.CreateUser(c, c.Who.Actor(), strings.TrimSpace(c.Field("name")), c.Field("password"), domain.Role(c.Field("role")))
		return "/settings/users/" + url.PathEscape(u.ID), err
	})
	if problem, ok := c.Refused(err); ok {
		return s.usersPage(c, http.StatusUnprocessableEntity, problem)
	}
	if err != nil {
		return err
	}
	return c.To(to)
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

func (s *section) user(c *ui.Context) error { return s.userPage(c, http.StatusOK, "") }

func (s *section) userPage(c *ui.Context, code int, problem string) error {
	a, err := s.accounts(c)
	if err != nil {
		return err
	}
	u, err := a.User(c, c.Param("user"))
	if err != nil {
		return err
	}
	p := UserPage{Shell: c.Shell("settings", "Users"), Idem: kit.NewID(), Error: problem, Name: kit.Visible(u.Name), Action: "/settings/users/" + url.PathEscape(u.ID),
		Role: string(u.Role), Roles: s.roleOptions(c, u.Role), Disabled: u.Disabled, Self: u.ID == c.Who.ID, Created: c.Time(u.CreatedAt)}
	sessions, err := a.Sessions(c, u.ID)
	if err != nil {
		return err
	}
	p.Seen = c.Time(lastSeen(u, sessions))
	_, p.Provider = s.Auth.Ways()
	p.Subject, p.Issuer, p.HasPassword = kit.Visible(u.Subject), kit.Visible(u.Issuer), u.PasswordHash != ""
	if p.Sessions, err = s.sessions(c, u.ID); err != nil {
		return err
	}
	on, _, err := s.Auth.SecondFactor(c, u.ID)
	if err != nil {
		return err
	}
	p.Second, p.CanTakeSecond = c.T(secondWords[on]), on && u.ID != c.Who.ID
	return c.Render(code, User(p))
}

// changeUser does one thing to a user: role, password, disable, enable, sign-out.
func (s *section) changeUser(c *ui.Context) error {
	a, err := s.accounts(c)
	if err != nil {
		return err
	}
	id := c.Param("user")
	to, err := c.Result("", func() (string, error) {
		var role *domain.Role
		var password *string
		var disabled *bool
		switch do := c.Field("do"); do {
		case "role":
			v := domain.Role(c.Field("role"))
			role = &v
		case "password":
			v := c.Field("password")
			password = &v
		case "disable", "enable":
			v := do == "disable"
			disabled = &v
		case "link", "unlink":
			subject := ""
			if do == "link" {
				if subject = strings.TrimSpace(c.Field("subject")); subject == "" {
					return "", domain.Errorf(domain.CodeInvalid, "no subject is given").Suggest("the audit log names it where the login was refused")
				}
			}
			u, err := a.LinkUser(c, c.Who.Actor(), id, subject)
			return "/settings/users/" + url.PathEscape(u.ID), err
		case "second-factor-off":
			return "/settings/users/" + url.PathEscape(id), s.Auth.DisableSecondFactor(c, c.Who.Actor(), id)
		case "sign-out":
			keep := ""
			if id == c.Who.ID {
				keep = c.Who.Secret
			}
			return "/settings/users/" + url.PathEscape(id), a.EndSessions(c, c.Who.Actor(), id, keep)
		default:
			return "", domain.Errorf(domain.CodeInvalid, "nothing is done by %q", do)
		}
		u, err := a.UpdateUser(c, c.Who.Actor(), id, role, password, disabled)
		return "/settings/users/" + url.PathEscape(u.ID), err
	})
	if problem, ok := c.Refused(err); ok {
		return s.userPage(c, http.StatusUnprocessableEntity, problem)
	}
	if err != nil {
		return err
	}
	return c.To(to)
}

// sessions are a user's open logins.
func (s *section) sessions(c *ui.Context, userID string) ([]SessionRow, error) {
	a, err := s.accounts(c)
	if err != nil {
		return nil, err
	}
	list, err := a.Sessions(c, userID)
	if err != nil {
		return nil, err
	}
	var out []SessionRow
	for _, s := range list {
		out = append(out, SessionRow{ID: s.IDHash, Agent: kit.Visible(s.Agent), Address: kit.Visible(s.Address), Created: c.Time(s.CreatedAt), Seen: c.Time(s.SeenAt),
			This: c.Who.Secret != "" && s.IDHash == hashOf(c.Who.Secret)})
	}
	return out, nil
}
