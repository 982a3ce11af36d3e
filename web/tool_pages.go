package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/circuit"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/part/vital"
	"github.com/kairosd/kairosd/web/ui"
	"github.com/kairosd/kairosd/web/view"
)

// tool finds the tool that the address names.
func (r *request) tool() (domain.ToolInfo, error) {
	name := r.c.Param("tool")
	list, err := r.s.App.Tools.List(r.ctx, r.who.actor())
	if err != nil {
		return domain.ToolInfo{}, err
	}
	i := slices.IndexFunc(list, func(t domain.ToolInfo) bool { return t.Name == name })
	if i < 0 {
		return domain.ToolInfo{}, domain.Errorf(domain.CodeNotFound, "there is no tool %q", visible(name))
	}
	return list[i], nil
}

// toolState is a tool's state as operators read it.
func toolState(state string) view.Status {
	switch state {
	case "ready":
		return word("ok", "i-ok", locale.Mark("ready"), true)
	case "changed":
		return word("need", "i-need", locale.Mark("changed"), true)
	case "gone", "given up":
		return word("fail", "i-fail", state, true)
	}
	return word("idle", "i-wait", state, true)
}

// The states of tools and servers, for the catalogue of words.
var _ = []string{locale.Mark("unavailable"), locale.Mark("gone"), locale.Mark("given up"), locale.Mark("off")}

// callState is whether a tool can be called now.
func callState(t domain.ToolInfo) view.Status {
	switch {
	case t.Stop != nil:
		return word("fail", "i-pause", locale.Mark("stopped"), true)
	case t.Refuses():
		return word("fail", "i-pause", locale.Mark("circuit open"), true)
	}
	return toolState(t.State)
}

// callFacts are how calls went, as facts of a page.
func (r *request) callFacts(a domain.Activity) []view.Fact {
	p := r.pulse(a)
	facts := []view.Fact{{Term: r.t("Last call"), Text: cmp.Or(p.Last.Text, r.t("none"))}, {Term: r.t("Failed in the last hour"), Text: cmp.Or(p.Share, r.t("no call"))}}
	if a.P95 > 0 {
		facts = append(facts, view.Fact{Term: r.t("Took"), Text: "p50 " + vital.Span(a.P50) + " · p95 " + vital.Span(a.P95)})
	}
	return facts
}

// secretsOf names the secrets that a tool may be given; names are no secret.
func (r *request) secretsOf(tool string) string {
	if r.s.Settings == nil {
		return ""
	}
	s, err := r.s.Settings.Settings(r.ctx)
	if err != nil {
		return "" // the page says everything else
	}
	var names []string
	for _, v := range s.Secrets {
		if slices.Contains(v.Tools, tool) {
			names = append(names, visible(v.Name))
		}
	}
	return strings.Join(names, ", ")
}

// stopToolPage asks before calls of a tool are stopped, or begin again.
func (r *request) stopToolPage() error { return r.showStopTool(http.StatusOK, "") }

func (r *request) showStopTool(code int, problem string) error {
	t, err := r.tool()
	if err != nil {
		return err
	}
	p := view.ConfirmPage{Crumb: view.Link{Text: r.t("Tools"), Href: "/agents/tools"}, Back: toolHref(t.Name), Error: problem}
	plans, _, err := r.plansWith(func(n *walk.ProgramNode) bool { return n.Type == walk.TypeTool && n.Tool == t.Name }, nil)
	if err != nil {
		return err
	}
	p.Facts = []view.Fact{{Term: r.t("Plans that call it"), Text: r.number(int64(len(plans)))}, {Term: r.t("Effect"), Text: r.effect(t.Effect)}}
	return r.stopPage(code, p, visible(t.Name), t.Stop, t.Activity)
}

func (r *request) stopTool() error {
	name := r.c.Param("tool")
	return r.stop(name, toolHref(name), r.s.App.Tools.Stop, r.showStopTool)
}

// toolPage shows one tool.
func (r *request) toolPage() error {
	t, err := r.tool()
	if err != nil {
		return err
	}
	p := view.ToolPage{Shell: r.shell("agents", visible(t.Name)), Name: visible(t.Name), About: visible(t.Description), Reason: visible(t.Reason), State: toolState(t.State),
		Arguments: schemaBlock("args", r.t("Arguments"), t.Schema), Stopped: r.stopText(t.Stop), Circuits: r.toolCircuits(t), Pulse: r.pulse(t.Activity)}
	if p.Circuits != nil && r.target() == "circuits" {
		return r.render(http.StatusOK, circuit.Section(*p.Circuits))
	}
	p.Live = p.Circuits != nil
	p.Failures, p.Counts = r.failures(t.Activity)
	p.Facts = []view.Fact{{Term: r.t("From"), Text: visible(t.Source)}, {Term: r.t("Effect"), Text: r.effect(t.Effect)}, {Term: r.t("Permission"), Text: t.Permission}, {Term: r.t("State"), Text: r.t(callState(t).Word)}}
	limit := r.t("as the step says")
	if t.Timeout > 0 {
		limit = vital.Span(t.Timeout)
	}
	p.Facts = append(p.Facts, view.Fact{Term: r.t("A call may take"), Text: limit})
	p.Facts = append(p.Facts, r.callFacts(t.Activity)...)
	if names := r.secretsOf(t.Name); names != "" {
		p.Facts = append(p.Facts, view.Fact{Term: r.t("Secrets it may be given"), Text: names})
	}
	agents, err := r.s.App.Agents.List(r.ctx, r.who.actor())
	if err != nil {
		return err
	}
	for _, a := range agents {
		if slices.Contains(a.Tools, t.Name) {
			p.Agents = append(p.Agents, view.Link{Text: visible(a.Name), Href: agentHref(a.ID)})
		}
	}
	if p.Plans, p.Searched, err = r.plansWith(func(n *walk.ProgramNode) bool { return n.Type == walk.TypeTool && n.Tool == t.Name }, nil); err != nil {
		return err
	}
	if t.Change != nil && r.who.Role.Includes(domain.RoleAdmin) {
		p.Actions = append(p.Actions, view.Link{Text: r.t("Read what it says now…"), Href: toolHref(t.Name) + "/accept", Danger: true})
	}
	if r.who.Role.Includes(domain.RoleOperator) {
		l := view.Link{Text: r.t("Stop its calls…"), Href: toolHref(t.Name) + "/stop", Dialog: true}
		if t.Stop != nil {
			l.Text = r.t("Allow its calls again…")
		}
		p.Actions = append(p.Actions, l)
	}
	if t.State == "ready" && r.who.Role.Includes(domain.RoleAuthor) {
		p.Actions = append(p.Actions, view.Link{Text: r.t("Try it…"), Href: toolHref(t.Name) + "/try"})
	}
	return r.render(http.StatusOK, view.Tool(p))
}

// plansSearched bounds how many plans a page looks through.
const plansSearched = 500

// plansWith are the plans whose newest version has such a node, the last changed
// first, each with how many; each, if not nil, hears of every plan; searched says
// that not all plans were looked at.
func (r *request) plansWith(has func(*walk.ProgramNode) bool, each func(plan string, nodes []*walk.ProgramNode)) (out []view.Link, searched string, err error) {
	ctx, cancel := context.WithTimeout(r.ctx, readTimeout)
	defer cancel()
	f := domain.PlanFilter{Page: domain.Page{Limit: 100}}
	for seen := 0; ; {
		list, err := r.s.Reader.Plans(ctx, f)
		if err != nil {
			return nil, "", err
		}
		for _, pl := range list.Items {
			if seen++; seen > plansSearched {
				return out, r.t("Only the %s plans that were changed last were looked through.", r.number(plansSearched)), nil
			}
			program, err := r.s.Engine.Program(ctx, pl.LatestHash)
			if ctx.Err() != nil {
				return nil, "", ctx.Err()
			} else if err != nil {
				continue // it names what this installation no longer has
			}
			var found []*walk.ProgramNode
			for i := range program.Nodes {
				if has(&program.Nodes[i]) {
					found = append(found, &program.Nodes[i])
				}
			}
			if n := len(found); n > 0 {
				if each != nil {
					each(pl.Key, found)
				}
				out = append(out, view.Link{Text: visible(pl.Key), Href: "/plans/" + url.PathEscape(pl.Key), Count: r.n(n, "%s step", "%s steps")})
			}
		}
		if list.Next == "" {
			return out, "", nil
		}
		f.Page.After = list.Next
	}
}

// acceptToolPage puts what was accepted and what is offered side by side.
func (r *request) acceptToolPage() error { return r.showAccept(http.StatusOK, "") }

func (r *request) showAccept(code int, problem string) error {
	t, err := r.tool()
	if err != nil {
		return err
	}
	if t.Change == nil {
		return domain.Errorf(domain.CodeConflict, "%s says of itself what was accepted, or its server does not run", visible(t.Name)).Suggest("there is nothing to accept now")
	}
	was, is := t.Change.Accepted, t.Change.Offered
	p := view.AcceptToolPage{Shell: r.shell("agents", r.t("Accept what %s says now", visible(t.Name))), Name: visible(t.Name), Post: toolHref(t.Name) + "/accept", Back: toolHref(t.Name),
		Idem: newID(), Digest: t.Change.Digest, Error: problem, Accepted: schemaBlock("was", r.t("Accepted"), was.Schema), Offered: schemaBlock("is", r.t("Offered now"), is.Schema)}
	p.Same = p.Accepted.Text == p.Offered.Text
	p.Looser = was.Effect == string(walk.EffectUnsafe) && is.Effect != was.Effect
	yes := func(b bool) string {
		if b {
			return r.t("yes")
		}
		return r.t("no")
	}
	for _, row := range []view.CompareRow{
		{Name: r.t("What it does"), A: visible(was.Description), B: visible(is.Description)},
		{Name: r.t("Effect"), A: r.effect(was.Effect), B: r.effect(is.Effect)},
		{Name: r.t("It says that it only reads"), A: yes(was.ReadOnly), B: yes(is.ReadOnly)},
		{Name: r.t("It says that repeating a call is harmless"), A: yes(was.Idempotent), B: yes(is.Idempotent)},
	} {
		row.Differs = row.A != row.B
		p.Facts = append(p.Facts, row)
	}
	return r.render(code, view.AcceptTool(p))
}

// acceptTool accepts the definition that was read, and no other.
func (r *request) acceptTool() error {
	t, err := r.tool()
	if err != nil {
		return err
	}
	reason, digest := strings.TrimSpace(r.c.FormValue("reason")), r.c.FormValue("digest")
	switch {
	case digest == "":
		return domain.Errorf(domain.CodeInvalid, "the form does not say what was read").Suggest("read what the tool says now, and accept that")
	case reason == "" && t.Change != nil:
		return r.showAccept(http.StatusUnprocessableEntity, r.t("Say why: it is kept in the audit log."))
	}
	err = r.s.App.Tools.Accept(r.ctx, app.ToolAcceptance{Meta: r.meta(), Tool: t.Name, Digest: digest, Reason: reason})
	if err == nil {
		return r.to(toolHref(t.Name))
	}
	if domain.CodeOf(err) == domain.CodeStale && t.Change != nil {
		return r.showAccept(http.StatusConflict, r.t("It says something else again since you looked. This is what it says now."))
	}
	return err
}

// tryToolPage asks for the arguments of a call by hand.
func (r *request) tryToolPage() error {
	return r.showTry(http.StatusOK, func(*view.TryToolPage) {})
}

func (r *request) showTry(code int, fill func(*view.TryToolPage)) error {
	t, err := r.tool()
	if err != nil {
		return err
	}
	p := view.TryToolPage{Shell: r.shell("agents", r.t("Try %s", visible(t.Name))), Name: visible(t.Name), Post: toolHref(t.Name) + "/try", Back: toolHref(t.Name), Idem: newID(),
		Fields: r.fields(any(t.Schema)), Input: r.c.FormValue("input"), Denied: t.Permission == "deny"}
	fill(&p)
	return r.render(code, view.TryTool(p))
}

// tryTool says what a call would be, and makes it as a run of a plan with that
// one step: journalled, with the permissions of any other call.
func (r *request) tryTool() error {
	t, err := r.tool()
	if err != nil {
		return err
	}
	wrong := func(problem string, details ...string) error {
		return r.showTry(http.StatusUnprocessableEntity, func(p *view.TryToolPage) { p.Error, p.Problems = problem, details })
	}
	args := any(map[string]any{})
	if typed := r.c.FormValue("input"); strings.TrimSpace(typed) != "" {
		raw, err := jsonOf(typed)
		if err != nil {
			return wrong(r.t("The arguments are not JSON: %s", err.Error()))
		}
		if args, err = jsonvalue.Decode(raw); err != nil {
			return wrong(r.t("The arguments are not JSON: %s", err.Error()))
		}
	} else if values := r.formValues(any(t.Schema)); values != nil {
		args = values
	}
	if t.Schema != nil {
		schema, err := planner.CompileSchema(t.Schema)
		if err != nil {
			return err
		}
		var problems []string
		for _, p := range schema.Validate(args) {
			problems = append(problems, visible(p.String()))
		}
		if len(problems) > 0 {
			slices.Sort(problems)
			return wrong(r.t("The arguments do not fit"), problems...)
		}
	}
	raw, err := jsonvalue.Encode(args)
	if err != nil {
		return wrong(err.Error())
	}
	effect := t.Effect
	if info := r.s.Engine.Catalog().Tools[t.Name]; info.EffectOf != nil {
		effect = string(info.EffectOf(args))
	}
	digest := argumentsDigest(t.Name, effect, raw)
	// What may change something outside wants a reason (level 2).
	changes, reason := effect != string(walk.EffectPure) && effect != string(walk.EffectRead), strings.TrimSpace(r.c.FormValue("reason"))
	check := func(code int, problem string) error {
		return r.showTry(code, func(p *view.TryToolPage) {
			p.Checked, p.Digest, p.Arguments = true, digest, r.block("call", r.t("Arguments"), raw, "")
			p.Says = r.t(effectWords[effect]) + " " + r.t(value.Permissions[t.Permission])
			p.NeedsReason, p.Reason, p.Error = changes, reason, problem
		})
	}
	switch {
	case r.c.FormValue("do") != "run":
		return check(http.StatusOK, "")
	case r.c.FormValue("digest") != digest:
		return check(http.StatusOK, r.t("The arguments have changed since they were checked. This is what would be called now."))
	case changes && (reason == "" || len(reason) > ui.MaxReason):
		return check(http.StatusUnprocessableEntity, r.t("Say why, in at most %d characters: the audit log keeps it.", ui.MaxReason))
	}
	plan, version, err := r.savePlanFor(t.Name)
	if err != nil {
		return err
	}
	m, repeated := r.meta(), false
	m.Repeated = &repeated
	run, err := r.s.App.Runs.Start(r.ctx, app.StartRequest{Meta: m, StartRequest: domain.StartRequest{Plan: plan.ID, Version: version.Number, Origin: "ui", Input: raw, Labels: map[string]string{"try": "tool"}}})
	if err != nil {
		return err
	}
	if changes && !repeated { // the call is on its way: that its note cannot be kept must not make it again
		if _, err := r.s.App.Runs.AddNote(r.ctx, app.NoteRequest{Meta: app.Meta{By: r.who.actor()}, Run: run.ID, Text: reason}); err != nil {
			r.s.Logger.Error("keep why a tool is tried", "run_id", run.ID, "reason", reason, "err", err)
		}
	}
	return r.to("/runs/" + run.ID)
}

// savePlanFor stores the plan that calls one tool with a run's input; it is the
// same version every time.
func (r *request) savePlanFor(tool string) (domain.Plan, domain.Version, error) {
	src, err := json.Marshal(map[string]any{
		"id": "try-" + strings.ReplaceAll(tool, ".", "-"), "name": "Try " + tool, "description": fmt.Sprintf("Calls %s with the input of the run.", tool),
		"nodes": map[string]any{"call": map[string]any{"type": walk.TypeTool, "tool": tool, "input": "${input}"}},
	})
	if err != nil {
		return domain.Plan{}, domain.Version{}, err
	}
	stored, err := r.s.App.Plans.Store(r.ctx, app.PlanDocument{Meta: app.Meta{By: r.who.actor()}, Source: src, Format: planner.FormatJSON, Origin: "try", Reason: "tried on the page of the tool"})
	return stored.Plan, stored.Version, err
}

var effectWords = map[string]string{
	string(walk.EffectPure):       locale.Mark("The call computes something and touches nothing."),
	string(walk.EffectRead):       locale.Mark("The call reads and changes nothing."),
	string(walk.EffectIdempotent): locale.Mark("The call changes something outside; repeated with its key it happens once."),
	string(walk.EffectUnsafe):     locale.Mark("The call may change something outside, and what it does stays done."),
}

// retryServerPage asks before an MCP server is started again.
func (r *request) retryServerPage() error {
	s, err := r.server()
	if err != nil {
		return err
	}
	back := "/agents/tools"
	p := view.ConfirmPage{Shell: r.shell("agents", r.t("Start %s again", visible(s.Name))), Crumb: view.Link{Text: r.t("Tools"), Href: back}, Heading: r.t("Start %s again", visible(s.Name)),
		Says: r.t("Its command is run, or its address is called, at once; after that it has five restarts again."), Post: "/agents/servers/" + url.PathEscape(s.Name) + "/retry", Back: back, Idem: newID(),
		Facts: []view.Fact{{Term: r.t("State"), Text: r.t(s.State)}, {Term: r.t("Since"), Text: r.time(s.Since).Text}, {Term: r.t("Restarts"), Text: r.number(int64(s.Restarts))}, {Term: r.t("Why"), Text: visible(s.Reason)}}}
	if s.State == "ready" {
		p.Says = r.t("It runs: its tools are listed again, and nothing else happens.")
	}
	return r.render(http.StatusOK, view.Confirm(p))
}

func (r *request) server() (domain.ToolServer, error) {
	list, err := r.s.App.Tools.Servers(r.ctx, r.who.actor())
	if err != nil {
		return domain.ToolServer{}, err
	}
	for _, s := range list {
		if s.Name == r.c.Param("server") {
			return s, nil
		}
	}
	return domain.ToolServer{}, domain.Errorf(domain.CodeNotFound, "no MCP server %q is configured", visible(r.c.Param("server")))
}

func (r *request) retryServer() error {
	s, err := r.server()
	if err != nil {
		return err
	}
	if err := r.s.App.Tools.RetryServer(r.ctx, app.ServerRetry{Meta: r.meta(), Server: s.Name, Reason: strings.TrimSpace(r.c.FormValue("reason"))}); err != nil {
		return err
	}
	return r.to("/agents/tools")
}
