package account

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/views"
	"github.com/kairosd/kairosd/web/ui"
)

// me serves the account page of the user.
func (s *section) me(c *ui.Context) error { return s.mePage(c, http.StatusOK, "") }

func (s *section) mePage(c *ui.Context, code int, problem string) error {
	list, err := s.sessions(c, c.Principal.ID)
	if err != nil {
		return err
	}
	second, err := s.secondFactorWord(c, c.Principal.User)
	if err != nil {
		return err
	}
	begins, views, err := s.startViews(c)
	if err != nil {
		return err
	}
	return c.Render(
		code,
		Me(
			MePage{
				Begins:      begins,
				Views:       views,
				Second:      second,
				ZoneSet:     c.ZoneSet(),
				ZoneError:   c.Query("zone") == "unknown",
				Shell:       c.Shell("me", "You"),
				Idem:        kit.NewID(),
				Error:       problem,
				Name:        kit.Escape(c.Principal.Name),
				Role:        c.T(roleNames[c.Principal.Role]),
				HasPassword: c.Principal.PasswordHash != "",
				Sessions:    list,
			},
		),
	)
}

// startViews returns the views that can be the default of the user's run list, and the query of the
// current default.
func (s *section) startViews(c *ui.Context) (begins string, options []kit.Option, err error) {
	begins, err = s.App.Preferences.Get(c, c.Principal.Actor(), views.DefaultKey)
	if err != nil {
		return "", nil, err
	}
	saved, err := s.App.Views.List(c, c.Principal.Actor())
	if err != nil {
		return "", nil, err
	}
	known := begins == ""
	add := func(query, text string) {
		if slices.ContainsFunc(options, func(o kit.Option) bool { return o.Value == query }) {
			return
		}
		known = known || query == begins
		options = append(options, kit.Option{Value: query, Text: text, Selected: query == begins})
	}
	add("", c.T("All runs"))
	for _, l := range views.Common(c, "") {
		if u, err := url.Parse(l.Href); err == nil {
			add(u.Query().Get("q"), l.Text)
		}
	}
	for _, v := range saved {
		add(v.Query, kit.Escape(v.Name))
	}
	if !known {
		add(begins, kit.Escape(begins))
	}
	return begins, options, nil
}

func (s *section) changePassword(c *ui.Context) error {
	if c.Field("password") != c.Field("again") {
		return s.mePage(c, http.StatusUnprocessableEntity, c.T("The two new passwords differ."))
	}
	err := s.App.Accounts.ChangePassword(
		c,
		app.PasswordChange{Meta: c.Meta(), Old: c.Field("old"), New: c.Field("password"), Keep: app.SessionHash(c.Principal.Secret)},
	)
	if problem, ok := c.Refused(err); ok {
		return s.mePage(c, ui.RefusedWith(err), problem)
	}
	if err != nil {
		return err
	}
	return c.RedirectTo("/me")
}

// signOut handles the form that ends one of the user's sessions, or all other sessions.
func (s *section) signOut(c *ui.Context) error {
	out := app.SignOut{Meta: c.Meta(), User: c.Principal.ID, Session: c.Field("session")}
	switch out.Session {
	case "":
		return domain.Errorf(domain.CodeInvalid, "no session is named")
	case "others":
		out.Session, out.Keep = "", app.SessionHash(c.Principal.Secret)
	}
	if err := s.App.Accounts.SignOut(c, out); err != nil {
		return err
	}
	return c.RedirectTo("/me")
}
