package plans

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/diagram"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/form"
	"github.com/kairosd/kairosd/web/part/plan"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// versions fills in the history of a plan: author, reason, results, and active runs of each
// version.
func (b *planPage) versions() error {
	versions, err := b.Reader.Versions(b, b.stored.ID)
	if err != nil {
		return err
	}
	runs, err := b.Reader.VersionRuns(b, b.stored.ID, b.Site.Now().AddDate(0, 0, -rateDays))
	if err != nil {
		return err
	}
	for _, v := range versions {
		b.page.Versions = append(b.page.Versions, b.versionRow(v, runs[v.Number]))
	}
	return nil
}

func (b *planPage) versionRow(v domain.Version, n domain.VersionRuns) VersionRow {
	row := VersionRow{Number: fmt.Sprintf("v%d", v.Number), Href: fmt.Sprintf("%s/v/%d", b.path, v.Number), Hash: v.Hash[:12],
		Author: kit.Escape(v.Author), Origin: v.Origin, Reason: plan.Reason(b.Context,
			v.Reason), At: b.Time(v.CreatedAt), Current: v.Number == b.version.Number, InUse: v.Number == b.stored.Latest}
	if v.Number > 1 {
		row.Diff = fmt.Sprintf("%s/diff/%d/%d", b.path, v.Number-1, v.Number)
	}
	if b.Principal.Role.Includes(domain.RoleAuthor) && !row.InUse {
		row.Restore = row.Href + "/restore"
	}
	of := fmt.Sprintf("plan:%s v:%d", filter.Quote(b.stored.Key), v.Number)
	if n.Ended > 0 {
		row.Runs = b.Context.Number(n.Ended)
		row.RunsHref = link.List("/runs", fmt.Sprintf("%s since:%dd", of, rateDays))
	}
	if done := n.Completed + n.Failed; done > 0 {
		row.Rate, row.Bad = b.Display.Lang.Percent(float64(n.Completed)/float64(done)), n.Failed > 0
	}
	if n.Active > 0 {
		row.Active = b.N(int(n.Active), "%s active run", "%s active runs")
		row.ActiveHref = link.List("/runs", of+" status:queued,running,waiting")
	}
	return row
}

// rights fills in the roles required for actions on the plan, and the permissions of its tools.
func (b *planPage) rights() error {
	b.page.Rights = []kit.Fact{{Term: b.T("Start, resume, and fork runs"), Text: b.T("operators")},
		{Term: b.T("Edit, restore, and archive the plan; resume runs with another version"), Text: b.T("authors")}}
	used := map[string][]string{}
	for i := range b.program.Nodes {
		if t := b.program.Nodes[i].Tool; t != "" {
			used[t] = append(used[t], b.program.Nodes[i].ID)
		}
	}
	if len(used) == 0 {
		return nil
	}
	list, err := b.App.Tools.List(b, b.Principal.Actor())
	if err != nil {
		return err
	}
	permissions := map[string]string{}
	for _, t := range list {
		permissions[t.Name] = t.Permission
	}
	catalog := b.Engine.Catalog()
	for _, name := range slices.Sorted(maps.Keys(used)) {
		info, known := catalog.Tools[name]
		says := value.Permissions[permissions[name]]
		switch {
		case !known:
			says = locale.Mark("This server does not have the tool.")
		case info.Denied != nil && info.Denied(b.stored.Key):
			says = value.Permissions["deny"]
		}
		if says != "" {
			says = b.T(says)
		}
		b.page.Tools = append(b.page.Tools,
			ToolRight{Name: kit.Escape(name), Href: link.Tool(name), Effect: value.Effect(b.Context, string(info.Effect)), Text: says,
				Steps: someSteps(b.Context, used[name])})
	}
	return nil
}

// someSteps names the first steps of a list and counts the others.
func someSteps(c *ui.Context, ids []string) string {
	const most = 20
	text := kit.Escape(strings.Join(ids[:min(len(ids), most)], ", "))
	if n := len(ids) - most; n > 0 {
		text += " " + c.N(n, "and %s more", "and %s more")
	}
	return text
}

// inputRows returns the fields of an input that is an object.
func inputRows(schema any) []InputRow {
	props, required, order := form.Properties(schema)
	var out []InputRow
	for _, name := range order {
		p, _ := props[name].(map[string]any)
		row := InputRow{Name: kit.Escape(name), Required: slices.Contains(required, name)}
		row.Type, _ = p["type"].(string)
		about, _ := p["description"].(string)
		title, _ := p["title"].(string)
		row.About = kit.Escape(cmp.Or(about, title))
		if options := form.List(p["enum"]); len(options) > 0 {
			var list []string
			for _, o := range options {
				list = append(list, jsonvalue.Text(o))
			}
			row.Choice = kit.Escape(strings.Join(list, ", "))
		}
		if v, ok := p["default"]; ok {
			row.Default = kit.Escape(jsonvalue.Text(v))
		}
		out = append(out, row)
	}
	return out
}

// factLink links to the plans that have the same owner or label.
func factLink(f domain.PlanFact) kit.Link {
	text, q := f.Kind+":"+filter.Quote(f.Value), f.Kind+":"+filter.Quote(f.Value)
	if f.Kind == domain.FactLabel {
		text, q = f.Value, "label."+f.Value
		if strings.ContainsAny(q, " \t\"") {
			q = `"` + strings.ReplaceAll(q, `"`, "") + `"`
		}
	}
	return kit.Link{Text: kit.Escape(text), Href: "/plans?" + url.Values{"q": {q}}.Encode()}
}

// version returns the version in the address, or the newest version.
func (s *section) version(c *ui.Context) (domain.Plan, domain.Version, error) {
	pl, err := s.Reader.Plan(c, c.Param("plan"))
	if err != nil {
		return pl, domain.Version{}, err
	}
	number := pl.Latest
	if named := c.Param("number"); named != "" {
		if number, err = strconv.Atoi(named); err != nil {
			return pl, domain.Version{}, domain.Errorf(domain.CodeNotFound, "version %q is not a number", named)
		}
	}
	v, err := s.Reader.VersionByNumber(c, pl.ID, number)
	return pl, v, err
}

// planGraphFile serves the graph of a version as an SVG file.
func (s *section) planGraphFile(c *ui.Context) error {
	pl, v, err := s.version(c)
	if err != nil {
		return err
	}
	program, err := s.Engine.Program(c, domain.AsWritten(v.Hash))
	if err != nil {
		return err
	}
	effects, err := s.Engine.Effects(c, domain.AsWritten(v.Hash))
	if err != nil {
		return err
	}
	h := c.Echo.Response().Header()
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=\"%s-v%d.svg\"", kit.SafeName(pl.Key), v.Number))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'")
	return c.Echo.Blob(http.StatusOK, "image/svg+xml", diagram.SVG(s.Layouts.Draw(program, effects, diagram.Options{})))
}

// planSource serves the source of a version as it was written.
func (s *section) planSource(c *ui.Context) error {
	pl, v, err := s.version(c)
	if err != nil {
		return err
	}
	h := c.Echo.Response().Header()
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=\"%s-v%d.%s\"", kit.SafeName(pl.Key), v.Number, v.Format))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	return c.Echo.Blob(http.StatusOK, "text/plain; charset=utf-8", v.Source)
}

// restorePage serves the confirmation page for restoring an earlier version.
func (s *section) restorePage(c *ui.Context) error { return s.showRestore(c, http.StatusOK, "") }

func (s *section) showRestore(c *ui.Context, code int, problem string) error {
	pl, v, err := s.version(c)
	if err != nil {
		return err
	}
	path := link.Plan(pl.Key)
	heading := c.T("Restore v%d of %s", v.Number, kit.Escape(pl.Key))
	p := RestorePage{ConfirmPage: kit.ConfirmPage{Shell: c.Shell("plans", heading), Crumbs: crumbs(c, pl.Key),
		Heading: heading, Error: problem, Idem: kit.NewID(), NeedsReason: true, Post: fmt.Sprintf("%s/v/%d/restore", path,
			v.Number), Back: path,
		Text: c.T(
			"New runs use v%d from now on. Active runs keep their version. The audit log records who restored v%d and the reason.",
			v.Number,
			v.Number,
		),
		Facts: []kit.Fact{{Term: c.T("Current version"), Text: fmt.Sprintf("v%d", pl.Latest)},
			{
				Term: c.T("New current version"),
				Text: fmt.Sprintf("v%d", v.Number),
			}, {Term: c.T("Saved by"), Text: kit.Escape(v.Author)}, {Term: c.T("Saved"),
				Text: c.Time(v.CreatedAt).Text}}},
		Base: pl.LatestHash, Diff: fmt.Sprintf("%s/diff/%d/%d", path, pl.Latest, v.Number)}
	if v.Number == pl.Latest {
		p.Text, p.Diff, p.Nothing = c.T("v%d is the current version already.", v.Number), "", true
	}
	return c.Render(code, Restore(p))
}

func (s *section) restore(c *ui.Context) error {
	pl, v, err := s.version(c)
	if err != nil {
		return err
	}
	reason := strings.TrimSpace(c.Field("reason"))
	if reason == "" {
		return s.showRestore(c, http.StatusUnprocessableEntity, c.T("Enter a reason. The audit log keeps it."))
	}
	if pl, err = s.App.Plans.Restore(c, app.VersionChange{Meta: c.Meta(), Plan: pl.ID, Number: v.Number, Base: c.Field("base"),
		Reason: reason}); err == nil {
		return c.RedirectTo(link.Plan(pl.Key))
	}
	if code := domain.CodeOf(err); code == domain.CodeStale || code == domain.CodeConflict || code == domain.CodeInvalid {
		return s.showRestore(c, ui.StatusOf[code], c.Sentence(err))
	}
	return err
}
