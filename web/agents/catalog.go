package agents

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
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
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/circuit"
	"github.com/kairosd/kairosd/web/part/query"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// catalogParts are the tabs of the catalog.
var catalogParts = []struct{ id, href, word string }{
	{"agents", "/agents", locale.Mark("Agents")},
	{"providers", "/agents/providers", locale.Mark("Providers")},
	{"tools", "/agents/tools", locale.Mark("Tools")},
	{"spend", "/agents/spend", locale.Mark("Spend")},
	{"budgets", "/agents/budgets", locale.Mark("Budgets")},
}

// parts returns the links of the tabs.
func parts(c *ui.Context, current string) (tabs []kit.Link) {
	for _, of := range catalogParts {
		tabs = append(tabs, kit.Link{Text: c.T(of.word), Href: of.href, Current: of.id == current})
	}
	return tabs
}

// catalog serves the list of agents, of providers, or of tools.
func (s *section) catalog(c *ui.Context) error {
	part := path.Base(c.Echo.Path())
	p := CatalogPage{Part: part, Parts: parts(c, part), Bar: catalogBar(c, part)}
	title := ""
	for _, of := range catalogParts {
		if of.id == part {
			title = of.word
		}
	}
	p.Shell = c.Shell("agents", c.T(title))
	p.Live = part != "agents"
	err := s.addItems(c, &p)
	if problem, ok := errors.AsType[*domain.Error](err); ok && problem.Code == domain.CodeInvalid && p.Bar.Query != "" {
		p.Error, p.Suggestion = c.FilterProblem(problem)
		return c.Render(http.StatusBadRequest, Catalog(p))
	}
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, Catalog(p))
}

// addItems adds the agents, the providers, or the tools.
func (s *section) addItems(c *ui.Context, p *CatalogPage) (err error) {
	switch p.Part {
	case "agents":
		err = s.agents(c, p)
	case "providers":
		if p.Providers, err = s.providers(c); len(p.Providers) < 2 && p.Bar.Query == "" {
			p.Empty = exampleProvider
		}
	case "tools":
		err = s.toolCatalog(c, p)
	}
	return err
}

// catalogBar returns the filter bar of a list.
func catalogBar(c *ui.Context, part string) query.Bar {
	q := strings.TrimSpace(c.Query("q"))
	var b query.Bar
	switch part {
	case "tools":
		b = query.BarOf("/agents/tools", q, query.Preset{Word: c.T("All")},
			query.Preset{Word: c.T("Not ready"), Query: "-status:ready"},
			query.Preset{Word: c.T("From servers"), Query: "-source:built-in"},
			query.Preset{Word: c.T("Not idempotent"), Query: "effect:unsafe"})
		b.Label, b.Example = c.T("Filter tools"), "http effect:unsafe permission:ask source:crm"
	case "providers":
		b = query.BarOf("/agents/providers", q)
		b.Label, b.Example = c.T("Filter providers"), "claude type:anthropic"
	default:
		b = query.BarOf("/agents", q)
		b.Label, b.Example = c.T("Filter agents"), "desk provider:claude"
	}
	return b
}

// matching returns the items that match the filter in the address. It passes err through.
func matching[T any](c *ui.Context, list []T, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return filter.Select(strings.TrimSpace(c.Query("q")), list, func(x T) T { return x })
}

func (s *section) agents(c *ui.Context, p *CatalogPage) error {
	list, err := s.App.Agents.List(c, c.Principal.Actor())
	if list, err = matching(c, list, err); err != nil {
		return err
	}
	providers, err := s.App.Providers.List(c, c.Principal.Actor())
	if err != nil {
		return err
	}
	named := map[string]int{} // number of plans by agent
	if _, _, err := s.plansWith(c, func(n *walk.ProgramNode) bool { return n.Agent != "" }, func(_ string, nodes []*walk.ProgramNode) {
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
	open, err := s.openHandoffs(c)
	if err != nil {
		return err
	}
	own := false
	for _, a := range list {
		row := AgentRow{
			ID:       a.ID,
			Name:     kit.Escape(a.Name),
			Href:     link.Agent(a.ID),
			Icon:     kit.Escape(a.Icon),
			About:    kit.Escape(a.Description),
			Provider: cmp.Or(a.Provider, kit.Escape(a.A2A)),
			Model:    a.Model,
			Tools: kit.Escape(
				strings.Join(a.Tools, ", "),
			),
			Capabilities: kit.Escape(strings.Join(a.Capabilities, ", ")),
			Version:      a.Version(),
			Pulse:        s.pulse(c, a.Activity),
			Plans:        c.Number(int64(named[a.ID])),
		}
		var since time.Time
		row.State, since = agentState(a, providers)
		row.Since, row.Notes, row.Open = c.Time(since), s.agentNote(c, a), open.link(c, a.ID)
		p.Agents = append(p.Agents, row)
		own = own || !a.System && a.Name != "Assistant"
	}
	if !own {
		p.Empty = "agents:\n  - id: writer\n    name: Writer\n    description: Writes texts.\n    system_prompt: You write.\n" +
			"    tools: [http]\ndefault_agent: writer"
	}
	return nil
}

// openHandoffs counts by receiver the handoffs of the last week whose receiver is still working.
// The result's more is set if the count is incomplete.
func (s *section) openHandoffs(c *ui.Context) (handoffsOpen, error) {
	list, err := s.Reader.HandoffsOf(
		c,
		domain.HandoffFilter{Status: "open", Since: c.Site.Now().AddDate(0, 0, -7), Page: domain.Page{Limit: 500}},
	)
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

func (h handoffsOpen) link(c *ui.Context, agent string) kit.Link {
	n := h.to[agent]
	l := kit.Link{Text: c.Number(int64(n))}
	if n > 0 {
		l.Href = link.List("/handoffs", "to:"+filter.Quote(agent)+" status:open since:7d")
		if h.more {
			l.Text += "+"
		}
	}
	return l
}

// agentState returns whether an agent can work, given the state of its provider and its calls in
// the last hour. The time is when it became unavailable, or zero.
func agentState(a domain.AgentInfo, providers []domain.ProviderInfo) (kit.Status, time.Time) {
	for _, v := range providers {
		switch {
		case v.Name != a.Provider:
		case v.Disabled != nil:
			return kit.Word("fail", "i-pause", locale.Mark("its provider is disabled"), true), v.Disabled.Since
		case v.Circuit.Refuses():
			return kit.Word("fail", "i-fail", locale.Mark("its provider does not answer"), true), v.Circuit.Since
		}
	}
	switch h := a.Activity.Hour; {
	case h.Calls == 0:
		return kit.Word("idle", "i-wait", locale.Mark("not called in the last hour"), true), time.Time{}
	case float64(h.Failures) >= highFailureShare*float64(h.Calls):
		return kit.Word("need", "i-need", locale.Mark("in trouble"), true), time.Time{}
	}
	return kit.Word("ok", "i-ok", locale.Mark("working"), true), time.Time{}
}

// providers returns the rows of the provider list.
func (s *section) providers(c *ui.Context) (rows []ProviderRow, err error) {
	list, err := s.App.Providers.List(c, c.Principal.Actor())
	if list, err = matching(c, list, err); err != nil {
		return nil, err
	}
	for _, v := range list {
		row := ProviderRow{
			Name:    kit.Escape(v.Name),
			Href:    link.Provider(v.Name),
			Type:    v.Type,
			Model:   kit.Escape(v.Model),
			Address: kit.Escape(v.BaseURL),
			Pulse:   s.pulse(c, v.Activity),
			Limits:  s.providerLimits(c, v),
			In: c.Number(
				v.Activity.Usage.InputTokens,
			),
			Out:     c.Number(v.Activity.Usage.OutputTokens),
			Cost:    value.Cost(c, s.today(c, v.Activity).Cost),
			Error:   kit.Shorten(kit.Escape(v.LastError)),
			ErrorAt: c.Time(v.LastErrorAt),
		}
		if v.Default {
			row.Notes = c.T("the default")
		}
		row.State = providerState(v)
		if v.Circuit.Disturbed() {
			row.Circuit = circuit.Rows(c, []domain.Circuit{v.Circuit}, row.Href)
		}
		rows = append(rows, row)
	}
	return rows, err
}

const exampleProvider = "providers:\n  claude:\n    type: anthropic\n    model: NAME\n    api_key_file: /etc/kairos/key\n" +
	"default_provider: claude"

// tools returns the rows of a list of tools.
func (s *section) tools(c *ui.Context, list []domain.ToolInfo) (rows []ToolRow) {
	for _, t := range list {
		about, _, _ := strings.Cut(t.Description, "\n")
		row := ToolRow{
			Name:       kit.Escape(t.Name),
			About:      kit.Shorten(kit.Escape(about)),
			Source:     kit.Escape(t.Source),
			Effect:     value.Effect(c, t.Effect),
			Permission: t.Permission,
			State:      callState(t),
			Reason:     kit.Shorten(kit.Escape(t.Reason)),
			Pulse:      s.pulse(c, t.Activity),
		}
		if len(t.Activity.Recent) > 0 {
			row.Error, row.ErrorAt = kit.Shorten(kit.Escape(t.Activity.Recent[0].Message)), c.Time(t.Activity.Recent[0].At)
		}
		if !strings.HasSuffix(t.Name, ".*") { // not the placeholder of a server that never started
			row.Href = link.Tool(t.Name)
		}
		disturbed := t.Disturbed()
		row.Circuits = circuit.Rows(c, disturbed[:min(len(disturbed), kit.CircuitList)], row.Href)
		if n := len(disturbed) - kit.CircuitList; n > 0 {
			row.More = kit.Link{Text: c.N(n, "%s more", "%s more"), Href: row.Href}
		}
		rows = append(rows, row)
	}
	return rows
}

// toolCatalog fills in the tools, those with a changed definition, and their servers.
func (s *section) toolCatalog(c *ui.Context, p *CatalogPage) error {
	all, err := s.App.Tools.List(c, c.Principal.Actor())
	list, err := matching(c, all, err)
	if err != nil {
		return err
	}
	p.Tools = s.tools(c, list)
	for _, t := range all {
		if t.Change != nil {
			l := kit.Link{Text: kit.Escape(t.Name)}
			if c.Principal.Role.Includes(domain.RoleAdmin) {
				l.Href = link.Tool(t.Name) + "/accept"
			}
			p.Changed = append(p.Changed, l)
		}
	}
	servers, err := s.App.Tools.Servers(c, c.Principal.Actor())
	if len(servers) == 0 && err == nil {
		p.Empty = "mcp:\n  servers:\n    files:\n      command: [/opt/files-server]\n      allow: true\n    remote:\n" +
			"      url: https://mcp.example.com"
	}
	for _, v := range servers {
		row := ServerRow{
			Name:     kit.Escape(v.Name),
			Address:  kit.Escape(v.Address),
			Reason:   kit.Shorten(kit.Escape(v.Reason)),
			Tools:    c.Number(int64(v.Tools)),
			Restarts: c.Number(int64(v.Restarts)),
			State:    toolState(v.State),
			Since:    c.Time(v.Since),
		}
		if v.State != "off" && c.Principal.Role.Includes(domain.RoleOperator) {
			row.Retry = "/agents/servers/" + url.PathEscape(v.Name) + "/retry"
		}
		p.Servers = append(p.Servers, row)
	}
	return err
}

// agentPage serves the page of one agent.
func (s *section) agentPage(c *ui.Context) error {
	a, err := s.agent(c)
	if err != nil {
		return err
	}
	p := AgentPage{Shell: c.Shell("agents", kit.Escape(a.Name)), Name: kit.Escape(a.Name), About: kit.Escape(a.Description),
		Prompt: kit.Block{ID: "prompt", Title: c.T("System prompt"), Text: cmp.Or(kit.Escape(a.SystemPrompt), "—")}}
	p.Pulse = s.pulse(c, a.Activity)
	p.Failures, p.Counts = s.failures(c, a.Activity)
	for _, add := range []func(*ui.Context, *AgentPage, domain.AgentInfo) error{s.addAgentFacts, s.addAgentState, s.addAgentTools} {
		if err := add(c, &p, a); err != nil {
			return err
		}
	}
	if p.Plans, p.Searched, err = s.plansWith(c, func(n *walk.ProgramNode) bool { return n.Agent == a.ID }, nil); err != nil {
		return err
	}
	if p.Versions, err = s.agentVersions(c, a); err != nil {
		return err
	}
	if s.Ports.Plans && a.Selectable && c.Principal.Role.Includes(domain.RoleOperator) {
		p.Actions = append(p.Actions, kit.Link{Text: c.T("Send request…"), Href: "/ask?" + url.Values{"agent": {a.ID}}.Encode()})
	}
	return c.Render(http.StatusOK, Agent(p))
}

// agent returns the agent in the address.
func (s *section) agent(c *ui.Context) (domain.AgentInfo, error) {
	list, err := s.App.Agents.List(c, c.Principal.Actor())
	if err != nil {
		return domain.AgentInfo{}, err
	}
	i := slices.IndexFunc(list, func(a domain.AgentInfo) bool { return a.ID == c.Param("agent") })
	if i < 0 {
		return domain.AgentInfo{}, domain.Errorf(domain.CodeNotFound, "agent %q not found", kit.Escape(c.Param("agent")))
	}
	return list[i], nil
}

// addAgentFacts adds the settings of an agent, and its use.
func (s *section) addAgentFacts(c *ui.Context, p *AgentPage, a domain.AgentInfo) error {
	p.Facts = []kit.Fact{
		{Term: c.T("Agent"), Text: kit.Escape(a.ID)},
		placeOf(c, a),
		{Term: c.T("Model"), Text: cmp.Or(kit.Escape(a.Model), c.T("the provider's own"))},
		{Term: c.T("Capabilities"), Text: cmp.Or(kit.Escape(strings.Join(a.Capabilities, ", ")), "—")},
	}
	p.Facts = append(p.Facts, s.callFacts(c, a.Activity)...)
	open, err := s.openHandoffs(c)
	if err != nil {
		return err
	}
	l := open.link(c, a.ID)
	p.Facts = append(p.Facts, kit.Fact{Term: c.T("Open handoffs"), Text: l.Text, Href: l.Href},
		kit.Fact{Term: c.T("Version of its card"), Text: a.Version(), Mono: true})
	if a.SystemPrompt != "" {
		p.Facts = append(p.Facts, kit.Fact{Term: c.T("Version of its prompt"), Text: promptVersion(a.SystemPrompt), Mono: true})
	}
	if note := s.agentNote(c, a); note != "" {
		p.Facts = append(p.Facts, kit.Fact{Term: c.T("Notes"), Text: note})
	}
	a.Activity = domain.Activity{}
	card, err := json.Marshal(a)
	p.Card = value.Block(c.Display.Lang, "card", c.T("All of it as JSON"), card, "")
	return err
}

// addAgentState adds the state of an agent, which is that of its provider.
func (s *section) addAgentState(c *ui.Context, p *AgentPage, a domain.AgentInfo) error {
	providers, err := s.App.Providers.List(c, c.Principal.Actor())
	for _, v := range providers {
		if v.Name != a.Provider {
			continue
		}
		var since time.Time
		if p.State, since = agentState(a, providers); !since.IsZero() {
			p.Facts = append(p.Facts, kit.Fact{Term: c.T("Since"), Text: c.Time(since).Text})
		}
		p.Facts = append(p.Facts, kit.Fact{Term: c.T("State of its provider"), Text: c.T(providerState(v).Word)})
		p.Error, p.ErrorAt = kit.Escape(v.LastError), c.Time(v.LastErrorAt)
	}
	return err
}

// addAgentTools adds links to the tools of an agent.
func (s *section) addAgentTools(c *ui.Context, p *AgentPage, a domain.AgentInfo) error {
	tools, err := s.App.Tools.List(c, c.Principal.Actor())
	for _, name := range a.Tools {
		l := kit.Link{Text: kit.Escape(name), Href: "/agents/tools"}
		if i := slices.IndexFunc(tools, func(t domain.ToolInfo) bool { return t.Name == name }); i >= 0 {
			l.Href, l.Count = link.Tool(name), value.Effect(c, tools[i].Effect)
		}
		p.Tools = append(p.Tools, l)
	}
	return err
}

func (s *section) agentNote(c *ui.Context, a domain.AgentInfo) string {
	switch {
	case a.System:
		return c.T("part of kairosd")
	case a.Default:
		return c.T("the default")
	case !a.Selectable:
		return c.T("only if a plan names it")
	}
	return ""
}

func providerState(v domain.ProviderInfo) kit.Status {
	if v.Disabled != nil {
		return kit.Word("fail", "i-pause", locale.Mark("disabled"), true)
	}
	switch v.State {
	case "working":
		return kit.Word("ok", "i-ok", locale.Mark("working"), true)
	case "failing":
		return kit.Word("fail", "i-fail", locale.Mark("failing"), true)
	}
	return kit.Word("idle", "i-wait", locale.Mark("not called yet"), true)
}

// promptVersion returns a short digest of a prompt, which identifies its version.
func promptVersion(prompt string) string {
	sum := sha256.Sum256([]byte(prompt))
	return "sha256:" + hex.EncodeToString(sum[:6])
}

// argumentsDigest returns the digest by which a form confirms the arguments and the side-effect
// class that it showed.
func argumentsDigest(tool, effect string, args domain.RawJSON) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", tool, effect, args))
	return hex.EncodeToString(sum[:])
}

// placeOf returns the provider of an agent, or the server that runs it.
func placeOf(c *ui.Context, a domain.AgentInfo) kit.Fact {
	if a.A2A != "" {
		return kit.Fact{Term: c.T("A2A server"), Text: kit.Escape(a.A2A)}
	}
	return kit.Fact{Term: c.T("Provider"), Text: a.Provider, Href: link.Provider(a.Provider)}
}
