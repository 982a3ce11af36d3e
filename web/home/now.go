package home

import (
	"net/url"
	"slices"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/circuit"
	"github.com/kairosd/kairosd/web/part/vital"
	"github.com/kairosd/kairosd/web/ui"
)

// nowSection builds the section of active runs: their number, and those that have run longest.
func (s *section) nowSection(c *ui.Context) (templ.Component, error) {
	counts, err := s.Reader.RunCounts(c)
	if err != nil {
		return nil, err
	}
	running, err := s.Reader.Runs(
		c,
		domain.RunFilter{Statuses: []domain.RunStatus{domain.RunRunning}, Page: domain.Page{Limit: homeRows, Oldest: true}},
	)
	if err != nil {
		return nil, err
	}
	slices.Reverse(running.Items) // longest first
	p := NowSection{Rows: s.rows.Of(c, running.Items), More: running.Prev != ""}
	fact := func(text, query string) {
		p.Sum = append(p.Sum, kit.Link{Text: text, Href: link.List("/runs", query)})
	}
	fact(c.N(int(counts.ByStatus[domain.RunRunning]), "%s running", "%s running"), "status:running")
	fact(c.N(int(counts.ByStatus[domain.RunQueued]), "%s queued", "%s queued"), "status:queued")
	v, err := s.System.HealthMetrics(c)
	if err != nil {
		return nil, err
	}
	if v.Slots > 0 {
		p.Slots = c.T("slots %s/%s", c.Number(int64(v.Working)), c.Number(int64(v.Slots)))
	}
	return Now(p), nil
}

// daySection builds the section with the results of the last 24 hours by plan.
func (s *section) daySection(c *ui.Context) (templ.Component, error) {
	var p DaySection
	if err := s.strips(c, &p); err != nil || len(p.Strips) == 0 {
		return nil, err
	}
	return Day(p), nil
}

// systemSection builds the section with the state of the server.
func (s *section) systemSection(c *ui.Context) (templ.Component, error) {
	v, err := s.System.HealthMetrics(c)
	if err != nil {
		return nil, err
	}
	i, err := s.System.Server(c)
	if err != nil {
		return nil, err
	}
	var p SystemLine
	add := func(state, text, href string) {
		p.Facts = append(p.Facts, SystemFact{State: state, Text: text, Href: href})
	}
	commits := c.T("no checkpoint yet")
	if v.Commits.P95 > 0 {
		commits = c.T("checkpoints p95 %s", vital.Span(v.Commits.P95.Duration()))
	}
	add(vital.Grade(v.Commits.P95.Duration(), vital.CommitHigh, vital.CommitBad), commits, "/system")
	add(vital.Grade(i.Storage.WAL, vital.WALHigh, vital.WALBad), c.T("WAL %s", vital.Bytes(c.Display.Lang, i.Storage.WAL)), "/system")
	if i.Storage.Disk > 0 {
		free := int(100 * float64(i.Storage.Free) / float64(i.Storage.Disk))
		state := ""
		switch {
		case free < 1:
			state = "fail"
		case free < 5:
			state = "need"
		}
		add(state, c.T("disk %s free", c.Display.Lang.Percent(float64(free)/100)), "/system")
	}
	switch {
	case len(i.Backups) > 0:
		age := c.Site.Now().Sub(i.Backups[0].Created)
		add(vital.Grade(age, vital.BackupHigh, vital.BackupBad), c.T("backup %s", c.Ago(age)), "/system")
	case i.BackupDir != "":
		add("need", c.T("no backup yet"), "/system")
	default:
		add("", c.T("no backups configured"), "/system")
	}
	providers, err := circuit.Degraded(c)
	if err != nil {
		return nil, err
	}
	for _, p := range providers {
		add(
			"need",
			c.T("%s degraded for %s", kit.Escape(p.Name), kit.ApproxDuration(c.Site.Now().Sub(p.DegradedSince()))),
			"/agents/providers/"+url.PathEscape(p.Name),
		)
	}
	tools, err := s.missed(c)
	if err != nil {
		return nil, err
	}
	for _, t := range tools {
		open := t.Circuits[0] // open circuits come first
		add(
			"need",
			c.T("circuit of %s open for %s", kit.CircuitOf(t.Name, open.Part), kit.ApproxDuration(c.Site.Now().Sub(open.Since))),
			link.Tool(t.Name),
		)
	}
	return SystemNow(p), nil
}

// runsSearched is the maximum number of unfinished runs whose plans are searched for tools.
const runsSearched = 200

// missed returns the tools with an open circuit that plans of unfinished runs use, directly or
// through an agent.
func (s *section) missed(c *ui.Context) ([]domain.ToolInfo, error) {
	list, err := s.App.Tools.List(c, c.Principal.Actor())
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(t domain.ToolInfo) bool { return !slices.ContainsFunc(t.Circuits, domain.Circuit.Refuses) })
	if len(list) == 0 {
		return nil, nil
	}
	agents, err := s.App.Agents.List(c, c.Principal.Actor())
	if err != nil {
		return nil, err
	}
	runs, err := s.Reader.Runs(
		c,
		domain.RunFilter{
			Statuses: []domain.RunStatus{domain.RunQueued, domain.RunRunning, domain.RunWaiting},
			Page:     domain.Page{Limit: runsSearched},
		},
	)
	if err != nil {
		return nil, err
	}
	called, seen := map[string]bool{}, map[string]bool{}
	for _, run := range runs.Items {
		if seen[run.Hash] {
			continue
		}
		seen[run.Hash] = true
		program, err := s.Programs.Program(c, run.ProgramRef)
		if err != nil {
			continue // the version refers to a removed tool or agent
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
