package run

import (
	"bytes"
	"net/url"
	"slices"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/ui"
)

// Trouble is what is wrong around a run: a provider that it asked and whose calls fail,
// a tool that it called and whose calls are refused. As long as it is so, resuming fails
// the same way.
type Trouble struct {
	Text string
	See  kit.Link
	// Until names what a resume may wait for, as the form of bulk operations does.
	Until url.Values
}

// Troubles are those of a run that used some agents, tools, and providers. A circuit of
// a host is one of them only where the run names the host.
func Troubles(c *ui.Context, a *app.App, uses []domain.Use, journal []domain.Entry) ([]Trouble, error) {
	used := func(kind, name string) bool { return slices.Contains(uses, domain.Use{Kind: kind, Name: name}) }
	providers, err := a.Providers.List(c, c.Who.Actor())
	if err != nil {
		return nil, err
	}
	var out []Trouble
	for _, p := range providers {
		if !used(domain.UseProvider, p.Name) || !p.Degraded() {
			continue
		}
		text := c.T("The provider %s is degraded since %s", kit.Visible(p.Name), c.Time(p.DegradedSince()).Text)
		if p.LastError != "" {
			text += ": " + kit.Visible(kit.Cut(p.LastError, 200))
		}
		out = append(
			out,
			Trouble{
				text,
				kit.Link{Text: c.T("See the provider"), Href: "/agents/providers/" + url.PathEscape(p.Name)},
				url.Values{"provider": {p.Name}},
			},
		)
	}
	tools, err := a.Tools.List(c, c.Who.Actor())
	if err != nil {
		return nil, err
	}
	for _, t := range tools {
		i := slices.IndexFunc(t.Circuits, func(o domain.Circuit) bool { return o.Refuses() && names(journal, o.Part) })
		if i < 0 || !used(domain.UseTool, t.Name) {
			continue
		}
		o := t.Circuits[i] // the others are on the tool's page
		text := c.T("Calls of %s are refused since %s", kit.CircuitOf(t.Name, o.Part), c.Time(o.Since).Text)
		if !o.OpenUntil.IsZero() {
			text += c.T(", until %s", c.Time(o.OpenUntil).Text)
		}
		out = append(
			out,
			Trouble{
				text,
				kit.Link{Text: c.T("See the tool"), Href: link.Tool(t.Name)},
				url.Values{"tool": {domain.CircuitName(t.Name, o.Part)}},
			},
		)
	}
	return out, nil
}

// names reports whether an input of a journal has a host in it.
func names(journal []domain.Entry, host string) bool {
	return host == "" || slices.ContainsFunc(journal, func(e domain.Entry) bool { return bytes.Contains(e.Input, []byte(host)) })
}
