package runs

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/views"
	"github.com/kairosd/kairosd/web/ui"
)

// addViews fills in the views of the user and the shared views.
func (s *section) addViews(c *ui.Context, p *RunsPage, q string, valid bool) error {
	saved, err := s.App.Views.List(c, c.Principal.Actor())
	if err != nil {
		return err
	}
	p.Views = append(p.Views, views.Common(c, q)...)
	for _, v := range saved {
		p.Views = append(p.Views, kit.Link{Text: kit.Escape(v.Name), Href: "/runs?q=" + url.QueryEscape(v.Query), Current: v.Query == q})
		if v.Query == q {
			p.Saved = v.Name
		}
	}
	known := slices.ContainsFunc(p.Chips, func(c kit.Link) bool { return c.Current && c.Count != "" }) ||
		slices.ContainsFunc(views.Common(c, q), func(c kit.Link) bool { return c.Current })
	p.CanSave = valid && q != "" && !known && c.Principal.Role.Includes(domain.RoleOperator)
	begins, err := s.App.Preferences.Get(c, c.Principal.Actor(), views.DefaultKey)
	p.DefaultView, p.CanDefault = begins != "" && begins == q, valid && q != "" && begins != q
	return err
}

// saveView handles the form that saves a query as a view, or deletes a view.
func (s *section) saveView(c *ui.Context) error {
	change := app.ViewChange{Meta: c.Meta(), Name: c.Field("name"), Query: c.Field("q"), Shared: c.Field("shared") != ""}
	var err error
	if c.Field("remove") != "" {
		_, err = s.App.Views.Delete(c, change)
	} else {
		_, err = s.App.Views.Save(c, change)
	}
	if err != nil {
		return err
	}
	return c.RedirectTo("/runs?q=" + url.QueryEscape(strings.TrimSpace(change.Query)))
}

// setDefaultView handles the form that sets or removes the default view of the run list.
func (s *section) setDefaultView(c *ui.Context) error {
	q := strings.TrimSpace(c.Field("q"))
	keep := q
	if c.Field("remove") != "" {
		keep = ""
	} else if _, problem := filter.Parse(q, time.Now()); problem != nil {
		return problem
	}
	if err := s.App.Preferences.Set(c, app.Preference{Meta: c.Meta(), Key: views.DefaultKey, Value: keep}); err != nil {
		return err
	}
	if c.Field("back") == "/me" {
		return c.RedirectTo("/me")
	}
	return c.RedirectTo(link.List("/runs", q))
}
