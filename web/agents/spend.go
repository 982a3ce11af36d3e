package agents

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// spendRange is a time range of the spend page, in columns of one length.
type spendRange struct {
	name, word string
	column     time.Duration
	columns    int
}

var spendRanges = []spendRange{
	{"24h", locale.Mark("24 hours"), domain.OutcomeSlot, 48},
	{"7d", locale.Mark("7 days"), 4 * time.Hour, 42},
	{"30d", locale.Mark("30 days"), 24 * time.Hour, 30},
	{"12m", locale.Mark("12 months"), app.Month, 12},
}

// starts returns the start of each column, and the end of the last one.
func (r spendRange) starts(now time.Time) []time.Time {
	out := make([]time.Time, r.columns+1)
	for i := range out {
		back := r.columns - 1 - i
		if r.column == app.Month {
			out[i] = time.Date(now.UTC().Year(), now.UTC().Month()-time.Month(back), 1, 0, 0, 0, 0, time.UTC)
			continue
		}
		out[i] = now.Truncate(r.column).Add(-time.Duration(back) * r.column)
	}
	return out
}

// allKeys sums spend by each name except labels, so that every call counts once.
var allKeys = domain.SpendKeys{Plan: true, Agent: true, Provider: true, Model: true}

// spendView is the usage of models in a range.
type spendView struct {
	r      spendRange
	starts []time.Time
	all    app.SpendSums
	// labels has a sum for each label of the runs. label is the key of a label that divides the chart, or empty, and
	// byLabel has the sums by its value.
	labels  []domain.Spend
	label   string
	byLabel []domain.Spend
}

// labelChoice begins the name of a label that divides the chart.
const labelChoice = "label:"

// spend returns the selected range and the usage of model calls in it.
func (s *section) spend(c *ui.Context) (v spendView, err error) {
	v.r = spendRanges[0]
	for _, other := range spendRanges {
		if other.name == c.Query("range") {
			v.r = other
		}
	}
	v.starts = v.r.starts(c.Site.Now())
	q := app.SpendQuery{Since: v.starts[0], Period: v.r.column, By: allKeys}
	if v.all, err = s.App.Providers.Spend(c, c.Principal.Actor(), q); err != nil {
		return v, err
	}
	q.By = domain.SpendKeys{Label: true}
	labels, err := s.App.Providers.Spend(c, c.Principal.Actor(), q)
	if err != nil {
		return v, err
	}
	v.labels = labels.Items
	key, ok := strings.CutPrefix(c.Query("by"), labelChoice)
	if !ok || !slices.Contains(v.labelKeys(), key) {
		return v, nil
	}
	v.label, q.Label, q.By = key, key, allKeys
	q.By.Label = true
	sums, err := s.App.Providers.Spend(c, c.Principal.Actor(), q)
	v.byLabel = sums.Items
	return v, err
}

// maxLabelKeys is the number of keys of labels that the page offers.
const maxLabelKeys = 6

// labelKeys returns the keys of the labels with the most spend, in alphabetical order.
func (v *spendView) labelKeys() (keys []string) {
	priced := total(v.all.Items).Usage.Cost > 0
	sums := map[string]float64{}
	for _, e := range v.labels {
		key, _, _ := strings.Cut(e.Label, "=")
		sums[key] += barLength(e, priced)
	}
	keys = slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b))
	})
	keys = keys[:min(len(keys), maxLabelKeys)]
	slices.Sort(keys)
	return keys
}

// spendPage serves the cost of model calls over time, and by plan, agent, provider, model, and label.
func (s *section) spendPage(c *ui.Context) error {
	v, err := s.spend(c)
	if err != nil {
		return err
	}
	p := SpendPage{Shell: c.Shell("agents", c.T("Spend")), Parts: parts(c, "spend")}
	names := spendNames(c)
	by := names[max(0, slices.IndexFunc(names, func(n spendName) bool { return n.key == c.Query("by") }))]
	for _, key := range v.labelKeys() {
		n := spendName{labelChoice + key, c.T("By label %s", kit.Escape(key)), "", labelName(c, key)}
		if v.label == key {
			by = n
		}
		names = append(names, n)
	}
	p.CSV = link.With("/agents/spend.csv", url.Values{"range": {v.r.name}}, "by", by.key)
	addChoices(c, &p, v.r, names, by)
	if v.all.Cut {
		p.Cut = c.T("There are too many sums to show. The page begins at %s.", c.Time(v.all.Since).Text)
	}
	if len(v.all.Items) > 0 {
		addSpend(c, &p, v, names, by)
	}
	if err := s.addPredictions(c, &p); err != nil {
		return err
	}
	return c.Render(http.StatusOK, Spend(p))
}

// addPredictions adds the budgets with what is left of them, and when they are used up at the pace of their window.
func (s *section) addPredictions(c *ui.Context, p *SpendPage) error {
	if !c.May(app.ListBudgets) {
		return nil
	}
	list, err := s.App.Budgets.List(c, c.Principal.Actor())
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b domain.BudgetState) int { return usedUpAt(a).Compare(usedUpAt(b)) })
	p.MoreBudgets = len(list) > maxPredictions
	for _, b := range list[:min(len(list), maxPredictions)] {
		p.Budgets = append(p.Budgets, budgetRow(c, b))
	}
	return nil
}

// usedUpAt returns when a budget is used up at the pace of its window. Budgets that last for their window come last.
func usedUpAt(b domain.BudgetState) time.Time {
	if b.Exhausted.IsZero() {
		return b.Window.End.AddDate(100, 0, 0)
	}
	return b.Exhausted
}

// maxPredictions is the number of budgets that the spend page shows.
const maxPredictions = 10

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
func addSpend(c *ui.Context, p *SpendPage, v spendView, names []spendName, by spendName) {
	all := total(v.all.Items)
	p.Figures = []kit.Fact{
		{Term: c.T("Spend"), Text: value.Money(c, all.Usage.Cost)}, {Term: c.T("Model calls"), Text: c.Number(all.Calls)},
		{Term: c.T("Input tokens"), Text: c.Number(all.Usage.InputTokens)},
		{Term: c.T("Output tokens"), Text: c.Number(all.Usage.OutputTokens)},
	}
	p.Priced = all.Usage.Cost > 0
	for _, n := range names {
		list := v.all.Items
		if strings.HasPrefix(n.key, labelChoice) {
			if n.key != by.key {
				continue // the table of all labels has it
			}
			list = v.byLabel
		}
		t := SpendTable{ID: "by-" + strings.TrimPrefix(n.key, labelChoice), Title: n.title, Head: n.head}
		if n.head == "" {
			t.ID, t.Head = "by-one-label", c.T("Label")
		}
		t.fill(c, spendRows(c, list, all, n.of))
		if n.key == by.key {
			p.Legend, p.Rest = assignShades(t.Rows), len(t.Rows) > len(shades)
		}
		p.Tables = append(p.Tables, t)
	}
	if len(v.labels) > 0 {
		t := SpendTable{ID: "by-label", Title: c.T("By label"), Head: c.T("Label"),
			Remark: c.T("A call counts for each label of its run.")}
		t.fill(c, spendRows(c, v.labels, all, labelName(c, "")))
		p.Tables = append(p.Tables, t)
	}
	list := v.all.Items
	if v.label != "" {
		list = v.byLabel
	}
	p.Chart = spendChart(c, v, list, p.Priced, p.Legend, by.of)
}

// maxSpendRows is the number of rows of a table. The CSV has all rows.
const maxSpendRows = 50

func (t *SpendTable) fill(c *ui.Context, rows []SpendRow) {
	t.Rows = rows[:min(len(rows), maxSpendRows)]
	if left := len(rows) - len(t.Rows); left > 0 {
		t.More = c.N(left, "%s more is in the CSV.", "%s more are in the CSV.")
	}
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
		{"provider", c.T("By provider"), c.T("Provider"), func(e domain.Spend) kit.Link {
			if e.Provider == "" {
				return kit.Link{Text: none}
			}
			return kit.Link{Text: kit.Escape(e.Provider), Href: link.Provider(e.Provider)}
		}},
		{"model", c.T("By model"), c.T("Model"), func(e domain.Spend) kit.Link {
			return kit.Link{Text: cmp.Or(kit.Escape(e.Model), none)}
		}},
	}
}

// labelName names a sum by the label of its runs. key is the label whose absence is named, or empty.
func labelName(c *ui.Context, key string) func(domain.Spend) kit.Link {
	return func(e domain.Spend) kit.Link {
		if e.Label == "" {
			return kit.Link{Text: c.T("without %s", kit.Escape(key))}
		}
		return kit.Link{Text: kit.Escape(e.Label), Href: link.List("/runs", filter.Quote("label."+e.Label))}
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

// spendRows returns the spend by name, the most expensive first, with its share of the whole.
func spendRows(c *ui.Context, list []domain.Spend, whole domain.Spend, name func(domain.Spend) kit.Link) []SpendRow {
	sums := map[kit.Link][]domain.Spend{}
	for _, e := range list {
		sums[name(e)] = append(sums[name(e)], e)
	}
	type named struct {
		link kit.Link
		sum  domain.Spend
	}
	all := make([]named, 0, len(sums))
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
func spendChart(c *ui.Context, v spendView, list []domain.Spend, priced bool, legend []kit.Link,
	name func(domain.Spend) kit.Link) kit.Chart {
	sums := make([][]domain.Spend, v.r.columns)
	for i := range sums {
		sums[i] = make([]domain.Spend, len(legend))
	}
	for _, e := range list {
		i, exact := slices.BinarySearchFunc(v.starts, e.From, time.Time.Compare)
		if !exact {
			i-- // the column that contains it
		}
		if i < 0 || i >= v.r.columns {
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
	data := make([]kit.ChartData, v.r.columns)
	for i := range sums {
		counts := make([]int64, len(legend))
		for k, part := range sums[i] {
			counts[k] = int64(barLength(part, priced) * microsOf)
		}
		sum := total(sums[i])
		n := int64(barLength(sum, priced) * microsOf)
		data[i] = kit.ChartData{Counts: counts, Href: link.List("/runs", "since:"+v.starts[i].UTC().Format(time.RFC3339)+
			" until:"+v.starts[i+1].UTC().Format(time.RFC3339)),
			Label: c.T("%s: %s, %s", c.Time(v.starts[i]).Text, text(n), c.N(int(sum.Calls), "%s call", "%s calls"))}
	}
	chart := kit.Stack(data, classes, text)
	chart.Label = c.T("Spend over time")
	form, every := "15:04", 6
	switch {
	case v.r.column == app.Month:
		form, every = "2006-01", 2
	case v.r.column > domain.OutcomeSlot:
		form = "01-02"
	}
	for i := 0; i < v.r.columns; i += every {
		chart.Ticks = append(chart.Ticks, kit.ChartText{At: kit.Percent(100 * float64(i) / float64(v.r.columns)),
			Text: v.starts[i].In(c.Display.Zone).Format(form)})
	}
	return chart
}

// spendCSV serves the spend as CSV. If the chart is divided by a label, it has a column for it.
func (s *section) spendCSV(c *ui.Context) error {
	v, err := s.spend(c)
	if err != nil {
		return err
	}
	keys, list := allKeys, v.all.Items
	if v.label != "" {
		keys.Label, list = true, v.byLabel
	}
	w := c.Echo.Response()
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="spend.csv"`)
	w.WriteHeader(http.StatusOK)
	return app.WriteSpendCSV(w, keys, list)
}
