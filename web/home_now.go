package web

import (
	"net/url"
	"slices"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/vital"
	"github.com/kairosd/kairosd/web/view"
)

// nowBand is what runs: how much, and what has run longest.
func (r *request) nowBand() (templ.Component, error) {
	counts, err := r.s.Reader.RunCounts(r.ctx)
	if err != nil {
		return nil, err
	}
	running, err := r.s.Reader.Runs(r.ctx, domain.RunFilter{Statuses: []domain.RunStatus{domain.RunRunning}, Page: domain.Page{Limit: homeRows, Oldest: true}})
	if err != nil {
		return nil, err
	}
	slices.Reverse(running.Items) // longest first
	p := view.NowBand{Rows: r.runRows(running.Items), More: running.Prev != ""}
	fact := func(text, query string) {
		p.Sum = append(p.Sum, view.Link{Text: text, Href: listAt("/runs", query)})
	}
	fact(r.n(int(counts.ByStatus[domain.RunRunning]), "%s running", "%s running"), "status:running")
	fact(r.n(int(counts.ByStatus[domain.RunQueued]), "%s queued", "%s queued"), "status:queued")
	if r.s.System != nil {
		v, err := r.s.System.Vitals(r.ctx)
		if err != nil {
			return nil, err
		}
		p.Slots = r.t("slots %s/%s", r.number(int64(v.Working)), r.number(int64(v.Slots)))
	}
	return view.Now(p), nil
}

// dayBand is how the last 24 hours went, plan by plan.
func (r *request) dayBand() (templ.Component, error) {
	var p view.DayBand
	if err := r.strips(&p, r.s.now()); err != nil || len(p.Strips) == 0 {
		return nil, err
	}
	return view.Day(p), nil
}

// systemBand is one line: what the installation itself has to say.
func (r *request) systemBand() (templ.Component, error) {
	if r.s.System == nil {
		return nil, nil
	}
	v, err := r.s.System.Vitals(r.ctx)
	if err != nil {
		return nil, err
	}
	i, err := r.s.System.Installation(r.ctx)
	if err != nil {
		return nil, err
	}
	var p view.SystemLine
	add := func(state, text, href string) {
		p.Facts = append(p.Facts, view.SystemFact{State: state, Text: text, Href: href})
	}
	commits := r.t("no checkpoint yet")
	if v.Commits.P95 > 0 {
		commits = r.t("checkpoints p95 %s", vital.Span(v.Commits.P95))
	}
	add(vital.Grade(v.Commits.P95, vital.CommitHigh, vital.CommitBad), commits, "/system")
	add(vital.Grade(i.Storage.WAL, vital.WALHigh, vital.WALBad), r.t("WAL %s", vital.Bytes(r.display.lang, i.Storage.WAL)), "/system")
	if i.Storage.Disk > 0 {
		free := int(100 * float64(i.Storage.Free) / float64(i.Storage.Disk))
		state := ""
		switch {
		case free < 1:
			state = "fail"
		case free < 5:
			state = "need"
		}
		add(state, r.t("disk %s free", r.display.lang.Percent(float64(free)/100)), "/system")
	}
	switch {
	case len(i.Backups) > 0:
		age := r.s.now().Sub(i.Backups[0].Created)
		add(vital.Grade(age, vital.BackupHigh, vital.BackupBad), r.t("backup %s", r.ago(age)), "/system")
	case i.BackupDir != "":
		add("need", r.t("no backup yet"), "/system")
	default:
		add("", r.t("no backups configured"), "/system")
	}
	providers, err := r.degraded()
	if err != nil {
		return nil, err
	}
	for _, p := range providers {
		add("need", r.t("%s degraded for %s", visible(p.Name), about(r.s.now().Sub(p.DegradedSince()))), "/agents/providers/"+url.PathEscape(p.Name))
	}
	tools, err := r.missed()
	if err != nil {
		return nil, err
	}
	for _, t := range tools {
		c := t.Circuits[0] // those that are open come first
		add("need", r.t("circuit of %s open for %s", kit.CircuitOf(t.Name, c.Part), about(r.s.now().Sub(c.Since))), toolHref(t.Name))
	}
	return view.SystemNow(p), nil
}

// degraded are the providers whose last call failed, or that are not called for
// a while because of that.
func (r *request) degraded() ([]domain.ProviderInfo, error) {
	if r.s.Crew == nil {
		return nil, nil
	}
	list, err := r.s.Crew.Providers(r.ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(p domain.ProviderInfo) bool { return !p.Degraded() }), nil
}
