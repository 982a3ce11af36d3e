// Package docs serves the embedded documentation of this version of kairosd, with a search.
package docs

import (
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/kairosd/kairosd/docs"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// Section returns the routes of these pages.
func Section() ui.Section {
	s := &section{library: newLibrary(docs.Files)}
	return ui.Section{Routes: []ui.Route{
		{Get: "/docs", Operation: app.GetVersion, Handle: s.page},
		{Get: "/docs/:page", Operation: app.GetVersion, Handle: s.page},
		{Get: "/docs/:folder/:page", Operation: app.GetVersion, Handle: s.page},
		{Get: "/docs/img/:picture", Operation: app.GetVersion, Handle: s.picture},
	}}
}

type section struct{ library *library }

// page serves a page, or the results of a search.
func (s *section) page(c *ui.Context) error {
	name := path.Join(c.Param("folder"), c.Param("page"))
	if to, ok := strings.CutSuffix(name, ".md"); ok {
		return c.Echo.Redirect(http.StatusSeeOther, "/docs/"+to)
	}
	if name == "" {
		name = indexPage
	}
	if name == indexPage && c.Param("page") != "" {
		return c.Echo.Redirect(http.StatusSeeOther, "/docs")
	}
	if query := strings.TrimSpace(c.Query("q")); query != "" {
		p := page{Shell: c.Shell("docs", "Search the documentation"), Query: query, Groups: s.library.contents("")}
		p.Hits = s.library.search(query)
		return c.Render(http.StatusOK, results(p))
	}
	title, text, err := s.library.render(name)
	if errors.Is(err, fs.ErrNotExist) {
		return domain.Errorf(domain.CodeNotFound, "page %q not found", name).Suggest("search the documentation at /docs")
	}
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, article(page{Shell: c.Shell("docs", title), Text: text, Groups: s.library.contents(name)}))
}

// picture serves a screenshot.
func (s *section) picture(c *ui.Context) error {
	picture, err := fs.ReadFile(docs.Files, path.Join("img", path.Base(c.Param("picture"))))
	if err != nil {
		return domain.Errorf(domain.CodeNotFound, "picture not found")
	}
	c.Echo.Response().Header().Set("Cache-Control", "private, max-age=3600")
	return c.Echo.Blob(http.StatusOK, "image/png", picture)
}

// page is the model of a page of the documentation, or of search results.
type page struct {
	kit.Shell
	Query  string
	Text   string // HTML
	Hits   []hit
	Groups []group
}
