package web

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/circuit"
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
	part := path.Base(r.c.Path())
	p := view.CrewPage{Part: part}
	title := ""
	for _, c := range crewParts {
		p.Parts = append(p.Parts, view.Link{Text: r.t(c.word), Href: c.href, Current: c.id == part})
		if c.id == part {
			title = c.word
		}
	}
	p.Shell = r.shell("agents", r.t(title))
	p.Live = part != "agents"
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
	list, err := r.s.App.Agents.List(r.ctx, r.who.actor())
	if err != nil {
		return err
	}
	providers, err := r.s.App.Providers.List(r.ctx, r.who.actor())
	if err != nil {
		return err
	}
	named := map[string]int{} // in how many plans
	if _, _, err := r.plansWith(func(n *walk.ProgramNode) bool { return n.Agent != "" }, func(_ string, nodes []*walk.ProgramNode) {
		seen := map[string]bool{}
		for _, n := range nodes {
			if !seen[n.Agent] {
				seen[n.Agent] = true
				named[n.Agent]++
			}
		}
	}); err != nil {
		return err
	}
	open, err := r.openHandoffs()
	if err != nil {
		return err
	}
	own := false
	for _, a := range list {
		row := view.AgentRow{ID: a.ID, Name: visible(a.Name), Href: agentHref(a.ID), Icon: visible(a.Icon), About: visible(a.Description), Provider: a.Provider, Model: a.Model,
			Tools: visible(strings.Join(a.Tools, ", ")), Capabilities: visible(strings.Join(a.Capabilities, ", ")), Version: a.Version(), Pulse: r.pulse(a.Activity), Plans: r.number(int64(named[a.ID]))}
		var since time.Time
		row.State, since = agentState(a, providers)
		row.Since, row.Notes, row.Open = r.time(since), r.agentNote(a), open.link(r, a.ID)
		p.Agents = append(p.Agents, row)
		own = own || !a.System && a.Name != "Assistant"
	}
	if !own {
		p.Empty = "agents:\n  - id: writer\n    name: Writer\n    description: Writes texts.\n    system_prompt: You write.\n    tools: [http]\ndefault_agent: writer"
	}
	return nil
}

// openHandoffs counts the handoffs of the last week whose receiver is still at it,
// by the receiver; more says that there are more than were counted.
func (r *request) openHandoffs() (handoffsOpen, error) {
	list, err := r.s.Reader.HandoffsOf(r.ctx, domain.HandoffFilter{Status: "open", Since: r.s.now().AddDate(0, 0, -7), Page: domain.Page{Limit: 500}})
	if err != nil {
		return handoffsOpen{}, err
	}
	out := handoffsOpen{to: map[string]int{}, more: list.Next != ""}
	for _, h := range list.Items {
		out.to[h.To]++
	}
	return out, nil
}

type handoffsOpen struct {
	to   map[string]int
	more bool
}

func (h handoffsOpen) link(r *request, agent string) view.Link {
	n := h.to[agent]
	l := view.Link{Text: r.number(int64(n))}
	if n > 0 {
		l.Href = listAt("/handoffs", "to:"+filter.Quote(agent)+" status:open since:7d")
		if h.more {
			l.Text += "+"
		}
	}
	return l
}

// agentState says whether an agent can work, as its provider can, and as its own
// calls of the last hour went; and since when it cannot.
func agentState(a domain.AgentInfo, providers []domain.ProviderInfo) (view.Status, time.Time) {
	for _, v := range providers {
		switch {
		case v.Name != a.Provider:
		case v.Stop != nil:
			return word("fail", "i-pause", locale.Mark("its provider is stopped"), true), v.Stop.Since
		case v.Circuit.Refuses():
			return word("fail", "i-fail", locale.Mark("its provider does not answer"), true), v.Circuit.Since
		}
	}
	switch h := a.Activity.Hour; {
	case h.Calls == 0:
		return word("idle", "i-wait", locale.Mark("not called in the last hour"), true), time.Time{}
	case float64(h.Failures) >= troubled*float64(h.Calls):
		return word("need", "i-need", locale.Mark("in trouble"), true), time.Time{}
	}
	return word("ok", "i-ok", locale.Mark("working"), true), time.Time{}
}

func (r *request) providers(p *view.CrewPage) error {
	list, err := r.s.App.Providers.List(r.ctx, r.who.actor())
	for _, v := range list {
		row := view.ProviderRow{Name: visible(v.Name), Href: providerHref(v.Name), Type: v.Type, Model: visible(v.Model), Address: visible(v.BaseURL), Pulse: r.pulse(v.Activity), Limits: r.providerLimits(v),
			In: r.number(v.Activity.Usage.InputTokens), Out: r.number(v.Activity.Usage.OutputTokens), Cost: r.cost(r.today(v.Activity).Cost), Error: shortened(visible(v.LastError)), ErrorAt: r.time(v.LastErrorAt)}
		if v.Default {
			row.Notes = r.t("the default")
		}
		row.State = providerState(v)
		if v.Circuit.Disturbed() {
			row.Circuit = circuit.Rows(r.Context, []domain.Circuit{v.Circuit}, row.Href)
		}
		p.Providers = append(p.Providers, row)
	}
	if len(list) < 2 && err == nil {
		p.Empty = "providers:\n  claude:\n    type: anthropic\n    model: NAME\n    api_key_file: /etc/kairos/key\ndefault_provider: claude"
	}
	return err
}

func (r *request) tools(p *view.CrewPage) error {
	list, err := r.s.App.Tools.List(r.ctx, r.who.actor())
	if err != nil {
		return err
	}
	for _, t := range list {
		about, _, _ := strings.Cut(t.Description, "\n")
		row := view.ToolRow{Name: visible(t.Name), About: shortened(visible(about)), Source: visible(t.Source), Effect: r.effect(t.Effect), Permission: t.Permission, State: callState(t), Reason: shortened(visible(t.Reason)), Pulse: r.pulse(t.Activity)}
		if len(t.Activity.Recent) > 0 {
			row.Error, row.ErrorAt = shortened(visible(t.Activity.Recent[0].Message)), r.time(t.Activity.Recent[0].At)
		}
		if !strings.HasSuffix(t.Name, ".*") { // a server that has never run
			row.Href = toolHref(t.Name)
		}
		disturbed := t.Disturbed()
		row.Circuits = circuit.Rows(r.Context, disturbed[:min(len(disturbed), kit.CircuitsListed)], row.Href)
		if n := len(disturbed) - kit.CircuitsListed; n > 0 {
			row.More = view.Link{Text: r.n(n, "%s more", "%s more"), Href: row.Href}
		}
		p.Tools = append(p.Tools, row)
		if t.Change != nil {
			l := view.Link{Text: visible(t.Name)}
			if r.who.Role.Includes(domain.RoleAdmin) {
				l.Href = toolHref(t.Name) + "/accept"
			}
			p.Changed = append(p.Changed, l)
		}
	}
	servers, err := r.s.App.Tools.Servers(r.ctx, r.who.actor())
	if len(servers) == 0 && err == nil {
		p.Empty = "mcp:\n  servers:\n    files:\n      command: [/opt/files-server]\n      allow: true\n    remote:\n      url: https://mcp.example.com"
	}
	for _, s := range servers {
		row := view.ServerRow{Name: visible(s.Name), Address: visible(s.Address), Reason: shortened(visible(s.Reason)), Tools: r.number(int64(s.Tools)), Restarts: r.number(int64(s.Restarts)),
			State: toolState(s.State), Since: r.time(s.Since)}
		if s.State != "off" && r.who.Role.Includes(domain.RoleOperator) {
			row.Retry = "/agents/servers/" + url.PathEscape(s.Name) + "/retry"
		}
		p.Servers = append(p.Servers, row)
	}
	return err
}

// agentPage shows one agent.
func (r *request) agentPage() error {
	list, err := r.s.App.Agents.List(r.ctx, r.who.actor())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(a domain.AgentInfo) bool { return a.ID == r.c.Param("agent") })
	if i < 0 {
		return domain.Errorf(domain.CodeNotFound, "there is no agent %q", visible(r.c.Param("agent")))
	}
	a := list[i]
	p := view.AgentPage{Shell: r.shell("agents", visible(a.Name)), Name: visible(a.Name), About: visible(a.Description),
		Prompt: view.Block{ID: "prompt", Title: r.t("System prompt"), Text: cmp.Or(visible(a.SystemPrompt), "—")}}
	p.Pulse = r.pulse(a.Activity)
	p.Failures, p.Counts = r.failures(a.Activity)
	p.Facts = []view.Fact{{Term: r.t("Agent"), Text: visible(a.ID)}, {Term: r.t("Provider"), Text: a.Provider, Href: providerHref(a.Provider)}, {Term: r.t("Model"), Text: cmp.Or(visible(a.Model), r.t("the provider's own"))},
		{Term: r.t("Capabilities"), Text: cmp.Or(visible(strings.Join(a.Capabilities, ", ")), "—")}}
	p.Facts = append(p.Facts, r.callFacts(a.Activity)...)
	open, err := r.openHandoffs()
	if err != nil {
		return err
	}
	l := open.link(r, a.ID)
	p.Facts = append(p.Facts, view.Fact{Term: r.t("Open handoffs"), Text: l.Text, Href: l.Href})
	p.Facts = append(p.Facts, view.Fact{Term: r.t("Version of its card"), Text: a.Version(), Mono: true})
	if a.SystemPrompt != "" {
		p.Facts = append(p.Facts, view.Fact{Term: r.t("Version of its prompt"), Text: promptVersion(a.SystemPrompt), Mono: true})
	}
	card := a
	card.Activity = domain.Activity{}
	raw, err := json.Marshal(card)
	if err != nil {
		return err
	}
	p.Card = r.block("card", r.t("All of it as JSON"), raw, "")
	if note := r.agentNote(a); note != "" {
		p.Facts = append(p.Facts, view.Fact{Term: r.t("Notes"), Text: note})
	}
	providers, err := r.s.App.Providers.List(r.ctx, r.who.actor())
	if err != nil {
		return err
	}
	for _, v := range providers {
		if v.Name == a.Provider {
			var since time.Time
			if p.State, since = agentState(a, providers); !since.IsZero() {
				p.Facts = append(p.Facts, view.Fact{Term: r.t("Since"), Text: r.time(since).Text})
			}
			p.Facts = append(p.Facts, view.Fact{Term: r.t("State of its provider"), Text: r.t(providerState(v).Word)})
			p.Error, p.ErrorAt = visible(v.LastError), r.time(v.LastErrorAt)
		}
	}
	tools, err := r.s.App.Tools.List(r.ctx, r.who.actor())
	if err != nil {
		return err
	}
	for _, name := range a.Tools {
		l := view.Link{Text: visible(name), Href: "/agents/tools"}
		if i := slices.IndexFunc(tools, func(t domain.ToolInfo) bool { return t.Name == name }); i >= 0 {
			l.Href, l.Count = toolHref(name), r.effect(tools[i].Effect)
		}
		p.Tools = append(p.Tools, l)
	}
	if p.Plans, p.Searched, err = r.plansWith(func(n *walk.ProgramNode) bool { return n.Agent == a.ID }, nil); err != nil {
		return err
	}
	if p.Versions, err = r.agentVersions(a); err != nil {
		return err
	}
	if r.s.Planner != nil && a.Selectable && r.who.Role.Includes(domain.RoleOperator) {
		p.Actions = append(p.Actions, view.Link{Text: r.t("Ask it…"), Href: "/ask?" + url.Values{"agent": {a.ID}}.Encode()})
	}
	return r.render(http.StatusOK, view.Agent(p))
}

func (r *request) agentNote(a domain.AgentInfo) string {
	switch {
	case a.System:
		return r.t("part of kairosd")
	case a.Default:
		return r.t("the default")
	case !a.Selectable:
		return r.t("only where it is named")
	}
	return ""
}

func providerState(v domain.ProviderInfo) view.Status {
	if v.Stop != nil {
		return word("fail", "i-pause", locale.Mark("stopped"), true)
	}
	switch v.State {
	case "working":
		return word("ok", "i-ok", locale.Mark("working"), true)
	case "failing":
		return word("fail", "i-fail", locale.Mark("failing"), true)
	}
	return word("idle", "i-wait", locale.Mark("not called yet"), true)
}

// promptVersion names a prompt by what it says: another text is another version.
func promptVersion(prompt string) string {
	sum := sha256.Sum256([]byte(prompt))
	return "sha256:" + hex.EncodeToString(sum[:6])
}

// argumentsDigest binds a call to the arguments and the effect that were shown.
func argumentsDigest(tool, effect string, args domain.RawJSON) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", tool, effect, args))
	return hex.EncodeToString(sum[:])
}
