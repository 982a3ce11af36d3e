package account

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/query"
	"github.com/kairosd/kairosd/web/ui"
)

var roles = []domain.Role{domain.RoleViewer, domain.RoleOperator, domain.RoleAuthor, domain.RoleAdmin}

// roleNames describe the roles in the form.
var roleNames = map[domain.Role]string{
	domain.RoleViewer:   locale.Mark("viewer: sees everything"),
	domain.RoleOperator: locale.Mark("operator: also starts, resumes and decides"),
	domain.RoleAuthor:   locale.Mark("author: also writes plans"),
	domain.RoleAdmin:    locale.Mark("admin: also users, tokens, and the server"),
}

func (s *section) roleOptions(c *ui.Context, selected domain.Role) []kit.Option {
	var out []kit.Option
	for _, role := range roles {
		out = append(out, kit.Option{Value: string(role), Text: c.T(roleNames[role]), Selected: role == selected})
	}
	return out
}

// users serves the user list, with the form that creates a user.
func (s *section) users(c *ui.Context) error { return s.usersPage(c, http.StatusOK, "") }

func (s *section) usersPage(c *ui.Context, code int, problem string) error {
	all, err := s.App.Accounts.Users(c, c.Principal.Actor())
	if err != nil {
		return err
	}
	p := UsersPage{
		Shell: c.Shell("settings", "Users"),
		list: listOf(c, "/settings/users", c.T("Filter users"), "marta role:admin state:active", query.Preset{Word: c.T("All")},
			query.Preset{Word: c.T("Active"), Query: "state:active"}, query.Preset{Word: c.T("Disabled"), Query: "state:disabled"},
			query.Preset{Word: c.T("Admins"), Query: "role:admin"}),
		Idem:  kit.NewID(),
		Error: problem,
		Name:  c.Field("name"),
		Roles: s.roleOptions(c, domain.RoleOperator),
	}
	users, err := page(c, &p.list, all, func(u domain.User) string { return u.ID }, userFields)
	if err != nil {
		return err
	}
	for _, u := range users {
		row := UserRow{
			Name:     kit.Escape(u.Name),
			Href:     "/settings/users/" + url.PathEscape(u.ID),
			Role:     string(u.Role),
			Disabled: u.Disabled,
			Linked:   u.Subject != "",
			Created:  c.Time(u.CreatedAt),
			Seen:     c.Time(u.LastSeenAt),
		}
		sessions, err := s.App.Accounts.Sessions(c, c.Principal.Actor(), u.ID)
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

// fields are the properties by which users and tokens can be filtered.
type fields struct {
	Name  string `json:"name"`
	Role  string `json:"role"`
	State string `json:"state"`
	By    string `json:"by,omitempty"`
}

func userFields(u domain.User) fields {
	f := fields{Name: u.Name, Role: string(u.Role), State: "active"}
	if u.Disabled {
		f.State = "disabled"
	}
	return f
}

func (s *section) createUser(c *ui.Context) error {
	u, err := s.App.Accounts.CreateUser(
		c,
		app.NewUser{
			Meta:     c.Meta(),
			Name:     strings.TrimSpace(c.Field("name")),
			Password: c.Field("password"),
			Role:     domain.Role(c.Field("role")),
		},
	)
	if problem, ok := c.Refused(err); ok {
		return s.usersPage(c, http.StatusUnprocessableEntity, problem)
	}
	if err != nil {
		return err
	}
	return c.RedirectTo("/settings/users/" + url.PathEscape(u.ID))
}

// lastSeen returns when a user was last active. Requests of open sessions count, not only logins.
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
	u, err := s.App.Accounts.User(c, c.Principal.Actor(), c.Param("user"))
	if err != nil {
		return err
	}
	p := UserPage{
		Shell:    c.Shell("settings", "Users"),
		Idem:     kit.NewID(),
		Error:    problem,
		Name:     kit.Escape(u.Name),
		Action:   "/settings/users/" + url.PathEscape(u.ID),
		Role:     string(u.Role),
		Roles:    s.roleOptions(c, u.Role),
		Disabled: u.Disabled,
		Self:     u.ID == c.Principal.ID,
		Created:  c.Time(u.CreatedAt),
	}
	sessions, err := s.App.Accounts.Sessions(c, c.Principal.Actor(), u.ID)
	if err != nil {
		return err
	}
	p.Seen = c.Time(lastSeen(u, sessions))
	_, p.Provider = s.Auth.LoginMethods()
	p.Subject, p.Issuer, p.HasPassword = kit.Escape(u.Subject), kit.Escape(u.Issuer), u.PasswordHash != ""
	if p.Sessions, err = s.sessions(c, u.ID); err != nil {
		return err
	}
	on, _, err := s.App.Accounts.SecondFactor(c, c.Principal.Actor(), u.ID)
	if err != nil {
		return err
	}
	p.Second, p.CanTakeSecond = c.T(secondFactorTexts[on]), on && u.ID != c.Principal.ID
	return c.Render(code, User(p))
}

// changeUser handles the form that changes a user: role, password, disabling, enabling, or signing
// out.
func (s *section) changeUser(c *ui.Context) error {
	id := c.Param("user")
	err := s.change(c, id)
	if problem, ok := c.Refused(err); ok {
		return s.userPage(c, http.StatusUnprocessableEntity, problem)
	}
	if err != nil {
		return err
	}
	return c.RedirectTo("/settings/users/" + url.PathEscape(id))
}

func (s *section) change(c *ui.Context, id string) error {
	change := app.UserChange{Meta: c.Meta(), User: id}
	switch do := c.Field("do"); do {
	case "role":
		change.Role = new(domain.Role(c.Field("role")))
	case "password":
		change.Password = new(c.Field("password"))
	case "disable", "enable":
		change.Disabled = new(do == "disable")
	case "link", "unlink":
		subject := ""
		if do == "link" {
			if subject = strings.TrimSpace(c.Field("subject")); subject == "" {
				return domain.Errorf(domain.CodeInvalid, "no subject is given").
					Suggest("the audit log names it where the login was refused")
			}
		}
		_, err := s.App.Accounts.LinkUser(c, app.UserLink{Meta: c.Meta(), User: id, Subject: subject})
		return err
	case "second-factor-off":
		return s.App.Accounts.RemoveSecondFactor(c, app.UserNamed{Meta: c.Meta(), User: id})
	case "sign-out":
		out := app.SignOut{Meta: c.Meta(), User: id}
		if id == c.Principal.ID {
			out.Keep = app.SessionHash(c.Principal.Secret)
		}
		return s.App.Accounts.SignOut(c, out)
	default:
		return domain.Errorf(domain.CodeInvalid, "nothing is done by %q", do)
	}
	_, err := s.App.Accounts.UpdateUser(c, change)
	return err
}

// sessions returns the open sessions of a user.
func (s *section) sessions(c *ui.Context, userID string) ([]SessionRow, error) {
	list, err := s.App.Accounts.Sessions(c, c.Principal.Actor(), userID)
	if err != nil {
		return nil, err
	}
	var out []SessionRow
	for _, s := range list {
		out = append(
			out,
			SessionRow{
				ID:      s.IDHash,
				Agent:   kit.Escape(s.Agent),
				Address: kit.Escape(s.Address),
				Created: c.Time(s.CreatedAt),
				Seen:    c.Time(s.SeenAt),
				Current: c.Principal.Secret != "" && s.IDHash == app.SessionHash(c.Principal.Secret),
			},
		)
	}
	return out, nil
}
