package plans

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/plan"
	"github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/schedule"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// plan serves the page of a version: the one in the address, or the newest.
func (s *section) plan(c *ui.Context) error {
	if source, ok := strings.CutSuffix(c.Param("number"), ".yaml"); ok {
		return c.Echo.Redirect(http.StatusSeeOther, link.Plan(c.Param("plan"))+"/v/"+url.PathEscape(source)+"/source")
	}
	pl, v, err := s.version(c)
	if err != nil {
		return err
	}
	program, err := s.Engine.Program(c, domain.ProgramRef{Hash: v.Hash, Profile: c.Query("profile")})
	if err != nil {
		return err
	}
	b := &planPage{Context: c, section: s, stored: pl, version: v, program: program, path: link.Plan(pl.Key)}
	if err := b.build(); err != nil {
		return err
	}
	return c.Render(http.StatusOK, Plan(b.page))
}

// build adds the parts of the page that its tab shows.
func (b *planPage) build() error {
	b.begin()
	parts := map[string][]func() error{
		"":            {b.overview, b.flow, b.runs},
		"versions":    {b.versions},
		"permissions": {b.rights},
		"source":      {b.source},
	}
	for _, part := range append([]func() error{b.found, b.acceptance, b.users, b.next}, parts[b.page.Tab]...) {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// planPage builds the page of a version.
type planPage struct {
	*ui.Context
	*section
	stored  domain.Plan
	version domain.Version
	program *walk.Program
	path    string
	page    PlanPage
}

// begin fills in the fields that come from the plan and its version.
func (b *planPage) begin() {
	pl, v, program := b.stored, b.version, b.program
	b.page = PlanPage{Shell: b.Shell("plans", pl.Key)}
	b.page.PlanHead = PlanHead{Key: pl.Key, Name: cmp.Or(program.Name, pl.Key), Description: program.Description,
		Number: fmt.Sprintf("v%d", v.Number)}
	b.page.Archived, b.page.Download = pl.Archived, fmt.Sprintf("%s/v/%d/source", b.path, v.Number)
	b.page.AllRuns = link.List("/runs", "plan:"+filter.Quote(pl.Key))
	b.tabs()
	if v.Number != pl.Latest {
		b.page.Older = &kit.Link{Text: fmt.Sprintf("v%d", pl.Latest), Href: b.path}
	}
	if pl.Paused != nil {
		b.page.Paused = plan.Paused(b.Context, pl.Paused)
	}
	b.page.Hash, b.page.Author = v.Hash[:12], kit.Escape(v.Author)
	b.page.Size = b.N(len(program.Nodes), "%s step", "%s steps")
	b.page.Saved = b.Time(v.CreatedAt)
	b.page.Settings = plan.Settings(b.Context, program)
	b.profiles()
	b.page.Input = inputRows(program.InputSchema)
	if m, ok := program.InputSchema.(map[string]any); ok && len(b.page.Input) == 0 {
		b.page.Schema = value.Schema("input-schema", b.T("Input"), m)
	}
	b.actions()
}

// profiles fills in the links to the plan with each of its profiles.
func (b *planPage) profiles() {
	names := b.program.Start.Profiles
	if len(names) == 0 {
		return
	}
	here := b.Echo.Request().URL.Path
	b.page.Profiles = []kit.Link{{Text: b.T("none"), Href: here, Current: b.program.Profile == ""}}
	for _, name := range names {
		b.page.Profiles = append(b.page.Profiles,
			kit.Link{Text: name, Href: here + "?" + url.Values{"profile": {name}}.Encode(), Current: b.program.Profile == name})
	}
}

// tabs fills in the tabs of the page. A link to a line of the source selects the source tab.
func (b *planPage) tabs() {
	tabs := []struct{ key, word string }{{"", b.T("Overview")}, {"versions", b.T("Versions")}, {"input", b.T("Input")},
		{"permissions", b.T("Permissions")}, {"source", b.T("Source")}}
	open := b.Query("tab")
	if open == "" && b.Query("line") != "" {
		open = "source"
	}
	for _, t := range tabs {
		if t.key == open {
			b.page.Tab = open
		}
	}
	here := b.Echo.Request().URL.Path
	for _, t := range tabs {
		l := kit.Link{Text: t.word, Href: here, Current: t.key == b.page.Tab}
		if t.key != "" {
			l.Href += "?tab=" + t.key
		}
		if t.key == "versions" {
			l.Count = b.Context.Number(int64(b.stored.Latest))
		}
		b.page.Tabs = append(b.page.Tabs, l)
	}
}

// actions fills in the actions that the user may perform: the first two next to the name, the
// others in a menu.
func (b *planPage) actions() {
	if b.stored.Stage == domain.StageBlock { // it changes and starts with the plan that contains it
		plan := walk.PlanOf(b.stored.Key)
		b.page.Actions = []kit.Link{{Text: b.T("Open plan %s", plan), Href: link.Plan(plan)}}
		return
	}
	more := func(l kit.Link) { b.page.More = append(b.page.More, l) }
	if b.Principal.Role.Includes(domain.RoleOperator) {
		b.page.Start = kit.Link{Text: b.T("Start…"), Href: b.path + "/start", Primary: true}
		b.page.Actions = append(b.page.Actions, b.page.Start)
		b.page.Once = []kit.Once{{ID: "once-pause", Action: b.path + "/pause", Idem: kit.NewID(), Rev: strconv.Itoa(b.stored.Latest)}}
		if b.stored.Paused != nil {
			more(kit.Link{Text: b.T("Unpause"), Form: "once-pause", Action: "unpause"})
		} else {
			more(kit.Link{Text: b.T("Pause"), Form: "once-pause", Action: "pause"})
			more(kit.Link{Text: b.T("Pause with a reason…"), Href: b.path + "/pause", Dialog: true})
		}
	}
	if !b.Principal.Role.Includes(domain.RoleAuthor) {
		return
	}
	number := strconv.Itoa(b.version.Number)
	b.page.Actions = append(b.page.Actions, kit.Link{Text: b.T("Edit…"), Href: b.path + "/edit?base=" + number})
	more(kit.Link{Text: b.T("Copy…"), Href: "/plans/new?" + url.Values{"from": {b.stored.Key}, "v": {number}}.Encode()})
	if b.May(app.CreateSchedule) && !b.stored.Archived {
		more(kit.Link{Text: b.T("New schedule…"), Href: "/schedules/new?" + url.Values{"plan": {b.stored.Key}}.Encode()})
	}
	if b.stored.Archived {
		more(kit.Link{Text: b.T("Unarchive…"), Href: b.path + "/archive", Dialog: true})
	} else {
		more(kit.Link{Text: b.T("Archive…"), Href: b.path + "/archive", Danger: true, Dialog: true})
	}
}

// found fills in the owner, the labels, and the protocols that offer the plan as a tool.
func (b *planPage) found() error {
	facts, err := b.Reader.PlanFacts(b, b.stored.Key)
	for _, f := range facts {
		if f.Kind == domain.FactOwner || f.Kind == domain.FactLabel || f.Kind == domain.FactExpose {
			b.page.Found = append(b.page.Found, factLink(f))
		}
	}
	if err != nil {
		return err
	}
	list, err := b.App.Schedules.List(b, b.Principal.Actor(),
		domain.ScheduleFilter{Plan: b.stored.ID, Page: domain.Page{Limit: shownSchedules}})
	for _, x := range list.Items {
		b.page.Schedules = append(b.page.Schedules, Scheduled{kit.Link{Text: x.Key, Href: schedule.Address(x.Key)}, b.Time(x.Next)})
	}
	return err
}

// shownSchedules is the maximum number of schedules on the page of a plan.
const shownSchedules = 5

// flow fills in the results of runs by step.
func (b *planPage) flow() error {
	flow, err := b.planFlow(b.Context, b.stored.Key, b.version, b.program)
	if err != nil {
		return err
	}
	b.page.Graph, b.page.Chosen = flow.graph(), flow.chosen()
	b.page.Steps, b.page.StepPages = flow.steps()
	b.page.Figures = append(b.page.Figures, flow.spend())
	return nil
}

// source fills in one page of the plan's text.
func (b *planPage) source() error {
	flow := planFlow{Context: b.Context}
	lines := plan.Lines(b.version)
	from, to, pages := ui.CutPage(b.Context, "line", locale.Mark("Lines %s to %s of %s"), len(lines), plan.MarkLines, 0, flow.href)
	b.page.Lines, b.page.FirstLine, b.page.LinePages = lines[from:to], from+1, pages
	return nil
}

// next fills in the next scheduled run.
func (b *planPage) next() error {
	run, at, err := b.Reader.NextStart(b, b.stored.Key)
	if run != "" {
		b.page.NextHref, b.page.Next = "/runs/"+run, b.Time(at)
	}
	return err
}

// users fills in the plans that run this plan.
func (b *planPage) users() error {
	users, err := b.Reader.PlansThatRun(b, b.stored.Key, 50)
	for _, key := range users {
		b.page.UsedBy = append(b.page.UsedBy, kit.Link{Text: kit.Escape(key), Href: link.Plan(key)})
	}
	return err
}

func (b *planPage) runs() error {
	runs, err := b.Reader.Runs(b, domain.RunFilter{PlanKey: b.stored.Key, Page: domain.Page{Limit: 10}})
	b.page.Runs = run.Rows{Programs: b.Engine}.Of(b.Context, runs.Items)
	return err
}
