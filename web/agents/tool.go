package agents

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonschema"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/circuit"
	"github.com/kairosd/kairosd/web/part/form"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/part/vital"
	"github.com/kairosd/kairosd/web/ui"
)

// toolPages serves the pages of a tool and of its MCP server.
type toolPages struct{ *section }

// tool returns the tool in the address.
func (s *section) tool(c *ui.Context) (domain.ToolInfo, error) {
	name := c.Param("tool")
	list, err := s.App.Tools.List(c, c.Principal.Actor())
	if err != nil {
		return domain.ToolInfo{}, err
	}
	i := slices.IndexFunc(list, func(t domain.ToolInfo) bool { return t.Name == name })
	if i < 0 {
		return domain.ToolInfo{}, domain.Errorf(domain.CodeNotFound, "there is no tool %q", kit.Escape(name))
	}
	return list[i], nil
}

// toolState returns the label of a tool's state.
func toolState(state string) kit.Status {
	switch state {
	case "ready":
		return kit.Word("ok", "i-ok", locale.Mark("ready"), true)
	case "changed":
		return kit.Word("need", "i-need", locale.Mark("changed"), true)
	case "gone", "disabled":
		return kit.Word("fail", "i-fail", state, true)
	}
	return kit.Word("idle", "i-wait", state, true)
}

// These labels of states are not literals elsewhere. They are marked here for translation.
var _ = []string{locale.Mark("unavailable"), locale.Mark("gone"), locale.Mark("disabled"), locale.Mark("off")}

// callState returns whether a tool can be called now.
func callState(t domain.ToolInfo) kit.Status {
	switch {
	case t.Disabled != nil:
		return kit.Word("fail", "i-pause", locale.Mark("disabled"), true)
	case t.Refuses():
		return kit.Word("fail", "i-pause", locale.Mark("circuit open"), true)
	}
	return toolState(t.State)
}

// callFacts returns the last call, the failures in the last hour, and the durations of calls.
func (s *section) callFacts(c *ui.Context, a domain.Activity) []kit.Fact {
	p := s.pulse(c, a)
	facts := []kit.Fact{
		{Term: c.T("Last call"), Text: cmp.Or(p.Last.Text, c.T("none"))},
		{Term: c.T("Failed in the last hour"), Text: cmp.Or(p.Share, c.T("no call"))},
	}
	if a.P95 > 0 {
		facts = append(
			facts,
			kit.Fact{Term: c.T("Duration"), Text: "p50 " + vital.Span(a.P50.Duration()) + " · p95 " + vital.Span(a.P95.Duration())},
		)
	}
	return facts
}

// secretsOf returns the names of the secrets that a tool may receive. Names are not confidential.
func (s toolPages) secretsOf(c *ui.Context, tool string) string {
	if s.Settings == nil {
		return ""
	}
	settings, err := s.Settings.Settings(c)
	if err != nil {
		return "" // the rest of the page does not need them
	}
	var names []string
	for _, v := range settings.Secrets {
		if slices.Contains(v.Tools, tool) {
			names = append(names, kit.Escape(v.Name))
		}
	}
	return strings.Join(names, ", ")
}

// toolPage serves the page of a tool.
func (s toolPages) toolPage(c *ui.Context) error {
	t, err := s.tool(c)
	if err != nil {
		return err
	}
	p := ToolPage{
		Shell:  c.Shell("agents", kit.Escape(t.Name)),
		Name:   kit.Escape(t.Name),
		About:  kit.Escape(t.Description),
		Reason: kit.Escape(t.Reason),
		State:  toolState(t.State),
		Arguments: value.Schema(
			"args",
			c.T("Arguments"),
			t.Schema,
		),
		Disabled: disabledText(c, t.Disabled),
		Circuits: s.toolCircuits(c, t),
		Pulse:    s.pulse(c, t.Activity),
	}
	if p.Circuits != nil && c.Target() == "circuits" {
		return c.Render(http.StatusOK, circuit.Section(*p.Circuits))
	}
	p.Live = p.Circuits != nil
	p.Failures, p.Counts = s.failures(c, t.Activity)
	p.Facts = []kit.Fact{
		{Term: c.T("From"), Text: kit.Escape(t.Source)},
		{Term: c.T("Effect"), Text: value.Effect(c, t.Effect)},
		{Term: c.T("Permission"), Text: t.Permission},
		{Term: c.T("State"), Text: c.T(callState(t).Word)},
	}
	limit := c.T("as the step declares")
	if t.Timeout > 0 {
		limit = vital.Span(t.Timeout.Duration())
	}
	p.Facts = append(p.Facts, kit.Fact{Term: c.T("A call may take"), Text: limit})
	p.Facts = append(p.Facts, s.callFacts(c, t.Activity)...)
	if names := s.secretsOf(c, t.Name); names != "" {
		p.Facts = append(p.Facts, kit.Fact{Term: c.T("Secrets it may be given"), Text: names})
	}
	agents, err := s.App.Agents.List(c, c.Principal.Actor())
	if err != nil {
		return err
	}
	for _, a := range agents {
		if slices.Contains(a.Tools, t.Name) {
			p.Agents = append(p.Agents, kit.Link{Text: kit.Escape(a.Name), Href: link.Agent(a.ID)})
		}
	}
	if p.Plans, p.Searched, err = s.plansWith(c, func(n *walk.ProgramNode) bool {
		return n.Type == walk.TypeTool &&
			n.Tool == t.Name
	}, nil); err != nil {
		return err
	}
	if t.Change != nil && c.Principal.Role.Includes(domain.RoleAdmin) {
		p.Actions = append(p.Actions, kit.Link{Text: c.T("Read the current description…"), Href: link.Tool(t.Name) + "/accept",
			Danger: true})
	}
	p.Actions = append(p.Actions, switchLinks(c, link.Tool(t.Name), t.Disabled != nil, t.Circuits...)...)
	if t.State == "ready" && c.Principal.Role.Includes(domain.RoleAuthor) {
		p.Actions = append(p.Actions, kit.Link{Text: c.T("Try it…"), Href: link.Tool(t.Name) + "/try"})
	}
	return c.Render(http.StatusOK, Tool(p))
}

// plansSearched is the maximum number of plans that a page searches.
const plansSearched = 500

// plansWith returns links to the plans whose newest version has matching nodes, with the number of
// these nodes. The last changed plan comes first. If each is not nil, it is called for every plan.
// searched states how many plans were read, and is empty if all were.
func (s *section) plansWith(
	c *ui.Context,
	has func(*walk.ProgramNode) bool,
	each func(plan string, nodes []*walk.ProgramNode),
) (out []kit.Link, searched string, err error) {
	ctx, cancel := context.WithTimeout(c, readTimeout)
	defer cancel()
	f := domain.PlanFilter{Page: domain.Page{Limit: 100}}
	for seen := 0; ; {
		list, err := s.Reader.Plans(ctx, f)
		if err != nil {
			return nil, "", err
		}
		for _, pl := range list.Items {
			if seen++; seen > plansSearched {
				return out, c.T("Only the %s most recently changed plans were searched.", c.Number(plansSearched)), nil
			}
			program, err := s.Engine.Program(ctx, domain.AsWritten(pl.LatestHash))
			if ctx.Err() != nil {
				return nil, "", ctx.Err()
			} else if err != nil {
				continue // the version refers to a removed tool or agent
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
				out = append(
					out,
					kit.Link{Text: kit.Escape(pl.Key), Href: "/plans/" + url.PathEscape(pl.Key), Count: c.N(n, "%s step", "%s steps")},
				)
			}
		}
		if list.Next == "" {
			return out, "", nil
		}
		f.Page.After = list.Next
	}
}

// acceptToolPage serves the form that compares the accepted and the current definition of a tool.
func (s toolPages) acceptToolPage(c *ui.Context) error { return s.showAccept(c, http.StatusOK, "") }

func (s toolPages) showAccept(c *ui.Context, code int, problem string) error {
	t, err := s.tool(c)
	if err != nil {
		return err
	}
	if t.Change == nil {
		return domain.Errorf(domain.CodeConflict, "the description of %s is the accepted one, or its server does not run",
			kit.Escape(t.Name)).
			Suggest("there is nothing to accept now")
	}
	was, is := t.Change.Accepted, t.Change.Offered
	p := AcceptToolPage{
		Shell:    c.Shell("agents", c.T("Accept the current description of %s", kit.Escape(t.Name))),
		Name:     kit.Escape(t.Name),
		Post:     link.Tool(t.Name) + "/accept",
		Back:     link.Tool(t.Name),
		Idem:     kit.NewID(),
		Digest:   t.Change.Digest,
		Error:    problem,
		Accepted: value.Schema("was", c.T("Accepted"), was.Schema),
		Offered:  value.Schema("is", c.T("Current"), is.Schema),
	}
	p.Same = p.Accepted.Text == p.Offered.Text
	p.Looser = was.Effect == string(walk.EffectUnsafe) && is.Effect != was.Effect
	yes := func(b bool) string {
		if b {
			return c.T("yes")
		}
		return c.T("no")
	}
	for _, row := range []DefinitionRow{
		{Name: c.T("What it does"), Accepted: kit.Escape(was.Description), Offered: kit.Escape(is.Description)},
		{Name: c.T("Effect"), Accepted: value.Effect(c, was.Effect), Offered: value.Effect(c, is.Effect)},
		{Name: c.T("Declares that it only reads"), Accepted: yes(was.ReadOnly), Offered: yes(is.ReadOnly)},
		{Name: c.T("Declares that repeating a call is harmless"), Accepted: yes(was.Idempotent), Offered: yes(is.Idempotent)},
	} {
		row.Differs = row.Accepted != row.Offered
		p.Facts = append(p.Facts, row)
	}
	return c.Render(code, AcceptTool(p))
}

// acceptTool accepts the definition that the form showed. It rejects the form if the definition has
// changed since.
func (s toolPages) acceptTool(c *ui.Context) error {
	t, err := s.tool(c)
	if err != nil {
		return err
	}
	reason, digest := strings.TrimSpace(c.Field("reason")), c.Field("digest")
	switch {
	case digest == "":
		return domain.Errorf(domain.CodeInvalid, "the form does not identify the definition that was shown").
			Suggest("read the current description, and accept that")
	case reason == "" && t.Change != nil:
		return s.showAccept(c, http.StatusUnprocessableEntity, c.T("Enter a reason. The audit log keeps it."))
	}
	_, err = s.App.Tools.Accept(c, app.ToolAcceptance{Meta: c.Meta(), Tool: t.Name, Digest: digest, Reason: reason})
	if err == nil {
		return c.RedirectTo(link.Tool(t.Name))
	}
	if domain.CodeOf(err) == domain.CodeStale && t.Change != nil {
		return s.showAccept(c, http.StatusConflict, c.T("The description has changed again since you looked. This is the current one."))
	}
	return err
}

// tryToolPage serves the form for the arguments of a call.
func (s toolPages) tryToolPage(c *ui.Context) error {
	return s.showTry(c, http.StatusOK, func(*TryToolPage) {})
}

func (s toolPages) showTry(c *ui.Context, code int, fill func(*TryToolPage)) error {
	t, err := s.tool(c)
	if err != nil {
		return err
	}
	p := TryToolPage{
		Shell:  c.Shell("agents", c.T("Try %s", kit.Escape(t.Name))),
		Name:   kit.Escape(t.Name),
		Post:   link.Tool(t.Name) + "/try",
		Back:   link.Tool(t.Name),
		Idem:   kit.NewID(),
		Fields: form.Fields(c, any(t.Schema)),
		Input:  c.Field("input"),
		Denied: t.Permission == "deny",
	}
	fill(&p)
	return c.Render(code, TryTool(p))
}

// tryTool previews a call. Once confirmed, it makes the call as a run of a plan with one step, so
// the journal records the call, and the usual permissions apply.
func (s toolPages) tryTool(c *ui.Context) error {
	t, err := s.tool(c)
	if err != nil {
		return err
	}
	wrong := func(problem string, details ...string) error {
		return s.showTry(c, http.StatusUnprocessableEntity, func(p *TryToolPage) { p.Error, p.Problems = problem, details })
	}
	args := any(map[string]any{})
	if typed := c.Field("input"); strings.TrimSpace(typed) != "" {
		raw, err := form.JSON(typed)
		if err != nil {
			return wrong(c.T("The arguments are not JSON: %s", err.Error()))
		}
		if args, err = jsonvalue.Decode(raw); err != nil {
			return wrong(c.T("The arguments are not JSON: %s", err.Error()))
		}
	} else if values := form.Values(c, any(t.Schema)); values != nil {
		args = values
	}
	if t.Schema != nil {
		schema, err := jsonschema.Parse(t.Schema)
		if err != nil {
			return err
		}
		var problems []string
		for _, p := range schema.Validate(args) {
			problems = append(problems, kit.Escape(p.String()))
		}
		if len(problems) > 0 {
			slices.Sort(problems)
			return wrong(c.T("The arguments do not match the schema"), problems...)
		}
	}
	raw, err := jsonvalue.Encode(args)
	if err != nil {
		return wrong(err.Error())
	}
	effect := t.Effect
	if info := s.Engine.Catalog().Tools[t.Name]; info.EffectOf != nil {
		effect = string(info.EffectOf(args))
	}
	digest := argumentsDigest(t.Name, effect, raw)
	// A call that may have side effects requires a reason.
	changes, reason := effect != string(walk.EffectPure) && effect != string(walk.EffectRead), strings.TrimSpace(c.Field("reason"))
	check := func(code int, problem string) error {
		return s.showTry(c, code, func(p *TryToolPage) {
			p.Checked, p.Digest, p.Arguments = true, digest, value.Block(c.Display.Lang, "call", c.T("Arguments"), raw, "")
			p.Text = c.T(effectWords[effect]) + " " + c.T(value.Permissions[t.Permission])
			p.NeedsReason, p.Reason, p.Error = changes, reason, problem
		})
	}
	switch {
	case c.Field("do") != "run":
		return check(http.StatusOK, "")
	case c.Field("digest") != digest:
		return check(http.StatusOK, c.T("The arguments have changed since they were checked. This is what would be called now."))
	case changes && (reason == "" || len(reason) > ui.MaxReason):
		return check(http.StatusUnprocessableEntity, c.T("Enter a reason of at most %d characters. The audit log keeps it.", ui.MaxReason))
	}
	plan, version, err := s.savePlanFor(c, t.Name)
	if err != nil {
		return err
	}
	m, repeated := c.Meta(), false
	m.Repeated = &repeated
	run, err := s.App.Runs.Start(
		c,
		app.StartRequest{
			Meta: m,
			StartRequest: domain.StartRequest{
				Plan:    plan.ID,
				Version: version.Number,
				Origin:  "ui",
				Input:   raw,
				Labels:  map[string]string{"try": "tool"},
			},
		},
	)
	if err != nil {
		return err
	}
	if changes && !repeated { // log only: an error would make the user call the tool again
		note := app.NoteRequest{Meta: app.Meta{By: c.Principal.Actor()}, Run: run.ID, Text: reason}
		if _, err := s.App.Runs.AddNote(c, note); err != nil {
			c.Site.Logger.Error("keep why a tool is tried", "run_id", run.ID, "reason", reason, "err", err)
		}
	}
	return c.RedirectTo("/runs/" + run.ID)
}

// savePlanFor stores the plan that calls a tool with the input of a run. Repeated calls return the
// same version.
func (s toolPages) savePlanFor(c *ui.Context, tool string) (domain.Plan, domain.Version, error) {
	src, err := domain.CallPlan(tool)
	if err != nil {
		return domain.Plan{}, domain.Version{}, err
	}
	stored, err := s.App.Plans.Store(
		c,
		app.PlanDocument{
			Meta:   app.Meta{By: c.Principal.Actor()},
			Source: src,
			Format: planner.FormatJSON,
			Origin: "try",
			Reason: "tried on the page of the tool",
		},
	)
	return stored.Plan, stored.Version, err
}

var effectWords = map[string]string{
	string(walk.EffectPure):       locale.Mark("The call computes a result and has no side effects."),
	string(walk.EffectRead):       locale.Mark("The call reads and changes nothing."),
	string(walk.EffectIdempotent): locale.Mark("The call changes another system. Repeated with the same key, it takes effect once."),
	string(walk.EffectUnsafe):     locale.Mark("The call may change another system. It cannot be undone."),
}

// retryServerPage serves the confirmation page for restarting an MCP server.
func (s toolPages) retryServerPage(c *ui.Context) error {
	server, err := s.server(c)
	if err != nil {
		return err
	}
	back := "/agents/tools"
	p := kit.ConfirmPage{
		Shell:   c.Shell("agents", c.T("Start %s again", kit.Escape(server.Name))),
		Crumbs:  kit.CrumbsOf(kit.Link{Text: c.T("Tools"), Href: back}),
		Heading: c.T("Start %s again", kit.Escape(server.Name)),
		Text: c.T(
			"kairosd runs its command or calls its address immediately, and allows five restarts again.",
		),
		Post: "/agents/servers/" + url.PathEscape(server.Name) + "/retry",
		Back: back,
		Idem: kit.NewID(),
		Facts: []kit.Fact{
			{Term: c.T("State"), Text: c.T(server.State)},
			{Term: c.T("Since"), Text: c.Time(server.Since).Text},
			{Term: c.T("Restarts"), Text: c.Number(int64(server.Restarts))},
			{Term: c.T("Why"), Text: kit.Escape(server.Reason)},
		},
	}
	if server.State == "ready" {
		p.Text = c.T("The server is running. kairosd only lists its tools again.")
	}
	return c.Render(http.StatusOK, kit.Confirm(p))
}

func (s toolPages) server(c *ui.Context) (domain.ToolServer, error) {
	list, err := s.App.Tools.Servers(c, c.Principal.Actor())
	if err != nil {
		return domain.ToolServer{}, err
	}
	for _, server := range list {
		if server.Name == c.Param("server") {
			return server, nil
		}
	}
	return domain.ToolServer{}, domain.Errorf(domain.CodeNotFound, "no MCP server %q is configured", kit.Escape(c.Param("server")))
}

func (s toolPages) retryServer(c *ui.Context) error {
	server, err := s.server(c)
	if err != nil {
		return err
	}
	if _, err := s.App.Tools.RetryServer(c, app.ServerRetry{Meta: c.Meta(), Server: server.Name,
		Reason: strings.TrimSpace(c.Field("reason"))}); err != nil {
		return err
	}
	return c.RedirectTo("/agents/tools")
}
