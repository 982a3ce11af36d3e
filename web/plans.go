package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
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
		if source, ok := strings.CutSuffix(s, ".yaml"); ok {
			return r.c.Redirect(http.StatusSeeOther, "/plans/"+url.PathEscape(pl.Key)+"/v/"+url.PathEscape(source)+"/source")
		}
		if number, err = strconv.Atoi(s); err != nil {
			return domain.Errorf(domain.CodeNotFound, "version %q is not a number", s)
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
	if r.who.Role.Includes(domain.RoleOperator) {
		p.Actions = append(p.Actions, view.Link{Text: r.t("Start…"), Href: path + "/start", Primary: true})
		p.Once = []view.Once{{ID: "once-pause", Action: path + "/pause", Idem: newID(), Rev: strconv.Itoa(pl.Latest)}}
		if pl.Paused != nil {
			p.Actions = append(p.Actions, view.Link{Text: r.t("Unpause"), Form: "once-pause", Do: "unpause"})
		} else {
			p.Actions = append(p.Actions, view.Link{Text: r.t("Pause"), Form: "once-pause", Do: "pause"}, view.Link{Text: r.t("Pause with a reason…"), Href: path + "/pause", Dialog: true, Class: "lk"})
		}
	}
	if pl.Paused != nil {
		p.Paused = r.pausedText(pl.Paused)
	}
	if r.who.Role.Includes(domain.RoleAuthor) {
		p.Actions = append(p.Actions, view.Link{Text: r.t("Edit…"), Href: path + "/edit?base=" + strconv.Itoa(number)},
			view.Link{Text: r.t("Copy…"), Href: "/plans/new?" + url.Values{"from": {pl.Key}, "v": {strconv.Itoa(number)}}.Encode()})
		if pl.Archived {
			p.Actions = append(p.Actions, view.Link{Text: r.t("Take back…"), Href: path + "/archive", Dialog: true})
		} else {
			p.Actions = append(p.Actions, view.Link{Text: r.t("Archive…"), Href: path + "/archive", Danger: true, Dialog: true})
		}
	}
	p.Facts = []view.Fact{{Term: r.t("Hash"), Text: v.Hash[:12], Mono: true}, {Term: r.t("Stored by"), Text: visible(v.Author)}, {Term: r.t("When"), Text: r.time(v.CreatedAt).Text},
		{Term: r.t("Steps"), Text: strconv.Itoa(len(program.Nodes))}, {Term: r.t("Kind"), Text: string(program.Kind)}}
	facts, err := r.s.Reader.PlanFacts(r.ctx, pl.Key)
	if err != nil {
		return err
	}
	for _, f := range facts {
		if f.Kind == domain.FactOwner || f.Kind == domain.FactLabel {
			p.Found = append(p.Found, factLink(f))
		}
	}
	if err := r.draftOf(&p, pl, v); err != nil {
		return err
	}
	if number != pl.Latest {
		p.Older = &view.Link{Text: fmt.Sprintf("v%d", pl.Latest), Href: path}
	}
	flow, err := r.planFlow(pl.Key, v, program)
	if err != nil {
		return err
	}
	p.Graph, p.Chosen = flow.graph(), flow.chosen()
	p.Steps, p.StepPages = flow.steps()
	p.Download = fmt.Sprintf("%s/v/%d/source", path, number)
	lines := sourceLines(v)
	from, to, pages := r.cutPage("line", locale.Mark("Lines %s to %s of %s"), len(lines), markLines, 0, flow.href)
	p.Lines, p.FirstLine, p.LinePages = lines[from:to], from+1, pages
	if err := r.versionRows(&p, pl, number, path); err != nil {
		return err
	}
	if err := r.planRights(&p, pl, program); err != nil {
		return err
	}
	p.Input = r.inputRows(program.InputSchema)
	if m, ok := program.InputSchema.(map[string]any); ok && len(p.Input) == 0 {
		p.Schema = schemaBlock("input-schema", r.t("Input"), m)
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
	runs, err := r.s.Reader.Runs(r.ctx, domain.RunFilter{PlanKey: pl.Key, Page: domain.Page{Limit: 10}})
	if err != nil {
		return err
	}
	p.Runs = r.runRows(runs.Items)
	return r.render(http.StatusOK, view.Plan(p))
}
