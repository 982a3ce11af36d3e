package agents

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/circuit"
	"github.com/kairosd/kairosd/web/part/vital"
	"github.com/kairosd/kairosd/web/ui"
)

// circuitRule is when a circuit opens by itself.
func (s *section) circuitRule(c *ui.Context, b domain.Breaker) string {
	text := c.T("It does not open by itself.")
	if b.Failures > 0 {
		text = c.N(b.Failures, "It opens after %s failure that says that the other side is down, for %s at first.", "It opens after %s failures in a row that say that the other side is down, for %s at first.", vital.Span(b.Rest))
	}
	if b.PerHost {
		text += " " + c.T("Each host has its own.")
	}
	return text
}

// toolCircuits is the part of a tool's page about its circuits; nil: it has none.
func (s *section) toolCircuits(c *ui.Context, t domain.ToolInfo) *circuit.List {
	if t.Breaker == nil {
		return nil
	}
	page := link.Tool(t.Name)
	l := &circuit.List{Here: page, PerHost: t.Breaker.PerHost, Rule: s.circuitRule(c, *t.Breaker), Rows: circuit.Rows(c, t.Circuits, page)}
	if c.Who.Role.Includes(domain.RoleOperator) {
		switch {
		case t.Breaker.PerHost:
			l.Open = kit.Link{Text: c.T("Open the circuit of a host…"), Href: circuit.Href(page, "open", ""), Dialog: true}
		case len(l.Rows) == 0:
			l.Open = kit.Link{Text: c.T("Open its circuit…"), Href: circuit.Href(page, "open", ""), Dialog: true}
		}
	}
	return l
}

// providerCircuit is the same of a provider.
func (s *section) providerCircuit(c *ui.Context, v domain.ProviderInfo) *circuit.List {
	page := link.Provider(v.Name)
	l := &circuit.List{Here: page, Rule: s.circuitRule(c, v.Breaker)}
	switch {
	case v.Circuit.Disturbed() || v.Circuit.FailuresInRow > 0:
		l.Rows = circuit.Rows(c, []domain.Circuit{v.Circuit}, page)
	case c.Who.Role.Includes(domain.RoleOperator):
		l.Open = kit.Link{Text: c.T("Open its circuit…"), Href: circuit.Href(page, "open", ""), Dialog: true}
	}
	return l
}

// circuitFors are for how long a person may open a circuit from a page.
var circuitFors = []time.Duration{time.Minute, 5 * time.Minute, domain.CircuitFor, time.Hour, 6 * time.Hour, domain.MaxCircuitFor}

// circuitPage asks before a circuit is opened or closed; p says where it is, now how
// it stands, and what it is that is called.
func (s *section) circuitPage(c *ui.Context, code int, p kit.ConfirmPage, name string, b domain.Breaker, now domain.Circuit, a domain.Activity) error {
	if now.Part != "" {
		name = kit.Visible(now.Part) + " (" + name + ")"
	}
	p.Post, p.Idem, p.Part, p.Do = p.Back+"/circuit", kit.NewID(), now.Part, "close"
	p.Heading = c.T("Close the circuit of %s", name)
	p.Says = c.T("Its calls are made again at once, and what has failed is forgotten.") + " " + s.circuitRule(c, b) + " " + c.T("Steps that wait for their next attempt make it when its time comes, or at once on the page of their run.")
	if c.Field("do") == "open" {
		p.Heading, p.Do, p.Danger = c.T("Open the circuit of %s", name), "open", true
		p.Says = c.T("No new call begins until the time is over; then one is tried. What is under way goes on. A call that is refused fails its step, unless the step is tried again: that waits until then. It outlasts restarts.")
		p.AskPart = b.PerHost && now.Part == ""
		chosen := c.Field("for")
		for _, d := range circuitFors {
			p.For = append(p.For, kit.Option{Value: d.String(), Text: kit.About(d), Selected: chosen == d.String() || chosen == "" && d == domain.CircuitFor})
		}
	}
	p.Shell = c.Shell("agents", p.Heading)
	p.Facts = append([]kit.Fact{{Term: c.T("Calls in the last hour"), Text: c.Number(a.Hour.Calls)}}, p.Facts...)
	if !p.AskPart {
		row := circuit.RowOf(c, now, p.Back)
		state := c.T(row.State.Word)
		if row.Until.Text != "" {
			state += ", " + c.T("half open in") + " " + row.Until.Text
		}
		p.Facts = append(p.Facts, kit.Fact{Term: c.T("Its circuit now"), Text: state})
		for _, f := range []kit.Fact{{Term: c.T("Since"), Text: row.Since.Text}, {Term: c.T("Why"), Text: row.Why}, {Term: c.T("Last error"), Text: row.Error}} {
			if f.Text != "" {
				p.Facts = append(p.Facts, f)
			}
		}
	}
	return c.Render(code, kit.Confirm(p))
}

// changeCircuit does what a circuitPage announced; show shows that page again.
func (s *section) changeCircuit(c *ui.Context, name, back string, do func(context.Context, app.CircuitRequest) error, show func(c *ui.Context, code int, problem string) error) error {
	change := domain.CircuitChange{Part: strings.TrimSpace(c.Field("part")), Open: c.Field("do") == "open", Reason: strings.TrimSpace(c.Field("reason"))}
	if !change.Open && c.Field("do") != "close" {
		return domain.Errorf(domain.CodeInvalid, "the form does not say whether to open or to close the circuit")
	}
	if text := c.Field("for"); change.Open && text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return show(c, http.StatusUnprocessableEntity, c.T("%s is not a time.", kit.Visible(text)))
		}
		change.For = d
	}
	err := do(c, app.CircuitRequest{Meta: c.Meta(), Name: name, CircuitChange: change})
	switch domain.CodeOf(err) {
	case "":
		return c.To(back)
	case domain.CodeConflict:
		return show(c, http.StatusConflict, c.T("That is so already. This is how it is now."))
	case domain.CodeInvalid:
		return show(c, http.StatusUnprocessableEntity, kit.Visible(err.Error()))
	}
	return err
}

// toolCircuitPage asks before a circuit of a tool is opened or closed.
func (s *section) toolCircuitPage(c *ui.Context) error {
	return s.showToolCircuit(c, http.StatusOK, "")
}

func (s *section) showToolCircuit(c *ui.Context, code int, problem string) error {
	t, err := s.tool(c)
	if err != nil {
		return err
	}
	if t.Breaker == nil {
		return domain.Errorf(domain.CodeNotFound, "%s reaches nobody: it has no circuit", kit.Visible(t.Name)).Suggest("stop its calls to refuse them")
	}
	now := domain.Circuit{State: domain.CircuitClosed}
	if t.Breaker.PerHost {
		now.Part = strings.ToLower(strings.TrimSpace(c.Field("part")))
	}
	if i := slices.IndexFunc(t.Circuits, func(k domain.Circuit) bool { return k.Part == now.Part }); i >= 0 {
		now = t.Circuits[i]
	}
	p := kit.ConfirmPage{Crumb: kit.Link{Text: c.T("Tools"), Href: "/agents/tools"}, Back: link.Tool(t.Name), Error: problem}
	plans, _, err := s.plansWith(c, func(n *walk.ProgramNode) bool { return n.Type == walk.TypeTool && n.Tool == t.Name }, nil)
	if err != nil {
		return err
	}
	p.Facts = []kit.Fact{{Term: c.T("Plans that call it"), Text: c.Number(int64(len(plans)))}}
	return s.circuitPage(c, code, p, kit.Visible(t.Name), *t.Breaker, now, t.Activity)
}

func (s *section) changeToolCircuit(c *ui.Context) error {
	name := c.Param("tool")
	return s.changeCircuit(c, name, link.Tool(name), s.App.Tools.ChangeCircuit, s.showToolCircuit)
}

// providerCircuitPage asks before the circuit of a provider is opened or closed.
func (s *section) providerCircuitPage(c *ui.Context) error {
	return s.showProviderCircuit(c, http.StatusOK, "")
}

func (s *section) showProviderCircuit(c *ui.Context, code int, problem string) error {
	v, err := s.provider(c)
	if err != nil {
		return err
	}
	p := kit.ConfirmPage{Crumb: kit.Link{Text: c.T("Providers"), Href: "/agents/providers"}, Back: link.Provider(v.Name), Error: problem}
	return s.circuitPage(c, code, p, kit.Visible(v.Name), v.Breaker, v.Circuit, v.Activity)
}

func (s *section) changeProviderCircuit(c *ui.Context) error {
	name := c.Param("provider")
	return s.changeCircuit(c, name, link.Provider(name), s.App.Providers.ChangeCircuit, s.showProviderCircuit)
}
