package agents

import (
	"net/http"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/circuit"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// subject is a tool or a provider that a form disables or enables.
type subject struct {
	name, page string
	crumb      kit.Link
	disabled   *domain.Disablement
	breaker    *domain.Breaker // nil if it has no circuit breaker
	circuits   []domain.Circuit
	facts      []kit.Fact
}

// disabledText returns who disabled a tool or a provider, when, and why. It is empty for nil.
func disabledText(c *ui.Context, by *domain.Disablement) string {
	if by == nil {
		return ""
	}
	text := c.T("Disabled since %s by %s.", c.Time(by.Since).Text, kit.Escape(by.By))
	if by.Reason != "" {
		text += " " + kit.Escape(by.Reason)
	}
	return text
}

// switchLinks returns the links to the forms that disable and enable a tool or a provider.
func switchLinks(c *ui.Context, page string, disabled bool, circuits ...domain.Circuit) (out []kit.Link) {
	if !c.Principal.Role.Includes(domain.RoleOperator) {
		return nil
	}
	if disabled || slices.ContainsFunc(circuits, domain.Circuit.Disturbed) {
		out = append(out, kit.Link{Text: c.T("Enable…"), Href: page + "/enable", Dialog: true})
	}
	if !disabled {
		out = append(out, kit.Link{Text: c.T("Disable…"), Href: page + "/disable", Dialog: true})
	}
	return out
}

// disablePages serves the forms that disable and enable tools and providers.
type disablePages struct{ *section }

// toolSubject returns the tool in the address.
func (s disablePages) toolSubject(c *ui.Context) (subject, error) {
	t, err := s.tool(c)
	if err != nil {
		return subject{}, err
	}
	plans, _, err := s.plansWith(c, func(n *walk.ProgramNode) bool { return n.Type == walk.TypeTool && n.Tool == t.Name }, nil)
	if err != nil {
		return subject{}, err
	}
	return subject{
		name: t.Name, page: link.Tool(t.Name), crumb: kit.Link{Text: c.T("Tools"), Href: "/agents/tools"},
		disabled: t.Disabled, breaker: t.Breaker, circuits: t.Circuits,
		facts: []kit.Fact{
			{Term: c.T("Calls in the last hour"), Text: c.Number(t.Activity.Hour.Calls)},
			{Term: c.T("Plans that call it"), Text: c.Number(int64(len(plans)))},
			{Term: c.T("Effect"), Text: value.Effect(c, t.Effect)},
		},
	}, nil
}

// providerSubject returns the provider in the address.
func (s disablePages) providerSubject(c *ui.Context) (subject, error) {
	v, err := s.provider(c)
	if err != nil {
		return subject{}, err
	}
	agents, err := s.App.Agents.List(c, c.Principal.Actor())
	if err != nil {
		return subject{}, err
	}
	agents = slices.DeleteFunc(agents, func(a domain.AgentInfo) bool { return a.Provider != v.Name })
	return subject{
		name: v.Name, page: link.Provider(v.Name), crumb: kit.Link{Text: c.T("Providers"), Href: "/agents/providers"},
		disabled: v.Disabled, breaker: &v.Breaker, circuits: []domain.Circuit{v.Circuit},
		facts: []kit.Fact{
			{Term: c.T("Calls in the last hour"), Text: c.Number(v.Activity.Hour.Calls)},
			{Term: c.T("Agents that use it"), Text: c.Number(int64(len(agents)))},
		},
	}, nil
}

// disablePage renders the confirmation page for disabling a tool or a provider.
func disablePage(c *ui.Context, of subject, code int, problem string) error {
	p := kit.ConfirmPage{
		Crumbs: kit.CrumbsOf(of.crumb), Back: of.page, Post: of.page + "/disable", Idem: kit.NewID(), Error: problem,
		Danger: true, NeedsReason: true,
		Heading: c.T("Disable %s", kit.Escape(of.name)), Facts: of.facts,
		Text: c.T(
			"New calls are refused until it is enabled, also after a restart. Running calls finish. A refused call fails " +
				"its step, unless the step is retried.",
		),
	}
	if of.disabled != nil {
		p.Text = disabledText(c, of.disabled)
	}
	p.Shell = c.Shell("agents", p.Heading)
	return c.Render(code, kit.Confirm(p))
}

// enablePage renders the confirmation page for enabling a tool or a provider, or for closing the
// circuit of one host.
func (s disablePages) enablePage(c *ui.Context, of subject, code int, problem string) error {
	p := kit.ConfirmPage{
		Crumbs: kit.CrumbsOf(of.crumb), Back: of.page, Post: of.page + "/enable", Idem: kit.NewID(), Error: problem, Facts: of.facts,
		Heading: c.T(
			"Enable %s",
			kit.Escape(of.name),
		), Text: c.T("Calls go through again, and the circuit closes. Resume the runs that failed in the meantime."),
	}
	if host := strings.ToLower(strings.TrimSpace(c.Field("host"))); host != "" {
		p.Host, p.Heading = host, c.T("Enable calls of %s", kit.Escape(host)+" ("+kit.Escape(of.name)+")")
		p.Text = c.T("The circuit of this host closes. Resume the runs that failed in the meantime.")
		of.circuits = slices.DeleteFunc(slices.Clone(of.circuits), func(k domain.Circuit) bool { return k.Part != host })
	} else if of.disabled != nil {
		p.Text = disabledText(c, of.disabled) + " " + p.Text
	}
	if of.breaker != nil {
		p.Text += " " + s.circuitRule(c, *of.breaker)
	}
	for _, k := range of.circuits {
		if k.Disturbed() {
			p.Facts = append(p.Facts, circuitFacts(c, k, of.page)...)
		}
	}
	p.Shell = c.Shell("agents", p.Heading)
	return c.Render(code, kit.Confirm(p))
}

// circuitFacts returns the state of a circuit, and why it is not closed.
func circuitFacts(c *ui.Context, k domain.Circuit, page string) []kit.Fact {
	row := circuit.RowOf(c, k, page)
	state := c.T(row.State.Word)
	if row.Until.Text != "" {
		state += ", " + c.T("half open in") + " " + row.Until.Text
	}
	if row.Part != "" {
		state = row.Part + ": " + state
	}
	facts := []kit.Fact{{Term: c.T("Circuit"), Text: state}}
	for _, f := range []kit.Fact{{Term: c.T("Since"), Text: row.Since.Text}, {Term: c.T("Why"), Text: row.Why},
		{Term: c.T("Last error"), Text: row.Error}} {
		if f.Text != "" {
			facts = append(facts, f)
		}
	}
	return facts
}

func (s disablePages) disableToolPage(c *ui.Context) error {
	of, err := s.toolSubject(c)
	if err != nil {
		return err
	}
	return disablePage(c, of, http.StatusOK, "")
}

func (s disablePages) disableTool(c *ui.Context) error {
	of, err := s.toolSubject(c)
	if err != nil {
		return err
	}
	req := app.DisableRequest{Meta: c.Meta(), Name: of.name, Reason: strings.TrimSpace(c.Field("reason"))}
	_, err = s.App.Tools.Disable(c, req)
	return disabled(c, of, req.Reason, err)
}

func (s disablePages) enableToolPage(c *ui.Context) error {
	of, err := s.toolSubject(c)
	if err != nil {
		return err
	}
	return s.enablePage(c, of, http.StatusOK, "")
}

func (s disablePages) enableTool(c *ui.Context) error {
	of, err := s.toolSubject(c)
	if err != nil {
		return err
	}
	req := app.EnableRequest{Meta: c.Meta(), Name: of.name, Host: c.Field("host"), Reason: strings.TrimSpace(c.Field("reason"))}
	_, err = s.App.Tools.Enable(c, req)
	return s.enabled(c, of, err)
}

func (s disablePages) disableProviderPage(c *ui.Context) error {
	of, err := s.providerSubject(c)
	if err != nil {
		return err
	}
	return disablePage(c, of, http.StatusOK, "")
}

func (s disablePages) disableProvider(c *ui.Context) error {
	of, err := s.providerSubject(c)
	if err != nil {
		return err
	}
	req := app.DisableRequest{Meta: c.Meta(), Name: of.name, Reason: strings.TrimSpace(c.Field("reason"))}
	_, err = s.App.Providers.Disable(c, req)
	return disabled(c, of, req.Reason, err)
}

func (s disablePages) enableProviderPage(c *ui.Context) error {
	of, err := s.providerSubject(c)
	if err != nil {
		return err
	}
	return s.enablePage(c, of, http.StatusOK, "")
}

func (s disablePages) enableProvider(c *ui.Context) error {
	of, err := s.providerSubject(c)
	if err != nil {
		return err
	}
	req := app.EnableRequest{Meta: c.Meta(), Name: of.name, Host: c.Field("host"), Reason: strings.TrimSpace(c.Field("reason"))}
	_, err = s.App.Providers.Enable(c, req)
	return s.enabled(c, of, err)
}

// disabled writes the response to the form that disables.
func disabled(c *ui.Context, of subject, reason string, err error) error {
	switch code := domain.CodeOf(err); {
	case err == nil:
		return c.RedirectTo(of.page)
	case code == domain.CodeInvalid && reason == "":
		return disablePage(c, of, http.StatusUnprocessableEntity, c.T("Enter a reason. The audit log keeps it."))
	}
	return err
}

// enabled writes the response to the form that enables.
func (s disablePages) enabled(c *ui.Context, of subject, err error) error {
	switch domain.CodeOf(err) {
	case "":
		return c.RedirectTo(of.page)
	case domain.CodeInvalid:
		return s.enablePage(c, of, http.StatusUnprocessableEntity, kit.Escape(err.Error()))
	}
	return err
}
