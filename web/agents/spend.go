package agents

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// spendRange is a time range of the spend page, in columns of equal length.
type spendRange struct {
	name, word string
	column     time.Duration
	columns    int
}

var spendRanges = []spendRange{
	{"24h", locale.Mark("24 hours"), domain.OutcomeSlot, 48},
	{"7d", locale.Mark("7 days"), 4 * time.Hour, 42},
	{"30d", locale.Mark("30 days"), 24 * time.Hour, 30},
}

// from returns the start of the first column.
func (r spendRange) from(now time.Time) time.Time {
	return now.Truncate(r.column).Add(-time.Duration(r.columns-1) * r.column)
}

// allKeys sums spend by each plan, agent, and model.
var allKeys = domain.SpendKeys{Plan: true, Agent: true, Model: true}

// spend returns the selected range and the usage of model calls in it.
func (s *section) spend(c *ui.Context) (spendRange, []domain.Spend, error) {
	r := spendRanges[0]
	for _, other := range spendRanges {
		if other.name == c.Query("range") {
			r = other
		}
	}
	list, err := s.App.Providers.Spend(c, c.Principal.Actor(), app.SpendQuery{Since: r.from(c.Site.Now()), Period: r.column, By: allKeys})
	return r, list, err
}

// spendPage serves the cost of model calls over time, and by plan, agent, and model.
func (s *section) spendPage(c *ui.Context) error {
	r, list, err := s.spend(c)
	if err != nil {
		return err
	}
	p := SpendPage{Shell: c.Shell("agents", c.T("Spend")), Parts: parts(c, "spend"), CSV: "/agents/spend.csv?range=" + r.name}
	names := spendNames(c)
	by := names[max(0, slices.IndexFunc(names, func(n spendName) bool { return n.key == c.Query("by") }))]
	addChoices(c, &p, r, names, by)
	if len(list) > 0 {
		addSpend(c, &p, r, list, names, by)
	}
	return c.Render(http.StatusOK, Spend(p))
}

// addChoices adds the links that select the range and what the chart is divided by.
func addChoices(c *ui.Context, p *SpendPage, r spendRange, names []spendName, by spendName) {
	for _, other := range spendRanges {
		p.Ranges = append(p.Ranges, kit.Link{Text: c.T(other.word), Current: other.name == r.name,
			Href: link.With("/agents/spend", url.Values{"range": {other.name}}, "by", c.Query("by"))})
	}
	for _, n := range names {
		p.By = append(p.By, kit.Link{Text: n.title, Current: n.key == by.key,
			Href: link.With("/agents/spend", url.Values{"by": {n.key}}, "range", c.Query("range"))})
	}
}

// addSpend adds the figures, the tables, and the chart.
func addSpend(c *ui.Context, p *SpendPage, r spendRange, list []domain.Spend, names []spendName, by spendName) {
	all := total(list)
	p.Figures = []kit.Fact{
		{Term: c.T("Spend"), Text: value.Money(c, all.Usage.Cost)}, {Term: c.T("Model calls"), Text: c.Number(all.Calls)},
		{Term: c.T("Input tokens"), Text: c.Number(all.Usage.InputTokens)},
		{Term: c.T("Output tokens"), Text: c.Number(all.Usage.OutputTokens)},
	}
	p.Priced = all.Usage.Cost > 0
	for _, n := range names {
		t := SpendTable{ID: "by-" + n.key, Title: n.title, Head: n.head, Rows: spendRows(c, list, n.of)}
		if n.key == by.key {
			p.Legend, p.Rest = assignShades(t.Rows), len(t.Rows) > len(shades)
		}
		p.Tables = append(p.Tables, t)
	}
	p.Chart = spendChart(c, r, list, p.Priced, p.Legend, by.of)
}

// spendName is a dimension by which spend is grouped.
type spendName struct {
	key, title, head string
	of               func(domain.Spend) kit.Link
}

func spendNames(c *ui.Context) []spendName {
	none := c.T("not recorded")
	return []spendName{
		{"plan", c.T("By plan"), c.T("Plan"), func(e domain.Spend) kit.Link {
			return kit.Link{Text: kit.Escape(e.PlanKey), Href: "/plans/" + url.PathEscape(e.PlanKey)}
		}},
		{"agent", c.T("By agent"), c.T("Agent"), func(e domain.Spend) kit.Link {
			if e.Agent == "" {
				return kit.Link{Text: none}
			}
			return kit.Link{Text: kit.Escape(e.Agent), Href: link.Agent(e.Agent)}
		}},
		{"model", c.T("By model"), c.T("Model"), func(e domain.Spend) kit.Link {
			return kit.Link{Text: cmp.Or(kit.Escape(e.Model), none)}
		}},
	}
}

// shades are the classes of the parts of the chart. The last one is shared by all remaining names.
var shades = []string{"share", "heat-5", "heat-3", "heat-1"}

// assignShades assigns shades to the names with the most spend, and returns the legend.
func assignShades(rows []SpendRow) (legend []kit.Link) {
	for i, r := range rows[:min(len(rows), len(shades))] {
		legend = append(legend, kit.Link{Text: r.Name.Text, Href: r.Name.Href, Class: shades[i]})
	}
	return legend
}

func total(list []domain.Spend) (sum domain.Spend) {
	for _, e := range list {
		sum.Calls, sum.Usage = sum.Calls+e.Calls, sum.Usage.Add(e.Usage)
	}
	return sum
}

// barLength returns the length of a bar: the cost, or the number of tokens if no model has a price.
func barLength(e domain.Spend, priced bool) float64 {
	if priced {
		return e.Usage.Cost
	}
	return float64(e.Usage.InputTokens + e.Usage.OutputTokens)
}

// spendRows returns the spend by name, the most expensive first.
func spendRows(c *ui.Context, list []domain.Spend, name func(domain.Spend) kit.Link) []SpendRow {
	sums := map[kit.Link][]domain.Spend{}
	for _, e := range list {
		sums[name(e)] = append(sums[name(e)], e)
	}
	type named struct {
		link kit.Link
		sum  domain.Spend
	}
	all, whole := make([]named, 0, len(sums)), total(list)
	for l, part := range sums {
		all = append(all, named{l, total(part)})
	}
	priced := whole.Usage.Cost > 0
	slices.SortFunc(all, func(a, b named) int {
		return cmp.Or(cmp.Compare(barLength(b.sum, priced), barLength(a.sum, priced)), cmp.Compare(a.link.Text, b.link.Text))
	})
	var out []SpendRow
	for _, n := range all {
		share := barLength(n.sum, priced) / max(barLength(whole, priced), 1e-12)
		out = append(out, SpendRow{
			Name: n.link, Calls: c.Number(n.sum.Calls),
			Input: c.Number(n.sum.Usage.InputTokens), Output: c.Number(n.sum.Usage.OutputTokens),
			Cost: value.Money(c, n.sum.Usage.Cost), Share: c.Display.Lang.Percent(share), Bar: kit.Percent(100 * share),
		})
	}
	return out
}

// microsOf is the factor by which amounts become whole numbers, because charts stack integers.
const microsOf = 1e6

// spendChart draws the spend over time by the names of the legend. The last name includes all names
// that are not in the legend. Each column links to the runs that ended in it.
func spendChart(c *ui.Context, r spendRange, list []domain.Spend, priced bool, legend []kit.Link,
	name func(domain.Spend) kit.Link) kit.Chart {
	from := r.from(c.Site.Now())
	sums := make([][]domain.Spend, r.columns)
	for i := range sums {
		sums[i] = make([]domain.Spend, len(legend))
	}
	for _, e := range list {
		i := int(e.From.Sub(from) / r.column)
		if i < 0 || i >= r.columns {
			continue
		}
		text := name(e).Text
		k := slices.IndexFunc(legend, func(l kit.Link) bool { return l.Text == text })
		if k < 0 {
			k = len(legend) - 1
		}
		at := &sums[i][k]
		at.Calls, at.Usage = at.Calls+e.Calls, at.Usage.Add(e.Usage)
	}
	classes := make([]string, len(legend))
	for k, l := range legend {
		classes[k] = l.Class
	}
	text := func(n int64) string {
		if priced {
			return value.Money(c, float64(n)/microsOf)
		}
		return c.Number(n / microsOf)
	}
	data := make([]kit.ChartData, r.columns)
	for i := range sums {
		begins := from.Add(time.Duration(i) * r.column)
		counts := make([]int64, len(legend))
		for k, part := range sums[i] {
			counts[k] = int64(barLength(part, priced) * microsOf)
		}
		sum := total(sums[i])
		n := int64(barLength(sum, priced) * microsOf)
		data[i] = kit.ChartData{Counts: counts, Href: link.List("/runs", "since:"+begins.UTC().Format(time.RFC3339)+
			" until:"+begins.Add(r.column).UTC().Format(time.RFC3339)),
			Label: c.T("%s: %s, %s", c.Time(begins).Text, text(n), c.N(int(sum.Calls), "%s call", "%s calls"))}
	}
	chart := kit.Stack(data, classes, text)
	chart.Label = c.T("Spend over time")
	form := "15:04"
	if r.column > domain.OutcomeSlot {
		form = "01-02"
	}
	for i := 0; i < r.columns; i += 6 {
		at := from.Add(time.Duration(i) * r.column).In(c.Display.Zone)
		chart.Ticks = append(chart.Ticks, kit.ChartText{At: kit.Percent(100 * float64(i) / float64(r.columns)), Text: at.Format(form)})
	}
	return chart
}

// spendCSV serves the spend as CSV.
func (s *section) spendCSV(c *ui.Context) error {
	_, list, err := s.spend(c)
	if err != nil {
		return err
	}
	w := c.Echo.Response()
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="spend.csv"`)
	w.WriteHeader(http.StatusOK)
	return app.WriteSpendCSV(w, allKeys, list)
}
