// Package failure contains what several sections show of failure groups.
package failure

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// Groups is the maximum number of failure groups that are searched.
const Groups = 100

// Query returns the parameters that identify a failure group in an address or a form.
func Query(g domain.FailureRef) string {
	v := url.Values{"plan": {g.PlanKey}, "node": {g.Node}, "code": {g.Code}}
	if g.Fingerprint != "" {
		v.Set("fingerprint", g.Fingerprint)
	}
	return v.Encode()
}

// Ports are the dependencies of the package.
type Ports struct {
	App    *app.App
	Reader Reader
}

// Reader reads from the store.
type Reader interface {
	// Uses returns the agents, tools, and providers that a run used.
	Uses(ctx context.Context, run string) ([]domain.Use, error)
	VersionByNumber(ctx context.Context, planID string, number int) (domain.Version, error)
}

// Since describes the last change before a failure first occurred.
type Since struct {
	New           string   // empty if nothing changed, or if the plan never completed
	Good, Compare kit.Link // last completed run, and the comparison
}

// NewSince describes the difference between the last completed run of the plan and the first run of
// the failure group. It is empty if nothing changed, or if the plan never completed.
func (p Ports) NewSince(c *ui.Context, g domain.FailureGroup) (row Since, err error) {
	o, err := p.App.Failures.Origin(c, c.Principal.Actor(), g.Ref())
	if domain.CodeOf(err) == domain.CodeNotFound || err == nil && o.Good == "" {
		return row, nil
	} else if err != nil {
		return row, err
	}
	row.Good = kit.Link{
		Text: c.T("last success %s", c.Time(o.GoodAt).Text),
		Href: "/runs/compare?" + url.Values{"a": {g.Newest}, "b": {o.Good}}.Encode(),
	}
	if o.Version != o.GoodVersion {
		row.New = c.T("new since v%d", o.Version)
		if v, err := p.Reader.VersionByNumber(c, g.Plan.ID, o.Version); err == nil {
			row.New += ", " + c.Time(v.CreatedAt).Text
			if v.Author != "" {
				row.New += " · " + kit.Escape(v.Author)
			}
		} else if domain.CodeOf(err) != domain.CodeNotFound {
			return row, err
		}
		from, to := min(o.GoodVersion, o.Version), max(o.GoodVersion, o.Version)
		row.Compare = kit.Link{
			Text: c.T("Compare v%d..v%d", from, to),
			Href: fmt.Sprintf("/plans/%s/diff/%d/%d", url.PathEscape(g.Plan.Key), from, to),
		}
		return row, nil
	}
	row.New, row.Compare, err = p.ChangedAround(c, g, o)
	return row, err
}

// around is the maximum number of daemon starts and acceptances that are read between two runs.
const around = 20

// ChangedAround looks for another change between two runs: of a tool's definition, kairosd's
// version, an agent, or a provider's model.
func (p Ports) ChangedAround(c *ui.Context, g domain.FailureGroup, o domain.FailureOrigin) (string, kit.Link, error) {
	used, err := p.Reader.Uses(c, g.Newest)
	if err != nil {
		return "", kit.Link{}, err
	}
	uses := func(kind, name string) bool { return slices.Contains(used, domain.Use{Kind: kind, Name: name}) }
	accepted, err := p.App.Audit.List(
		c,
		c.Principal.Actor(),
		domain.AuditFilter{Action: "tool.accept", Since: o.GoodAt, Until: o.FirstAt, Page: domain.Page{Limit: around}},
	)
	if err != nil {
		return "", kit.Link{}, err
	}
	for _, e := range accepted.Items {
		if name := strings.TrimPrefix(e.Object, "tool:"); uses(domain.UseTool, name) {
			return c.T(
					"new since tool %s changed, %s",
					kit.Escape(name),
					c.Time(e.At).Text,
				), kit.Link{
					Text: c.T("See the tool"),
					Href: "/agents/tools/" + url.PathEscape(name),
				}, nil
		}
	}
	starts, err := p.App.Audit.List(
		c,
		c.Principal.Actor(),
		domain.AuditFilter{Action: "daemon.start", Since: o.GoodAt, Until: o.FirstAt, Page: domain.Page{Limit: around}},
	)
	if err != nil || len(starts.Items) == 0 {
		return "", kit.Link{}, err
	}
	before, err := p.App.Audit.List(
		c,
		c.Principal.Actor(),
		domain.AuditFilter{Action: "daemon.start", Until: o.GoodAt, Page: domain.Page{Limit: 1}},
	)
	if err != nil || len(before.Items) == 0 {
		return "", kit.Link{}, err
	}
	last := starts.Items[0]
	see := kit.Link{Text: c.T("See the starts"), Href: "/audit?" + url.Values{"action": {"daemon.start"}}.Encode()}
	if a, z := strings.TrimPrefix(before.Items[0].Object, "version:"), strings.TrimPrefix(last.Object, "version:"); a != z {
		return c.T("new since kairosd %s, %s", kit.Escape(z), c.Time(last.At).Text), see, nil
	}
	was, is := startedWith(before.Items[0]), startedWith(last)
	for _, kind := range []string{domain.UseProvider, domain.UseAgent} {
		for _, name := range slices.Sorted(maps.Keys(is[kind])) {
			if old, known := was[kind][name]; known && old != is[kind][name] && uses(kind, name) {
				text := c.T("new since agent %s changed, %s", kit.Escape(name), c.Time(last.At).Text)
				if kind == domain.UseProvider {
					text = c.T(
						"new since %s went from %s to %s, %s",
						kit.Escape(name),
						kit.Escape(old),
						kit.Escape(is[kind][name]),
						c.Time(last.At).Text,
					)
				}
				return text, see, nil
			}
		}
	}
	return "", kit.Link{}, nil
}

// startedWith returns what a start of the daemon recorded about agents and providers, by kind and
// name.
func startedWith(e domain.AuditEvent) map[string]map[string]string {
	var out map[string]map[string]string
	if len(e.Detail) == 0 || json.Unmarshal(e.Detail, &out) != nil {
		return nil // older versions of kairosd record less
	}
	return out
}
