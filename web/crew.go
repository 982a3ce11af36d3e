package web

import (
	"net/http"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// crewParts are the pages about who acts with models, and with what.
var crewParts = []struct{ id, href, word string }{
	{"agents", "/agents", locale.Mark("Agents")},
	{"providers", "/agents/providers", locale.Mark("Providers")},
	{"tools", "/agents/tools", locale.Mark("Tools")},
}

// crew shows the agents, the providers behind them, or the tools.
func (r *request) crew() error {
	if r.s.Crew == nil {
		return kairos.Errorf(kairos.CodeNotFound, "this installation has no page about agents")
	}
	part := r.c.Param("part")
	if part == "" {
		part = "agents"
	}
	p := view.CrewPage{Part: part}
	title := ""
	for _, c := range crewParts {
		p.Parts = append(p.Parts, view.Link{Text: r.t(c.word), Href: c.href, Current: c.id == part})
		if c.id == part {
			title = c.word
		}
	}
	if title == "" {
		return kairos.Errorf(kairos.CodeNotFound, "there is no page %q", part)
	}
	p.Shell = r.shell("agents", r.t(title))
	var err error
	switch part {
	case "agents":
		err = r.agents(&p)
	case "providers":
		err = r.providers(&p)
	case "tools":
		err = r.tools(&p)
	}
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, view.Crew(p))
}

func (r *request) agents(p *view.CrewPage) error {
	list, err := r.s.Crew.Agents(r.ctx)
	for _, a := range list {
		row := view.AgentRow{ID: a.ID, Name: visible(a.Name), Icon: visible(a.Icon), About: visible(a.Description), Provider: a.Provider, Model: a.Model,
			Tools: visible(strings.Join(a.Tools, ", ")), Capabilities: visible(strings.Join(a.Capabilities, ", "))}
		switch {
		case a.System:
			row.Notes = r.t("part of kairosd")
		case a.Default:
			row.Notes = r.t("the default")
		case !a.Selectable:
			row.Notes = r.t("only where it is named")
		}
		p.Agents = append(p.Agents, row)
	}
	return err
}

func (r *request) providers(p *view.CrewPage) error {
	list, err := r.s.Crew.Providers(r.ctx)
	for _, v := range list {
		row := view.ProviderRow{Name: visible(v.Name), Type: v.Type, Model: visible(v.Model), Address: visible(v.BaseURL), Calls: r.number(v.Calls), Failures: r.number(v.Failures),
			In: r.number(v.Usage.InputTokens), Out: r.number(v.Usage.OutputTokens), Cost: costText(v.Usage.Cost), Error: shortened(visible(v.LastError)), ErrorAt: r.time(v.LastErrorAt)}
		if v.Default {
			row.Notes = r.t("the default")
		}
		switch v.State {
		case "working":
			row.State = word("ok", "i-ok", locale.Mark("working"), true)
		case "failing":
			row.State = word("fail", "i-fail", locale.Mark("failing"), true)
		default:
			row.State = word("idle", "i-wait", locale.Mark("not called yet"), true)
		}
		p.Providers = append(p.Providers, row)
	}
	return err
}

func (r *request) tools(p *view.CrewPage) error {
	list, err := r.s.Crew.Tools(r.ctx)
	for _, t := range list {
		about, _, _ := strings.Cut(t.Description, "\n")
		p.Tools = append(p.Tools, view.ToolRow{Name: visible(t.Name), About: shortened(visible(about)), Source: visible(t.Source), Effect: t.Effect, Permission: t.Permission,
			State: t.State, Reason: shortened(visible(t.Reason))})
	}
	return err
}
