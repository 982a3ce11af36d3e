package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/part/circuit"
	"github.com/kairosd/kairosd/web/part/vital"
	"github.com/kairosd/kairosd/web/view"
)

// circuitRule is when a circuit opens by itself.
func (r *request) circuitRule(b domain.Breaker) string {
	text := r.t("It does not open by itself.")
	if b.Failures > 0 {
		text = r.n(b.Failures, "It opens after %s failure that says that the other side is down, for %s at first.", "It opens after %s failures in a row that say that the other side is down, for %s at first.", vital.Span(b.Rest))
	}
	if b.PerHost {
		text += " " + r.t("Each host has its own.")
	}
	return text
}

// toolCircuits is the part of a tool's page about its circuits; nil: it has none.
func (r *request) toolCircuits(t domain.ToolInfo) *circuit.List {
	if t.Breaker == nil {
		return nil
	}
	page := toolHref(t.Name)
	l := &circuit.List{Here: page, PerHost: t.Breaker.PerHost, Rule: r.circuitRule(*t.Breaker), Rows: circuit.Rows(r.Context, t.Circuits, page)}
	if r.who.Role.Includes(domain.RoleOperator) {
		switch {
		case t.Breaker.PerHost:
			l.Open = view.Link{Text: r.t("Open the circuit of a host…"), Href: circuit.Href(page, "open", ""), Dialog: true}
		case len(l.Rows) == 0:
			l.Open = view.Link{Text: r.t("Open its circuit…"), Href: circuit.Href(page, "open", ""), Dialog: true}
		}
	}
	return l
}

// providerCircuit is the same of a provider.
func (r *request) providerCircuit(v domain.ProviderInfo) *circuit.List {
	page := providerHref(v.Name)
	l := &circuit.List{Here: page, Rule: r.circuitRule(v.Breaker)}
	switch {
	case v.Circuit.Disturbed() || v.Circuit.FailuresInRow > 0:
		l.Rows = circuit.Rows(r.Context, []domain.Circuit{v.Circuit}, page)
	case r.who.Role.Includes(domain.RoleOperator):
		l.Open = view.Link{Text: r.t("Open its circuit…"), Href: circuit.Href(page, "open", ""), Dialog: true}
	}
	return l
}

// circuitFors are for how long a person may open a circuit from a page.
var circuitFors = []time.Duration{time.Minute, 5 * time.Minute, domain.CircuitFor, time.Hour, 6 * time.Hour, domain.MaxCircuitFor}

// circuitPage asks before a circuit is opened or closed; p says where it is, c how
// it is now, and what it is that is called.
func (r *request) circuitPage(code int, p view.ConfirmPage, name string, b domain.Breaker, c domain.Circuit, a domain.Activity) error {
	if c.Part != "" {
		name = visible(c.Part) + " (" + name + ")"
	}
	p.Post, p.Idem, p.Part, p.Do = p.Back+"/circuit", newID(), c.Part, "close"
	p.Heading = r.t("Close the circuit of %s", name)
	p.Says = r.t("Its calls are made again at once, and what has failed is forgotten.") + " " + r.circuitRule(b) + " " + r.t("Steps that wait for their next attempt make it when its time comes, or at once on the page of their run.")
	if r.c.FormValue("do") == "open" {
		p.Heading, p.Do, p.Danger = r.t("Open the circuit of %s", name), "open", true
		p.Says = r.t("No new call begins until the time is over; then one is tried. What is under way goes on. A call that is refused fails its step, unless the step is tried again: that waits until then. It outlasts restarts.")
		p.AskPart = b.PerHost && c.Part == ""
		chosen := r.c.FormValue("for")
		for _, d := range circuitFors {
			p.For = append(p.For, view.Option{Value: d.String(), Text: about(d), Selected: chosen == d.String() || chosen == "" && d == domain.CircuitFor})
		}
	}
	p.Shell = r.shell("agents", p.Heading)
	p.Facts = append([]view.Fact{{Term: r.t("Calls in the last hour"), Text: r.number(a.Hour.Calls)}}, p.Facts...)
	if !p.AskPart {
		row := circuit.RowOf(r.Context, c, p.Back)
		state := r.t(row.State.Word)
		if row.Until.Text != "" {
			state += ", " + r.t("half open in") + " " + row.Until.Text
		}
		p.Facts = append(p.Facts, view.Fact{Term: r.t("Its circuit now"), Text: state})
		for _, f := range []view.Fact{{Term: r.t("Since"), Text: row.Since.Text}, {Term: r.t("Why"), Text: row.Why}, {Term: r.t("Last error"), Text: row.Error}} {
			if f.Text != "" {
				p.Facts = append(p.Facts, f)
			}
		}
	}
	return r.render(code, view.Confirm(p))
}

// changeCircuit does what a circuitPage announced; show shows that page again.
func (r *request) changeCircuit(name, back string, do func(context.Context, app.CircuitRequest) error, show func(code int, problem string) error) error {
	c := domain.CircuitChange{Part: strings.TrimSpace(r.c.FormValue("part")), Open: r.c.FormValue("do") == "open", Reason: strings.TrimSpace(r.c.FormValue("reason"))}
	if !c.Open && r.c.FormValue("do") != "close" {
		return domain.Errorf(domain.CodeInvalid, "the form does not say whether to open or to close the circuit")
	}
	if text := r.c.FormValue("for"); c.Open && text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return show(http.StatusUnprocessableEntity, r.t("%s is not a time.", visible(text)))
		}
		c.For = d
	}
	err := do(r.ctx, app.CircuitRequest{Meta: r.meta(), Name: name, CircuitChange: c})
	switch domain.CodeOf(err) {
	case "":
		return r.to(back)
	case domain.CodeConflict:
		return show(http.StatusConflict, r.t("That is so already. This is how it is now."))
	case domain.CodeInvalid:
		return show(http.StatusUnprocessableEntity, visible(err.Error()))
	}
	return err
}

// toolCircuitPage asks before a circuit of a tool is opened or closed.
func (r *request) toolCircuitPage() error { return r.showToolCircuit(http.StatusOK, "") }

func (r *request) showToolCircuit(code int, problem string) error {
	t, err := r.tool()
	if err != nil {
		return err
	}
	if t.Breaker == nil {
		return domain.Errorf(domain.CodeNotFound, "%s reaches nobody: it has no circuit", visible(t.Name)).Suggest("stop its calls to refuse them")
	}
	c := domain.Circuit{State: domain.CircuitClosed}
	if t.Breaker.PerHost {
		c.Part = strings.ToLower(strings.TrimSpace(r.c.FormValue("part")))
	}
	if i := slices.IndexFunc(t.Circuits, func(k domain.Circuit) bool { return k.Part == c.Part }); i >= 0 {
		c = t.Circuits[i]
	}
	p := view.ConfirmPage{Crumb: view.Link{Text: r.t("Tools"), Href: "/agents/tools"}, Back: toolHref(t.Name), Error: problem}
	plans, _, err := r.plansWith(func(n *walk.ProgramNode) bool { return n.Type == walk.TypeTool && n.Tool == t.Name }, nil)
	if err != nil {
		return err
	}
	p.Facts = []view.Fact{{Term: r.t("Plans that call it"), Text: r.number(int64(len(plans)))}}
	return r.circuitPage(code, p, visible(t.Name), *t.Breaker, c, t.Activity)
}

func (r *request) changeToolCircuit() error {
	name := r.c.Param("tool")
	return r.changeCircuit(name, toolHref(name), r.s.App.Tools.ChangeCircuit, r.showToolCircuit)
}

// providerCircuitPage asks before the circuit of a provider is opened or closed.
func (r *request) providerCircuitPage() error { return r.showProviderCircuit(http.StatusOK, "") }

func (r *request) showProviderCircuit(code int, problem string) error {
	v, err := r.provider()
	if err != nil {
		return err
	}
	p := view.ConfirmPage{Crumb: view.Link{Text: r.t("Providers"), Href: "/agents/providers"}, Back: providerHref(v.Name), Error: problem}
	return r.circuitPage(code, p, visible(v.Name), v.Breaker, v.Circuit, v.Activity)
}

func (r *request) changeProviderCircuit() error {
	name := r.c.Param("provider")
	return r.changeCircuit(name, providerHref(name), r.s.App.Providers.ChangeCircuit, r.showProviderCircuit)
}

// runsSearched bounds how many unfinished runs are looked through for what they call.
const runsSearched = 200

// missed are the tools with an open circuit that plans of unfinished runs call, by
// themselves or through an agent.
func (r *request) missed() ([]domain.ToolInfo, error) {
	list, err := r.s.App.Tools.List(r.ctx, r.who.actor())
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(t domain.ToolInfo) bool { return !slices.ContainsFunc(t.Circuits, domain.Circuit.Refuses) })
	if len(list) == 0 {
		return nil, nil
	}
	agents, err := r.s.App.Agents.List(r.ctx, r.who.actor())
	if err != nil {
		return nil, err
	}
	runs, err := r.s.Reader.Runs(r.ctx, domain.RunFilter{Statuses: []domain.RunStatus{domain.RunQueued, domain.RunRunning, domain.RunWaiting}, Page: domain.Page{Limit: runsSearched}})
	if err != nil {
		return nil, err
	}
	called, seen := map[string]bool{}, map[string]bool{}
	for _, run := range runs.Items {
		if seen[run.Hash] {
			continue
		}
		seen[run.Hash] = true
		program, err := r.s.Engine.Program(r.ctx, run.Hash)
		if err != nil {
			continue // it names what this installation no longer has
		}
		for _, n := range program.Nodes {
			called[n.Tool] = true
			for _, a := range agents {
				if n.Agent == a.ID || n.Agent == "" && a.Default && n.Type == walk.TypeAgent {
					for _, name := range a.Tools {
						called[name] = true
					}
				}
			}
		}
	}
	return slices.DeleteFunc(list, func(t domain.ToolInfo) bool { return !called[t.Name] }), nil
}
