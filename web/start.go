package web

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
	"github.com/kairosd/kairosd/web/view"
)

// newRun begins a run: of a plan that is chosen here, or like another run.
func (r *request) newRun() error {
	if like := r.c.QueryParam("like"); like != "" {
		run, err := r.s.Reader.FindRun(r.ctx, like)
		if err != nil {
			return err
		}
		p, err := r.startForm(run.PlanKey, cmp.Or(atoi(r.c.QueryParam("v")), run.Version))
		if err != nil {
			return err
		}
		if run.Input != nil {
			p.Input = pretty(run.Input)
			for i := range p.Fields {
				p.Fields[i].Value, p.Fields[i].Required = "", false // the whole input says it
			}
		}
		p.Labels, p.Priority, p.Dry = labelText(run.Labels), strconv.Itoa(run.Priority), run.Dry()
		p.Offline = run.Limits.Offline
		r.commands(&p, run.PlanKey, atoi(p.Number), nil)
		p.Like = view.Link{Text: domain.ShortID(run.ID), Href: "/runs/" + run.ID}
		return r.render(http.StatusOK, view.Start(p))
	}
	if key := r.c.QueryParam("plan"); key != "" {
		p, err := r.startForm(key, atoi(r.c.QueryParam("v")))
		if err != nil {
			return err
		}
		return r.render(http.StatusOK, view.Start(p))
	}
	q := strings.TrimSpace(r.c.QueryParam("q"))
	f, problem := filter.ParsePlans(q)
	if problem != nil {
		f = domain.PlanFilter{Text: q}
	}
	f.Page, f.Stage = r.page(), domain.PlansUsed
	list, err := r.s.Reader.Plans(r.ctx, f)
	if err != nil {
		return err
	}
	p := view.PlansPage{Shell: r.shell("runs", "Start a run"), Query: q}
	for _, pl := range list.Items {
		p.Rows = append(p.Rows, view.PlanRow{Key: pl.Key, Href: "/runs/new?" + url.Values{"plan": {pl.Key}}.Encode(), Name: visible(pl.Name), Version: fmt.Sprintf("v%d", pl.Latest),
			About: visible(pl.Description), Updated: r.time(pl.UpdatedAt)})
	}
	if list.Next != "" {
		p.Older = "/runs/new?" + url.Values{"q": {q}, "after": {list.Next}}.Encode()
	}
	if list.Prev != "" {
		p.Newer = "/runs/new?" + url.Values{"q": {q}, "before": {list.Prev}}.Encode()
	}
	return r.render(http.StatusOK, view.ChoosePlan(p))
}

func atoi(s string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(s, "v"))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func (r *request) startPage() error {
	p, err := r.startForm(r.c.Param("plan"), atoi(r.c.QueryParam("v")))
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, view.Start(p))
}

// startForm is the form for a version of a plan, 0: its newest, with what was
// typed already.
func (r *request) startForm(plan string, number int) (view.StartPage, error) {
	pl, err := r.s.Reader.Plan(r.ctx, plan)
	if err != nil {
		return view.StartPage{}, err
	}
	number = cmp.Or(number, pl.Latest)
	v, err := r.s.Reader.VersionByNumber(r.ctx, pl.ID, number)
	if err != nil {
		return view.StartPage{}, err
	}
	program, err := r.s.Engine.Program(r.ctx, v.Hash)
	if err != nil {
		return view.StartPage{}, err
	}
	versions, err := r.s.Reader.Versions(r.ctx, pl.ID)
	if err != nil {
		return view.StartPage{}, err
	}
	p := view.StartPage{Shell: r.shell("plans", r.t("Start %s", pl.Key)), Plan: pl.Key, Version: fmt.Sprintf("v%d", number), Post: "/plans/" + url.PathEscape(pl.Key) + "/start",
		Idem: newID(), Fields: r.fields(program.InputSchema), Input: r.c.FormValue("input"), Labels: r.c.FormValue("labels"), Priority: r.c.FormValue("priority"),
		Number: strconv.Itoa(number)}
	for _, o := range versions[:min(len(versions), 50)] {
		p.Versions = append(p.Versions, view.Link{Text: fmt.Sprintf("v%d", o.Number), Href: "/runs/new?" + url.Values{"plan": {pl.Key}, "v": {strconv.Itoa(o.Number)}}.Encode(), Current: o.Number == number})
	}
	p.Dry, p.Offline = r.c.FormValue("dry") != "", r.c.FormValue("offline") != ""
	if pl.Paused != nil {
		p.Paused = r.pausedText(pl.Paused)
	}
	r.commands(&p, pl.Key, number, program.InputSchema)
	effects, err := r.s.Engine.Effects(r.ctx, v.Hash)
	if err != nil {
		return view.StartPage{}, err
	}
	for i, e := range effects {
		if e == walk.EffectUnsafe {
			p.Effects = append(p.Effects, program.Nodes[i].ID)
		}
	}
	return p, nil
}

// commands are what starts the same run from a shell: with the input that was
// typed, or else with an example of what the plan takes.
func (r *request) commands(p *view.StartPage, plan string, number int, schema any) {
	input := domain.RawJSON("null")
	if typed := strings.TrimSpace(p.Input); typed != "" {
		if v, err := jsonOf(typed); err == nil {
			input = v
		} else if v, err := jsonvalue.Encode(typed); err == nil {
			input = v
		}
	} else if values := r.formValues(schema); values != nil {
		if v, err := jsonvalue.Encode(values); err == nil {
			input = v
		}
	} else if props, _, order := properties(schema); len(order) > 0 {
		var parts []string
		for _, name := range order {
			p, _ := props[name].(map[string]any)
			parts = append(parts, strconv.Quote(name)+": "+exampleOf(p))
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
	origin := r.c.Scheme() + "://" + r.c.Request().Host
	flags := dryFlag
	labels, err := labelsOf(p.Labels)
	if err != nil {
		labels = nil // the form says what is wrong with them
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
	if len(labels) > 0 {
		if b, err := json.Marshal(labels); err == nil {
			body += `, "labels": ` + string(b)
		}
	}
	if priority != 0 {
		body += fmt.Sprintf(`, "priority": %d`, priority)
	}
	p.Curl = fmt.Sprintf(`curl -H "Authorization: Bearer $KAIROS_TOKEN" -H "Content-Type: application/json" -d %s %s/api/v1/runs`, quote(body+"}"), origin)
}

// start starts a run; what is wrong with the input is said beside what was
// typed, which stays.
func (r *request) start() error {
	number := atoi(r.c.FormValue("version"))
	form := func(say func(p *view.StartPage)) error {
		p, err := r.startForm(r.c.Param("plan"), number)
		if err != nil {
			return err
		}
		say(&p)
		return r.render(http.StatusUnprocessableEntity, view.Start(p))
	}
	again := func(problem string) error { return form(func(p *view.StartPage) { p.Error = problem }) }
	pl, err := r.s.Reader.Plan(r.ctx, r.c.Param("plan"))
	if err != nil {
		return err
	}
	req := domain.StartRequest{Plan: pl.ID, Version: cmp.Or(number, pl.Latest), Origin: "ui", Dry: r.c.FormValue("dry") != "", Offline: r.c.FormValue("offline") != ""}
	v, err := r.s.Reader.VersionByNumber(r.ctx, pl.ID, req.Version)
	if err != nil {
		return err
	}
	program, err := r.s.Engine.Program(r.ctx, v.Hash)
	if err != nil {
		return err
	}
	if s := strings.TrimSpace(r.c.FormValue("priority")); s != "" {
		if req.Priority, err = strconv.Atoi(s); err != nil {
			return again(r.t("priority %q is not a number", s))
		}
	}
	typed := r.c.FormValue("input")
	if strings.TrimSpace(typed) != "" {
		if req.Input, err = jsonOf(typed); err != nil { // plain text is an input too
			if req.Input, err = jsonvalue.Encode(typed); err != nil {
				return err
			}
		}
	} else if _, _, order := properties(program.InputSchema); len(order) > 0 {
		values := r.formValues(program.InputSchema)
		if values == nil {
			values = map[string]any{} // the form asks for an object
		}
		p, err := r.startForm(r.c.Param("plan"), number)
		if err != nil {
			return err
		}
		if r.misfits(&p, program.InputSchema, values) {
			return r.render(http.StatusUnprocessableEntity, view.Start(p))
		}
		if req.Input, err = jsonvalue.Encode(values); err != nil {
			return again(err.Error())
		}
	}
	if req.Labels, err = labelsOf(r.c.FormValue("labels")); err != nil {
		return again(r.sentence(err))
	}
	run, err := r.s.App.Runs.Start(r.ctx, app.StartRequest{Meta: r.meta(), StartRequest: req})
	if err == nil {
		return r.to("/runs/" + run.ID)
	}
	if domain.CodeOf(err) == domain.CodeConflict {
		p, formErr := r.startForm(r.c.Param("plan"), number)
		if formErr != nil {
			return formErr
		}
		if p.Error = r.sentence(err); p.Paused != "" { // which says why
			p.Error = r.t("The run was not started.")
		}
		return r.render(http.StatusConflict, view.Start(p))
	}
	if domain.CodeOf(err) == domain.CodeInvalid {
		return form(func(p *view.StartPage) {
			p.Error = r.sentence(err)
			if program.InputSchema != nil && strings.TrimSpace(typed) == "" {
				p.Error = r.t("The run was not started: this plan takes an input, and none was entered.")
				p.Problems = append(p.Problems, r.sentence(err))
			}
		})
	}
	return err
}
