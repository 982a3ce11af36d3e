package plans

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/plan"
	"github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// plan is one version of a plan: the newest, unless the address names another.
func (s *section) plan(c *ui.Context) error {
	if source, ok := strings.CutSuffix(c.Param("number"), ".yaml"); ok {
		return c.Echo.Redirect(http.StatusSeeOther, link.Plan(c.Param("plan"))+"/v/"+url.PathEscape(source)+"/source")
	}
	pl, v, err := s.version(c)
	if err != nil {
		return err
	}
	program, err := s.Engine.Program(c, v.Hash)
	if err != nil {
		return err
	}
	b := &planPage{Context: c, section: s, stored: pl, version: v, program: program, path: link.Plan(pl.Key)}
	b.begin()
	for _, part := range []func() error{b.found, b.acceptance, b.flow, b.versions, b.rights, b.users, b.runs} {
		if err := part(); err != nil {
			return err
		}
	}
	return c.Render(http.StatusOK, Plan(b.page))
}

// planPage is a version's page while it is put together.
type planPage struct {
	*ui.Context
	*section
	stored  domain.Plan
	version domain.Version
	program *walk.Program
	path    string
	page    PlanPage
}

// begin fills in what the plan and its version say.
func (b *planPage) begin() {
	pl, v, program := b.stored, b.version, b.program
	b.page = PlanPage{Shell: b.Shell("plans", pl.Key), Key: pl.Key, Name: cmp.Or(program.Name, pl.Key), Description: program.Description,
		Version: fmt.Sprintf("v%d", v.Number), Hash: v.Hash, Archived: pl.Archived,
		Source: Source{
			Download: fmt.Sprintf("%s/v/%d/source", b.path, v.Number),
		}, AllRuns: link.List("/runs", "plan:"+filter.Quote(pl.Key))}
	if v.Number != pl.Latest {
		b.page.Older = &kit.Link{Text: fmt.Sprintf("v%d", pl.Latest), Href: b.path}
	}
	if pl.Paused != nil {
		b.page.Paused = plan.Paused(b.Context, pl.Paused)
	}
	b.page.Facts = []kit.Fact{{Term: b.T("Hash"), Text: v.Hash[:12], Mono: true}, {Term: b.T("Stored by"), Text: kit.Visible(v.Author)},
		{
			Term: b.T("When"),
			Text: b.Time(v.CreatedAt).Text,
		}, {Term: b.T("Steps"), Text: strconv.Itoa(len(program.Nodes))}, {Term: b.T("Kind"),
			Text: string(program.Kind)}}
	b.page.Input = inputRows(program.InputSchema)
	if m, ok := program.InputSchema.(map[string]any); ok && len(b.page.Input) == 0 {
		b.page.Schema = value.Schema("input-schema", b.T("Input"), m)
	}
	b.actions()
}

// actions are what the reader may do with the plan.
func (b *planPage) actions() {
	add := func(l kit.Link) { b.page.Actions = append(b.page.Actions, l) }
	if b.Who.Role.Includes(domain.RoleOperator) {
		add(kit.Link{Text: b.T("Start…"), Href: b.path + "/start", Primary: true})
		b.page.Once = []kit.Once{{ID: "once-pause", Action: b.path + "/pause", Idem: kit.NewID(), Rev: strconv.Itoa(b.stored.Latest)}}
		if b.stored.Paused != nil {
			add(kit.Link{Text: b.T("Unpause"), Form: "once-pause", Do: "unpause"})
		} else {
			add(kit.Link{Text: b.T("Pause"), Form: "once-pause", Do: "pause"})
			add(kit.Link{Text: b.T("Pause with a reason…"), Href: b.path + "/pause", Dialog: true, Class: "link-button"})
		}
	}
	if !b.Who.Role.Includes(domain.RoleAuthor) {
		return
	}
	number := strconv.Itoa(b.version.Number)
	add(kit.Link{Text: b.T("Edit…"), Href: b.path + "/edit?base=" + number})
	add(kit.Link{Text: b.T("Copy…"), Href: "/plans/new?" + url.Values{"from": {b.stored.Key}, "v": {number}}.Encode()})
	if b.stored.Archived {
		add(kit.Link{Text: b.T("Take back…"), Href: b.path + "/archive", Dialog: true})
	} else {
		add(kit.Link{Text: b.T("Archive…"), Href: b.path + "/archive", Danger: true, Dialog: true})
	}
}

// found are the owner and the labels.
func (b *planPage) found() error {
	facts, err := b.Reader.PlanFacts(b, b.stored.Key)
	for _, f := range facts {
		if f.Kind == domain.FactOwner || f.Kind == domain.FactLabel {
			b.page.Found = append(b.page.Found, factLink(f))
		}
	}
	return err
}

// flow is how runs went through the plan, and the text of it.
func (b *planPage) flow() error {
	flow, err := b.planFlow(b.Context, b.stored.Key, b.version, b.program)
	if err != nil {
		return err
	}
	b.page.Graph, b.page.Chosen = flow.graph(), flow.chosen()
	b.page.Steps, b.page.StepPages = flow.steps()
	lines := plan.Lines(b.version)
	from, to, pages := ui.CutPage(b.Context, "line", locale.Mark("Lines %s to %s of %s"), len(lines), plan.MarkLines, 0, flow.href)
	b.page.Lines, b.page.FirstLine, b.page.LinePages = lines[from:to], from+1, pages
	b.page.Stats, err = b.planStats(b.Context, b.stored.Key)
	return err
}

// users are the plans that run this one.
func (b *planPage) users() error {
	users, err := b.Reader.PlansThatRun(b, b.stored.Key, 50)
	for _, key := range users {
		b.page.UsedBy = append(b.page.UsedBy, kit.Link{Text: kit.Visible(key), Href: link.Plan(key)})
	}
	return err
}

func (b *planPage) runs() error {
	runs, err := b.Reader.Runs(b, domain.RunFilter{PlanKey: b.stored.Key, Page: domain.Page{Limit: 10}})
	b.page.Runs = run.Rows{Programs: b.Engine}.Of(b.Context, runs.Items)
	return err
}
