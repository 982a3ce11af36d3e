package home

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/event"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	// away is how long a person must not have looked for the next look to be
	// another visit, and homeVisit the preference that keeps it.
	away      = 30 * time.Minute
	homeVisit = "home visit"
	// sinceActs is how many acts of others are told.
	sinceActs = 8
	sinceCap  = 1000
)

// told are the acts that a person who comes back wants to know of.
var told = []string{
	"run.resume",
	"run.rerun",
	"run.fork",
	"run.cancel",
	"run.delete",
	"node.resolve",
	"approval.decide",
	"plan.version",
	"plan.archive",
	"plan.unarchive",
	"bulk.resume",
	"bulk.rerun",
	"bulk.cancel",
	"bulk.delete",
	"failure.ack",
	"store.released",
	"store.failed",
	"tool.accept",
	"user.create",
	"token.create",
}

// visit notes that the reader looks at home now, and says when they last left
// it; zero: they have not been here before.
func (s *section) visit(c *ui.Context, now time.Time) (left time.Time, err error) {
	kept, err := s.App.Preferences.Get(c, c.Who.Actor(), homeVisit)
	if err != nil {
		return left, err
	}
	seenText, leftText, _ := strings.Cut(kept, " ")
	at := func(s string) time.Time {
		if us, err := strconv.ParseInt(s, 10, 64); err == nil && us > 0 {
			return time.UnixMicro(us)
		}
		return time.Time{} // never
	}
	seen, left := at(seenText), at(leftText)
	if !seen.IsZero() && now.Sub(seen) > away {
		left = seen
	}
	if now.Sub(seen) < time.Minute {
		return left, nil
	}
	text := strconv.FormatInt(now.UnixMicro(), 10)
	if !left.IsZero() {
		text += " " + strconv.FormatInt(left.UnixMicro(), 10)
	}
	err = s.App.Preferences.Set(c, app.Preference{Meta: app.Meta{By: c.Who.Actor()}, Key: homeVisit, Value: text})
	if domain.CodeOf(err) == domain.CodeNoSpace {
		err = nil // the same is told once more
	}
	return left, err
}

// sinceBand tells what happened since the reader's last visit.
func (s *section) sinceBand(c *ui.Context) (templ.Component, error) {
	left, err := s.visit(c, c.Site.Now())
	if err != nil || left.IsZero() {
		return nil, err
	}
	p := SinceBand{Left: c.Time(left)}
	stamp := left.UTC().Format(time.RFC3339)
	for _, st := range []struct {
		status domain.RunStatus
		say    func(int) string
	}{{domain.RunCompleted, func(n int) string { return c.N(n, "%s run succeeded", "%s runs succeeded") }},
		{domain.RunFailed, func(n int) string { return c.N(n, "%s failed", "%s failed") }},
		{domain.RunCancelled, func(n int) string { return c.N(n, "%s run was cancelled", "%s runs were cancelled") }}} {
		n, _, err := s.Reader.RunsCount(c, domain.RunFilter{Statuses: []domain.RunStatus{st.status}, Since: left}, sinceCap+1)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			continue
		}
		l := kit.Link{Text: st.say(n), Href: link.List("/runs", "status:"+string(st.status)+" since:"+stamp)}
		if n > sinceCap {
			l.Text = c.T("more than %s", st.say(sinceCap))
		}
		p.Since = append(p.Since, l)
	}
	groups, err := s.App.Failures.List(c, c.Who.Actor(), homeGroups)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if g.First.After(left) {
			p.Since = append(
				p.Since,
				kit.Link{
					Text: c.T("new: %s at %s of %s", kit.Visible(g.Code), kit.Visible(g.Node), kit.Visible(g.Plan.Key)),
					Href: link.List("/runs", filter.FailuresToHandle(g.Ref())),
				},
			)
		}
	}
	acts, err := s.App.Audit.List(
		c,
		c.Who.Actor(),
		domain.AuditFilter{
			Actions: told,
			Exclude: domain.AuditExclusion{Actors: []string{c.Who.Name}},
			Since:   left,
			Page:    domain.Page{Limit: sinceActs},
		},
	)
	if err != nil {
		return nil, err
	}
	for _, e := range acts.Items {
		p.Acts = append(p.Acts, event.Row(c, e))
	}
	if acts.Next != "" {
		p.MoreActs = link.List("/audit", "since:"+stamp)
	}
	notes, err := s.App.Runs.RecentNotes(c, c.Who.Actor(), left, 2*sinceActs)
	if err != nil {
		return nil, err
	}
	for _, n := range notes {
		if n.Actor != c.Who.Name && len(p.Notes) < sinceActs {
			p.Notes = append(
				p.Notes,
				RunNote{Run: kit.Link{Text: domain.ShortID(n.Run), Href: "/runs/" + n.Run}, Plan: kit.Link{Text: kit.Visible(n.Plan.Key)},
					Who: kit.Visible(n.Actor), Text: kit.Visible(kit.Cut(n.Text, 500)), At: c.Time(n.At)},
			)
		}
	}
	p.ActsHead = c.N(len(p.Acts), "%s act of others", "%s acts of others")
	return Since(p), nil
}

const (
	stripSlots = 48 // half hours of a day
	stripPlans = 12
)

// strips are the last 24 hours: one row per plan, one cell per half hour; plans
// with failures come first.
func (s *section) strips(c *ui.Context, p *DayBand, now time.Time) error {
	from := now.Truncate(domain.OutcomeSlot).Add(-(stripSlots - 1) * domain.OutcomeSlot)
	list, err := s.Reader.Outcomes(c, from)
	if err != nil {
		return err
	}
	type day struct {
		plan                 string
		ok, failed, other    int64
		cells                [stripSlots][2]int64 // ended well or by hand, failed
		most                 int64
		lastFailed, lastSlot int
	}
	days := map[string]*day{}
	for _, o := range list {
		i := int(o.From.Sub(from) / domain.OutcomeSlot)
		if i < 0 || i >= stripSlots {
			continue
		}
		d := days[o.PlanKey]
		if d == nil {
			d = &day{plan: o.PlanKey, lastFailed: -1}
			days[o.PlanKey] = d
		}
		switch o.Status {
		case domain.RunFailed:
			d.failed += o.Runs
			d.cells[i][1] += o.Runs
			d.lastFailed = max(d.lastFailed, i)
		case domain.RunCompleted:
			d.ok += o.Runs
			d.cells[i][0] += o.Runs
		default:
			d.other += o.Runs
			d.cells[i][0] += o.Runs
		}
		d.most = max(d.most, d.cells[i][0])
		d.lastSlot = max(d.lastSlot, i)
	}
	all := make([]*day, 0, len(days))
	for _, d := range days {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *day) int {
		return cmp.Or(
			cmp.Compare(b.lastFailed, a.lastFailed),
			cmp.Compare(b.failed, a.failed),
			cmp.Compare(b.ok, a.ok),
			cmp.Compare(a.plan, b.plan),
		)
	})
	if len(all) > stripPlans {
		p.MoreStrips = c.N(len(all)-stripPlans, "%s more plan ran", "%s more plans ran")
		all = all[:stripPlans]
	}
	for _, d := range all {
		row := StripRow{Plan: kit.Link{Text: kit.Visible(d.plan), Href: "/plans/" + url.PathEscape(d.plan)}, OK: c.Number(d.ok)}
		if d.failed > 0 {
			row.Failed = kit.Link{Text: c.Number(d.failed), Href: link.List("/runs", "status:failed since:24h plan:"+d.plan)}
		}
		w := 100.0 / stripSlots
		for i, c := range d.cells {
			x, width := kit.Percent(float64(i)*w), kit.Percent(w*0.86)
			switch {
			case c[1] > 0: // failures are tall, however many
				row.Cells = append(row.Cells, part.Cell{X: x, W: width, Y: "0", H: "100%", Class: "g-fail"})
			case c[0] > 0:
				h := 20 + 50*float64(c[0])/float64(max(d.most, 1))
				row.Cells = append(row.Cells, part.Cell{X: x, W: width, Y: kit.Percent(100 - h), H: kit.Percent(h), Class: "g-ok"})
			default:
				row.Cells = append(row.Cells, part.Cell{X: x, W: width, Y: "94%", H: "6%", Class: "g-none"})
			}
		}
		row.Label = c.T("%s: %s succeeded, %s failed in 24 hours", kit.Visible(d.plan), c.Number(d.ok), c.Number(d.failed))
		p.Strips = append(p.Strips, row)
	}
	p.StripFrom = c.Time(from)
	return nil
}
