package web

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

// me is the page of whoever reads it: password and open logins.
func (r *request) me() error { return r.mePage(http.StatusOK, "") }

func (r *request) mePage(code int, problem string) error {
	list, err := r.sessions(r.who.ID)
	if err != nil {
		return err
	}
	second, err := r.secondFactorWord(r.who.User)
	if err != nil {
		return err
	}
	begins, views, err := r.startViews()
	if err != nil {
		return err
	}
	return r.render(code, view.Me(view.MePage{Begins: begins, Views: views, Second: second, ZoneSet: r.zoneSet(), ZoneError: r.c.QueryParam("zone") == "unknown", Memory: true, Shell: r.shell("me", "You"), Idem: newID(), Error: problem, Name: visible(r.who.Name), Role: r.t(roleWords[r.who.Role]), HasPassword: r.who.PasswordHash != "", Sessions: list}))
}

// startViews are the views that one's run list may open with, and the query of the
// one that it does open with (R10).
func (r *request) startViews() (begins string, options []view.Option, err error) {
	begins, err = r.s.App.Preferences.Get(r.ctx, r.who.actor(), defaultViewKey)
	if err != nil {
		return "", nil, err
	}
	saved, err := r.s.App.Views.List(r.ctx, r.who.actor())
	if err != nil {
		return "", nil, err
	}
	known := begins == ""
	add := func(query, text string) {
		if slices.ContainsFunc(options, func(o view.Option) bool { return o.Value == query }) {
			return
		}
		known = known || query == begins
		options = append(options, view.Option{Value: query, Text: text, Selected: query == begins})
	}
	add("", r.t("All runs"))
	for _, l := range r.systemViews("") {
		if u, err := url.Parse(l.Href); err == nil {
			add(u.Query().Get("q"), l.Text)
		}
	}
	for _, v := range saved {
		add(v.Query, visible(v.Name))
	}
	if !known {
		add(begins, visible(begins))
	}
	return begins, options, nil
}

func (r *request) changePassword() error {
	a, err := r.accounts()
	if err != nil {
		return err
	}
	if r.c.FormValue("password") != r.c.FormValue("again") {
		return r.mePage(http.StatusUnprocessableEntity, r.t("The two new passwords differ."))
	}
	err = a.ChangePassword(r.ctx, r.who.User, r.c.FormValue("old"), r.c.FormValue("password"), r.who.secret)
	if problem, ok := r.refused(err); ok {
		return r.mePage(refusedWith(err), problem)
	}
	if err != nil {
		return err
	}
	return r.to("/me")
}

// signOut ends one of one's own logins, or all but this one.
func (r *request) signOut() error {
	a, err := r.accounts()
	if err != nil {
		return err
	}
	return r.once(func() (string, error) {
		switch hash := r.c.FormValue("session"); hash {
		case "":
			return "", domain.Errorf(domain.CodeInvalid, "no session is named")
		case "others":
			return "/me", a.EndSessions(r.ctx, r.who.actor(), r.who.ID, r.who.secret)
		default:
			return "/me", a.EndSession(r.ctx, r.who.actor(), r.who.ID, hash)
		}
	})
}

// hashOf is how a session's secret is stored.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
