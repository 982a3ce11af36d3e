package web

import (
	"net/url"
	"slices"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/view"
)

// troubles adds to a failure what is still wrong around it: a provider that the run
// asked and whose calls fail, a tool that it called and whose calls are refused. As
// long as it is so, resuming fails the same way (UI 5.3).
func (b *runPage) troubles(w *view.Why) error {
	if b.s.Crew == nil {
		return nil
	}
	uses, err := b.s.Reader.Uses(b.ctx, b.d.Run.ID)
	if err != nil {
		return err
	}
	used := func(kind, name string) bool { return slices.Contains(uses, kairos.Use{Kind: kind, Name: name}) }
	say := func(text, link, href string) {
		w.Items = append(w.Items, text)
		w.Links = append(w.Links, view.Link{Text: link, Href: href})
		b.around = append(b.around, text)
	}
	providers, err := b.s.Crew.Providers(b.ctx)
	if err != nil {
		return err
	}
	for _, p := range providers {
		if !used(kairos.UseProvider, p.Name) || !p.Degraded() {
			continue
		}
		since := p.Circuit.Since
		if since.IsZero() {
			since = p.LastErrorAt
		}
		text := b.t("The provider %s is degraded", visible(p.Name))
		if !since.IsZero() {
			text = b.t("The provider %s is degraded since %s", visible(p.Name), b.time(since).Text)
		}
		if p.LastError != "" {
			text += ": " + visible(cut(p.LastError, 200))
		}
		say(text, b.t("See the provider"), "/agents/providers/"+url.PathEscape(p.Name))
	}
	tools, err := b.s.Crew.Tools(b.ctx)
	if err != nil {
		return err
	}
	for _, t := range tools {
		for _, c := range t.Circuits {
			if !used(kairos.UseTool, t.Name) || !c.Refuses() {
				continue
			}
			text := b.t("Calls of %s are refused since %s", circuitOf(t.Name, c.Part), b.time(c.Since).Text)
			if !c.OpenUntil.IsZero() {
				text += b.t(", until %s", b.time(c.OpenUntil).Text)
			}
			say(text, b.t("See the tool"), toolHref(t.Name))
			break // the others are on its page
		}
	}
	return nil
}
