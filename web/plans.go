package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/view"
)

// plan is one version of a plan: the newest, unless the address names another.
func (r *request) plan() error {
	pl, err := r.s.Reader.Plan(r.ctx, r.c.Param("plan"))
	if err != nil {
		return err
	}
	number := pl.Latest
	if s := r.c.Param("number"); s != "" {
		if number, err = strconv.Atoi(s); err != nil {
			return kairos.Errorf(kairos.CodeNotFound, "version %q is not a number", s)
		}
	}
	v, err := r.s.Reader.VersionByNumber(r.ctx, pl.ID, number)
	if err != nil {
		return err
	}
	program, err := r.s.Engine.Program(r.ctx, v.Hash)
	if err != nil {
		return err
	}
	p := view.PlanPage{Shell: r.shell("plans", pl.Key), Key: pl.Key, Name: program.Name, Description: program.Description, Version: fmt.Sprintf("v%d", number), Hash: v.Hash}
	if p.Name == "" {
		p.Name = pl.Key
	}
	path := "/plans/" + url.PathEscape(pl.Key)
	if r.who.Role.Includes(kairos.RoleOperator) {
		p.Actions = append(p.Actions, view.Link{Text: r.t("Start…"), Href: path + "/start", Primary: true})
	}
	if r.who.Role.Includes(kairos.RoleAuthor) {
		p.Actions = append(p.Actions, view.Link{Text: r.t("Edit…"), Href: path + "/edit?base=" + strconv.Itoa(number)})
		if pl.Archived {
			p.Actions = append(p.Actions, view.Link{Text: r.t("Take back…"), Href: path + "/archive", Dialog: true})
		} else {
			p.Actions = append(p.Actions, view.Link{Text: r.t("Archive…"), Href: path + "/archive", Danger: true, Dialog: true})
		}
	}
	p.Facts = []view.Fact{{Term: r.t("Hash"), Text: v.Hash[:12], Mono: true}, {Term: r.t("Stored by"), Text: visible(v.Author)}, {Term: r.t("When"), Text: r.time(v.CreatedAt).Text},
		{Term: r.t("Steps"), Text: strconv.Itoa(len(program.Nodes))}, {Term: r.t("Kind"), Text: string(program.Kind)}}
	p.Graph = r.planGraph(program)
	catalog := r.s.Engine.Catalog()
	for i := range program.Nodes {
		p.Effects = append(p.Effects, view.Fact{Term: program.Nodes[i].ID, Text: string(catalog.EffectOf(&program.Nodes[i]))})
	}
	p.Lines = strings.Split(strings.TrimRight(visible(string(v.Source)), "\n"), "\n")
	versions, err := r.s.Reader.Versions(r.ctx, pl.ID)
	if err != nil {
		return err
	}
	for _, o := range versions {
		diff := ""
		if o.Number > 1 {
			diff = fmt.Sprintf("%s/diff/%d/%d", path, o.Number-1, o.Number)
		}
		p.Versions = append(p.Versions, view.VersionRow{Number: fmt.Sprintf("v%d", o.Number), Href: fmt.Sprintf("%s/v/%d", path, o.Number), Hash: o.Hash[:12],
			Author: visible(o.Author), Origin: o.Origin, Reason: visible(o.Reason), At: r.time(o.CreatedAt), Current: o.Number == number, Diff: diff})
	}
	if p.Stats, err = r.planStats(pl.Key); err != nil {
		return err
	}
	users, err := r.s.Reader.PlansThatRun(r.ctx, pl.Key, 50)
	if err != nil {
		return err
	}
	for _, key := range users {
		p.UsedBy = append(p.UsedBy, view.Link{Text: visible(key), Href: "/plans/" + url.PathEscape(key)})
	}
	p.Archived, p.AllRuns = pl.Archived, listAt("/runs", "plan:"+quoted(pl.Key))
	runs, err := r.s.Reader.Runs(r.ctx, kairos.RunFilter{PlanKey: pl.Key, Page: kairos.Page{Limit: 10}})
	if err != nil {
		return err
	}
	p.Runs = r.runRows(runs.Items)
	return r.render(http.StatusOK, view.Plan(p))
}

const blankPlan = `id: my-plan
name: My plan
nodes:
  greet:
    type: log
    input: "hello ${input}"
`

func (r *request) newPlan() error {
	return r.render(http.StatusOK, view.PlanEditor(view.PlanForm{Shell: r.shell("plans", "New plan"), Heading: r.t("New plan"), Source: blankPlan, Post: "/plans/new", Idem: newID()}))
}

func (r *request) editPlan() error {
	pl, err := r.s.Reader.Plan(r.ctx, r.c.Param("plan"))
	if err != nil {
		return err
	}
	number := pl.Latest
	if n, err := strconv.Atoi(r.c.QueryParam("base")); err == nil && n > 0 {
		number = n
	}
	v, err := r.s.Reader.VersionByNumber(r.ctx, pl.ID, number)
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, view.PlanEditor(view.PlanForm{Shell: r.shell("plans", r.t("Edit %s", pl.Key)), Heading: r.t("Edit %s v%d", pl.Key, number),
		Source: string(v.Source), Base: pl.LatestHash, BaseNumber: strconv.Itoa(pl.Latest), Post: "/plans/" + url.PathEscape(pl.Key) + "/edit", Idem: newID()}))
}

// savePlan checks a document and stores it; whatever is wrong with it is shown
// all at once, and what was typed stays.
func (r *request) savePlan() error {
	// Browsers send CRLF line ends.
	source := strings.ReplaceAll(r.c.FormValue("source"), "\r\n", "\n")
	format := planner.FormatOf("", []byte(source))
	p := view.PlanForm{Shell: r.shell("plans", "Plan"), Heading: r.t("Plan"), Source: source, Reason: r.c.FormValue("reason"), Base: r.c.FormValue("base"), BaseNumber: r.c.FormValue("basen"), Post: r.c.Request().URL.Path, Idem: newID(), Checked: true}
	doc, problems := r.s.Engine.CheckPlan([]byte(source), format)
	for _, q := range problems {
		row := view.ProblemRow{Severity: string(q.Severity), Message: q.Message, Suggestion: q.Suggestion}
		if q.Line > 0 {
			row.Where = r.t("line %d, column %d", q.Line, q.Column)
		}
		p.Problems = append(p.Problems, row)
	}
	valid := doc != nil && problems.Err() == nil
	if r.c.FormValue("do") == "check" || !valid {
		code := http.StatusOK
		if !valid {
			code = http.StatusUnprocessableEntity
		} else if program, err := doc.Program(r.s.Engine.Catalog()); err == nil {
			p.Graph = r.planGraph(program)
		}
		return r.render(code, view.PlanEditor(p))
	}
	err := r.once(func() (string, error) {
		pl, v, _, _, err := r.s.Engine.SavePlanOver(r.ctx, r.who.actor(), []byte(source), format, "upload", r.c.FormValue("reason"), p.Base)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("/plans/%s/v/%d", url.PathEscape(pl.Key), v.Number), nil
	})
	if kairos.CodeOf(err) != kairos.CodeStale {
		return err
	}
	// Somebody has saved meanwhile: what was typed stays, and saving again is on top
	// of what is there now (P44).
	pl, findErr := r.s.Reader.Plan(r.ctx, doc.ID)
	if findErr != nil {
		return findErr
	}
	p.Stale, p.Checked = sentence(err), false
	if was, err := strconv.Atoi(p.BaseNumber); err == nil && was > 0 && was < pl.Latest {
		p.StaleDiff = fmt.Sprintf("/plans/%s/diff/%d/%d", url.PathEscape(pl.Key), was, pl.Latest)
	}
	p.Base, p.BaseNumber = pl.LatestHash, strconv.Itoa(pl.Latest)
	return r.render(http.StatusConflict, view.PlanEditor(p))
}
