package home

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	stripSlots = 48 // half hours in a day
	stripPlans = 12
)

// planDay contains the results of a plan in the last 24 hours.
type planDay struct {
	plan       string
	total      tally
	cells      [stripSlots]tally
	lastFailed int // slot of the last failure; -1 if none
}

// add counts runs that ended with a status in a half hour. Cancelled runs count in the cell of the
// half hour, but not in the total.
func (d *planDay) add(slot int, o domain.Outcome) {
	if o.Status == domain.RunFailed {
		d.total.failed += o.Runs
		d.cells[slot].failed += o.Runs
		d.lastFailed = max(d.lastFailed, slot)
		return
	}
	if o.Status == domain.RunCompleted {
		d.total.ok += o.Runs
	}
	d.cells[slot].ok += o.Runs
}

// strips fills in the last 24 hours: a row per plan, a cell per half hour. Plans with the most
// recent failures come first.
func (s *section) strips(c *ui.Context, p *DaySection) error {
	from := firstSlot(c.Site.Now())
	list, err := s.Reader.Outcomes(c, from)
	if err != nil {
		return err
	}
	days := map[string]*planDay{}
	for _, o := range list {
		i := int(o.From.Sub(from) / domain.OutcomeSlot)
		if i < 0 || i >= stripSlots {
			continue
		}
		if days[o.PlanKey] == nil {
			days[o.PlanKey] = &planDay{plan: o.PlanKey, lastFailed: -1}
		}
		days[o.PlanKey].add(i, o)
	}
	all := make([]*planDay, 0, len(days))
	for _, d := range days {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *planDay) int {
		return cmp.Or(
			cmp.Compare(b.lastFailed, a.lastFailed),
			cmp.Compare(b.total.failed, a.total.failed),
			cmp.Compare(b.total.ok, a.total.ok),
			cmp.Compare(a.plan, b.plan),
		)
	})
	p.Sum = c.N(len(all), "%s ran in 24 hours; worst first", "%s ran in 24 hours; worst first")
	if len(all) > stripPlans {
		p.MoreStrips = c.N(len(all)-stripPlans, "%s more plan ran", "%s more plans ran")
		all = all[:stripPlans]
	}
	runs, err := s.ended(c)
	if err != nil {
		return err
	}
	took := map[string][]domain.Run{}
	for _, run := range runs {
		took[run.PlanKey] = append(took[run.PlanKey], run)
	}
	spend, err := s.spend(c, from, domain.SpendKeys{Plan: true})
	if err != nil {
		return err
	}
	spent := map[string]float64{}
	for _, e := range spend {
		spent[e.PlanKey] += e.Usage.Cost
	}
	for _, d := range all {
		p.Strips = append(p.Strips, d.row(c, took[d.plan], spent[d.plan]))
	}
	p.StripFrom = c.Time(from)
	return nil
}

// row returns the row of a plan. runs are its newest runs, and spent is the cost of their model
// calls in 24 hours.
func (d *planDay) row(c *ui.Context, runs []domain.Run, spent float64) StripRow {
	row := StripRow{
		Plan: kit.Link{Text: kit.Escape(d.plan), Href: "/plans/" + url.PathEscape(d.plan)},
		Runs: c.Number(d.total.all()), OK: "–", P95: "–", Spend: "–", Cells: d.heat(),
	}
	if len(runs) > 0 {
		row.P95 = kit.Duration(p95(runs))
	}
	if spent > 0 {
		row.Spend = value.Money(c, spent)
	}
	if d.total.all() > 0 {
		row.OK = c.Display.Lang.Percent(d.total.rate())
	}
	switch {
	case d.total.failed == 0:
	case d.total.rate() < .5:
		row.Role = "fail"
	default:
		row.Role = "need"
	}
	if d.total.failed > 0 {
		row.Failed = kit.Link{Text: c.Number(d.total.failed), Href: link.List("/runs", "status:failed since:24h plan:"+d.plan)}
	}
	row.Label = c.T("%s: %s completed, %s failed in 24 hours", kit.Escape(d.plan), c.Number(d.total.ok), c.Number(d.total.failed))
	return row
}

// heat returns the cells of a plan. The height shows the number of ended runs. Cells in which most
// runs failed are full and hatched.
func (d *planDay) heat() []part.Cell {
	most := int64(1)
	for _, n := range d.cells {
		most = max(most, n.all())
	}
	const w = 100.0 / stripSlots
	var out []part.Cell
	for i, n := range d.cells {
		cell := part.Cell{X: kit.Percent(float64(i) * w), W: kit.Percent(w * .86), Y: "40%", H: "20%", Class: "g-none"}
		if n.all() > 0 {
			h := 40 + 60*float64(n.all())/float64(most)
			cell.Y, cell.H, cell.Class = kit.Percent((100-h)/2), kit.Percent(h), "g-ok"
			switch {
			case n.failed > n.ok:
				cell.Y, cell.H, cell.Class = "0", "100%", "g-fail"
			case n.failed > 0:
				cell.Class = "g-need"
			}
		}
		out = append(out, cell)
	}
	return out
}
