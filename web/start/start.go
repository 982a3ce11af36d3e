package start

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/form"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/part/plan"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/schedule"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// newRun shows the form to start a run like another one (like=) or like those of a schedule
// (schedule=), or the list of plans.
func (s *section) newRun(c *ui.Context) error {
	if like := c.Query("like"); like != "" {
		return s.startLike(c, like)
	}
	if key := c.Query("schedule"); key != "" {
		return s.startScheduled(c, key)
	}
	if key := c.Query("plan"); key != "" {
		p, err := s.startForm(c, key, atoi(c.Query("v")))
		if err != nil {
			return err
		}
		return c.Render(http.StatusOK, Start(p))
	}
	return s.choosePlan(c)
}

// choosePlan is the page that lists the plans to start.
func (s *section) choosePlan(c *ui.Context) error {
	q := strings.TrimSpace(c.Query("q"))
	f, problem := filter.ParsePlans(q)
	if problem != nil {
		f = domain.PlanFilter{Text: q}
	}
	f.Page, f.Stage = c.Page(), domain.PlansUsed
	list, err := s.Reader.Plans(c, f)
	if err != nil {
		return err
	}
	p := ChoosePage{Shell: c.Shell("runs", "Start a run"), Query: q}
	for _, pl := range list.Items {
		p.Rows = append(p.Rows, planRow(c, pl))
	}
	if list.Next != "" {
		p.Older = "/runs/new?" + url.Values{"q": {q}, "after": {list.Next}}.Encode()
	}
	if list.Prev != "" {
		p.Newer = "/runs/new?" + url.Values{"q": {q}, "before": {list.Prev}}.Encode()
	}
	return c.Render(http.StatusOK, ChoosePlan(p))
}

func planRow(c *ui.Context, pl domain.Plan) PlanRow {
	return PlanRow{
		Key:     pl.Key,
		Href:    "/runs/new?" + url.Values{"plan": {pl.Key}}.Encode(),
		Name:    kit.Escape(pl.Name),
		Version: fmt.Sprintf("v%d", pl.Latest),
		About:   kit.Escape(pl.Description),
		Updated: c.Time(pl.UpdatedAt),
	}
}

// startLike shows the form with the values of a run.
func (s *section) startLike(c *ui.Context, id string) error {
	run, err := s.Reader.FindRun(c, id)
	if err != nil {
		return err
	}
	p, err := s.startWith(c, run.PlanKey, cmp.Or(atoi(c.Query("v")), run.Version), run.Profile)
	if err != nil {
		return err
	}
	p.enter(run.Input, run.Labels)
	p.Priority, p.Dry, p.Offline = strconv.Itoa(run.Priority), run.Dry(), run.Limits.Offline
	p.Like = kit.Link{Text: domain.ShortID(run.ID), Href: "/runs/" + run.ID}
	commands(c, &p, run.PlanKey, atoi(p.Number), nil)
	return c.Render(http.StatusOK, Start(p))
}

// startScheduled shows the form with the values that a schedule gives to its runs.
func (s *section) startScheduled(c *ui.Context, key string) error {
	x, err := s.App.Schedules.Get(c, c.Principal.Actor(), key)
	if err != nil {
		return err
	}
	p, err := s.startWith(c, x.PlanKey, cmp.Or(atoi(c.Query("v")), x.Version), x.Profile)
	if err != nil {
		return err
	}
	p.enter(x.Input, x.Labels)
	p.Schedule = kit.Link{Text: x.Key, Href: schedule.Address(x.Key)}
	commands(c, &p, x.PlanKey, atoi(p.Number), nil)
	return c.Render(http.StatusOK, Start(p))
}

// enter fills in an input and labels.
func (p *StartPage) enter(input domain.RawJSON, labels map[string]string) {
	p.Labels = part.LabelText(labels)
	if input == nil {
		return
	}
	p.Input = value.Pretty(input)
	for i := range p.Fields {
		p.Fields[i].Value, p.Fields[i].Required = "", false // the message is about the whole input
	}
}

func atoi(s string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(s, "v"))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func (s *section) startPage(c *ui.Context) error {
	p, err := s.startForm(c, c.Param("plan"), atoi(c.Query("v")))
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, Start(p))
}

// program returns a plan, one of its versions, and the program of the version with a profile. Number 0 is the
// latest version.
func (s *section) program(c *ui.Context, key string, number int, profile string) (domain.Plan, domain.Version, *walk.Program, error) {
	pl, err := s.Reader.Plan(c, key)
	if err != nil {
		return pl, domain.Version{}, nil, err
	}
	v, err := s.Reader.VersionByNumber(c, pl.ID, cmp.Or(number, pl.Latest))
	if err != nil {
		return pl, v, nil, err
	}
	program, err := s.Plans.Program(c, domain.ProgramRef{Hash: v.Hash, Profile: profile})
	return pl, v, program, err
}

// startForm returns the form for a version of a plan, with the values entered so far. Number 0 is
// the latest version.
func (s *section) startForm(c *ui.Context, key string, number int) (StartPage, error) {
	return s.startWith(c, key, number, c.Field("profile"))
}

func (s *section) startWith(c *ui.Context, key string, number int, profile string) (StartPage, error) {
	pl, v, program, err := s.program(c, key, number, profile)
	if err != nil {
		return StartPage{}, err
	}
	number = v.Number
	versions, err := s.Reader.Versions(c, pl.ID)
	if err != nil {
		return StartPage{}, err
	}
	p := StartPage{
		Shell:    c.Shell("plans", c.T("Start %s", pl.Key)),
		Plan:     pl.Key,
		Version:  fmt.Sprintf("v%d", number),
		Post:     "/plans/" + url.PathEscape(pl.Key) + "/start",
		Idem:     kit.NewID(),
		Fields:   form.Fields(c, program.InputSchema),
		Input:    c.Field("input"),
		Labels:   c.Field("labels"),
		Priority: c.Field("priority"),
		Number:   strconv.Itoa(number),
		Settings: plan.Settings(c, program),
	}
	for _, o := range versions[:min(len(versions), 50)] {
		p.Versions = append(
			p.Versions,
			kit.Link{
				Text:    fmt.Sprintf("v%d", o.Number),
				Href:    "/runs/new?" + url.Values{"plan": {pl.Key}, "v": {strconv.Itoa(o.Number)}}.Encode(),
				Current: o.Number == number,
			},
		)
	}
	if len(program.Start.Profiles) > 0 {
		p.Profile = program.Profile
		p.Profiles = []kit.Option{{Text: c.T("none: the plan as written"), Selected: p.Profile == ""}}
		for _, name := range program.Start.Profiles {
			p.Profiles = append(p.Profiles, kit.Option{Value: name, Text: name, Selected: name == p.Profile})
		}
	}
	p.Dry, p.Offline = c.Field("dry") != "", c.Field("offline") != ""
	if pl.Paused != nil {
		p.Paused = plan.Paused(c, pl.Paused)
	}
	commands(c, &p, pl.Key, number, program.InputSchema)
	effects, err := s.Plans.Effects(c, domain.ProgramRef{Hash: v.Hash, Profile: program.Profile})
	if err != nil {
		return StartPage{}, err
	}
	for i, step := range graph.Steps(program) {
		if effects[i] == walk.EffectUnsafe {
			p.Effects = append(p.Effects, step.Path)
		}
	}
	return p, nil
}

// commands sets the shell commands that start the same run. Their input is the entered one, or else
// an example that matches the schema.
func commands(c *ui.Context, p *StartPage, plan string, number int, schema any) {
	input := domain.RawJSON("null")
	if typed := strings.TrimSpace(p.Input); typed != "" {
		if v, err := form.JSON(typed); err == nil {
			input = v
		} else if v, err := jsonvalue.Encode(typed); err == nil {
			input = v
		}
	} else if values := form.Values(c, schema); values != nil {
		if v, err := jsonvalue.Encode(values); err == nil {
			input = v
		}
	} else if props, _, order := form.Properties(schema); len(order) > 0 {
		var parts []string
		for _, name := range order {
			p, _ := props[name].(map[string]any)
			parts = append(parts, strconv.Quote(name)+": "+form.Example(p))
		}
		input = domain.RawJSON("{" + strings.Join(parts, ", ") + "}")
	}
	if v, err := jsonvalue.Decode(input); err == nil { // on one line
		if one, err := jsonvalue.Encode(v); err == nil {
			input = one
		}
	}
	dry, dryFlag := "", ""
	switch {
	case p.Offline:
		dry, dryFlag = `, "offline": true`, " --offline"
	case p.Dry:
		dry, dryFlag = `, "dryRun": true`, " --dry-run"
	}
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	origin := c.Echo.Scheme() + "://" + c.Echo.Request().Host
	flags := dryFlag
	if p.Profile != "" {
		flags += " --profile " + quote(p.Profile)
	}
	labels, err := part.ParseLabels(p.Labels)
	if err != nil {
		labels = nil // the form shows the problems
	}
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		flags += " --label " + quote(k+"="+labels[k])
	}
	priority, err := strconv.Atoi(strings.TrimSpace(p.Priority))
	if err == nil && priority != 0 {
		flags += fmt.Sprintf(" --priority %d", priority)
	}
	p.CLI = fmt.Sprintf("kairos run --server %s --plan %s@%d --input %s%s", origin, plan, number, quote(string(input)), flags)
	body := fmt.Sprintf(`{"plan": %s, "version": %d, "input": %s%s`, strconv.Quote(plan), number, input, dry)
	if p.Profile != "" {
		body += `, "profile": ` + strconv.Quote(p.Profile)
	}
	if len(labels) > 0 {
		if b, err := json.Marshal(labels); err == nil {
			body += `, "labels": ` + string(b)
		}
	}
	if priority != 0 {
		body += fmt.Sprintf(`, "priority": %d`, priority)
	}
	p.Curl = fmt.Sprintf(
		`curl -H "Authorization: Bearer $KAIROS_TOKEN" -H "Content-Type: application/json" -d %s %s/api/v1/runs`,
		quote(body+"}"),
		origin,
	)
}

// start starts a run. If the input is invalid, it shows the form again with the entered values and
// the problems.
func (s *section) start(c *ui.Context) error {
	pl, v, program, err := s.program(c, c.Param("plan"), atoi(c.Field("version")), c.Field("profile"))
	if err != nil {
		return err
	}
	req := domain.StartRequest{Plan: pl.ID, Version: v.Number, Profile: c.Field("profile"), Origin: "ui",
		Dry: c.Field("dry") != "", Offline: c.Field("offline") != ""}
	reject, err := readRequest(c, &req, program)
	if err != nil {
		return err
	}
	if reject != nil {
		return s.startAgain(c, http.StatusUnprocessableEntity, reject)
	}
	run, err := s.App.Runs.Start(c, app.StartRequest{Meta: c.Meta(), StartRequest: req})
	if err != nil {
		return s.notStarted(c, program, err)
	}
	return c.RedirectTo("/runs/" + run.ID)
}

// startAgain shows the form again, with the entered values and what is wrong.
func (s *section) startAgain(c *ui.Context, code int, reject func(p *StartPage)) error {
	p, err := s.startForm(c, c.Param("plan"), atoi(c.Field("version")))
	if err != nil {
		return err
	}
	reject(&p)
	return c.Render(code, Start(p))
}

// notStarted shows the form again if the values or the state of the plan are the reason. Otherwise it
// returns the error.
func (s *section) notStarted(c *ui.Context, program *walk.Program, err error) error {
	switch domain.CodeOf(err) {
	case domain.CodeConflict:
		return s.startAgain(c, http.StatusConflict, func(p *StartPage) {
			if p.Error = c.Sentence(err); p.Paused != "" { // the page already shows why the plan is paused
				p.Error = c.T("The run was not started.")
			}
		})
	case domain.CodeInvalid:
		return s.startAgain(c, http.StatusUnprocessableEntity, func(p *StartPage) {
			p.Error = c.Sentence(err)
			if program.InputSchema != nil && strings.TrimSpace(c.Field("input")) == "" {
				p.Error = c.T("The run was not started: this plan requires an input.")
				p.Problems = append(p.Problems, c.Sentence(err))
			}
		})
	}
	return err
}

// readRequest reads the priority, the labels, and the input of the form. If one of them is invalid,
// reject shows what is wrong.
func readRequest(c *ui.Context, req *domain.StartRequest, program *walk.Program) (reject func(p *StartPage), err error) {
	problem := func(text string) func(p *StartPage) { return func(p *StartPage) { p.Error = text } }
	if s := strings.TrimSpace(c.Field("priority")); s != "" {
		if req.Priority, err = strconv.Atoi(s); err != nil {
			return problem(c.T("priority %q is not a number", s)), nil
		}
	}
	if req.Labels, err = part.ParseLabels(c.Field("labels")); err != nil {
		return problem(c.Sentence(err)), nil
	}
	typed := c.Field("input")
	if strings.TrimSpace(typed) != "" {
		if req.Input, err = form.JSON(typed); err != nil { // plain text is a valid input, too
			req.Input, err = jsonvalue.Encode(typed)
		}
		return nil, err
	}
	if _, _, order := form.Properties(program.InputSchema); len(order) == 0 {
		return nil, nil
	}
	values := form.Values(c, program.InputSchema)
	if values == nil {
		values = map[string]any{} // the form requires an object
	}
	if inputProblems(c, &StartPage{Fields: form.Fields(c, program.InputSchema)}, program.InputSchema, values) {
		return func(p *StartPage) { inputProblems(c, p, program.InputSchema, values) }, nil
	}
	if req.Input, err = jsonvalue.Encode(values); err != nil {
		return problem(err.Error()), nil
	}
	return nil, nil
}
