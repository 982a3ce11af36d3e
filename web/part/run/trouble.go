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

// Trouble is a failing provider or an open circuit that affects a run. Until it is resolved, a
// resumed run fails again.
type Trouble struct {
	Text string
	Link kit.Link
	// Until contains the form value of the condition that a bulk resume can wait for.
	Until url.Values
}

// Troubles returns the troubles of a run that used some agents, tools, and providers. It includes
// the circuit of a host only if the run's journal contains the host.
func Troubles(c *ui.Context, a *app.App, uses []domain.Use, journal []domain.Entry) ([]Trouble, error) {
	used := func(kind, name string) bool { return slices.Contains(uses, domain.Use{Kind: kind, Name: name}) }
	providers, err := a.Providers.List(c, c.Principal.Actor())
	if err != nil {
		return nil, err
	}
	var out []Trouble
	for _, p := range providers {
		if !used(domain.UseProvider, p.Name) || !p.Degraded() {
			continue
		}
		text := c.T("The provider %s is degraded since %s", kit.Escape(p.Name), c.Time(p.DegradedSince()).Text)
		if p.LastError != "" {
			text += ": " + kit.Escape(kit.Truncate(p.LastError, 200))
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
	tools, err := a.Tools.List(c, c.Principal.Actor())
	if err != nil {
		return nil, err
	}
	for _, t := range tools {
		i := slices.IndexFunc(t.Circuits, func(o domain.Circuit) bool { return o.Refuses() && names(journal, o.Part) })
		if i < 0 || !used(domain.UseTool, t.Name) {
			continue
		}
		o := t.Circuits[i] // the tool's page lists the others
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

// names reports whether an input in a journal contains a host.
func names(journal []domain.Entry, host string) bool {
	return host == "" || slices.ContainsFunc(journal, func(e domain.Entry) bool { return bytes.Contains(e.Input, []byte(host)) })
}
