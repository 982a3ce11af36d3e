package web

import (
	"bytes"
	"net/url"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/view"
)

// trouble is what is wrong around a run: a provider that it asked and whose calls fail,
// a tool that it called and whose calls are refused. As long as it is so, resuming fails
// the same way.
type trouble struct {
	text string
	see  view.Link
	// until names what a resume may wait for, as the form of acts on many runs does.
	until url.Values
}

// troublesOf are the troubles of a run. A circuit of a host is one of them only where
// the run names the host.
func (r *request) troublesOf(d domain.RunDetail) ([]trouble, error) {
	uses, err := r.s.Reader.Uses(r.ctx, d.Run.ID)
	if err != nil {
		return nil, err
	}
	used := func(kind, name string) bool { return slices.Contains(uses, domain.Use{Kind: kind, Name: name}) }
	providers, err := r.s.App.Providers.List(r.ctx, r.who.actor())
	if err != nil {
		return nil, err
	}
	var out []trouble
	for _, p := range providers {
		if !used(domain.UseProvider, p.Name) || !p.Degraded() {
			continue
		}
		text := r.t("The provider %s is degraded since %s", visible(p.Name), r.time(p.DegradedSince()).Text)
		if p.LastError != "" {
			text += ": " + visible(cut(p.LastError, 200))
		}
		out = append(out, trouble{text, view.Link{Text: r.t("See the provider"), Href: "/agents/providers/" + url.PathEscape(p.Name)}, url.Values{"provider": {p.Name}}})
	}
	tools, err := r.s.App.Tools.List(r.ctx, r.who.actor())
	if err != nil {
		return nil, err
	}
	for _, t := range tools {
		i := slices.IndexFunc(t.Circuits, func(c domain.Circuit) bool { return c.Refuses() && names(d.Journal, c.Part) })
		if i < 0 || !used(domain.UseTool, t.Name) {
			continue
		}
		c := t.Circuits[i] // the others are on the tool's page
		text := r.t("Calls of %s are refused since %s", kit.CircuitOf(t.Name, c.Part), r.time(c.Since).Text)
		if !c.OpenUntil.IsZero() {
			text += r.t(", until %s", r.time(c.OpenUntil).Text)
		}
		out = append(out, trouble{text, view.Link{Text: r.t("See the tool"), Href: toolHref(t.Name)}, url.Values{"tool": {domain.CircuitName(t.Name, c.Part)}}})
	}
	return out, nil
}

// names reports whether an input of a journal has a host in it.
func names(journal []domain.Entry, host string) bool {
	return host == "" || slices.ContainsFunc(journal, func(e domain.Entry) bool { return bytes.Contains(e.Input, []byte(host)) })
}

// troubles adds to a failure what is still wrong around it.
func (b *runPage) troubles(w *view.Why) error {
	list, err := b.troublesOf(b.d)
	for _, t := range list {
		w.Items, w.Links, b.around = append(w.Items, t.text), append(w.Links, t.see), append(b.around, t.text)
	}
	return err
}

// waitInstead says before a resume what would make it fail the same way, and offers to
// wait until that is over.
func (r *request) waitInstead(p *view.PreviewPage, run domain.Run) error {
	d, err := r.s.Engine.Detail(r.ctx, run.ID)
	if err != nil {
		return err
	}
	list, err := r.troublesOf(d)
	for _, t := range list {
		p.Around = append(p.Around, t.text)
	}
	if len(list) == 0 {
		return err
	}
	q := list[0].until
	q.Set("do", "resume")
	q.Set("run", run.ID)
	p.Wait = view.Link{Text: r.t("Resume it once calls go through again…"), Href: "/bulk/new?" + q.Encode(), Dialog: true}
	return err
}
