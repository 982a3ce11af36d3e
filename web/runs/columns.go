package runs

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

// column is an optional column of the run list.
type column struct {
	key, word string
	number    bool
	sort      domain.RunSort
	cell      func(s *section, c *ui.Context, q string, run domain.Run) part.CellText
}

var columns = []column{
	{"ended", locale.Mark("Ended"), false, domain.SortEnded, func(_ *section, c *ui.Context, _ string, run domain.Run) part.CellText {
		return part.CellText{At: c.Time(run.EndedAt)}
	}},
	{"steps", locale.Mark("Steps"), true, "", func(_ *section, c *ui.Context, _ string, run domain.Run) part.CellText {
		return part.CellText{Text: c.Number(run.Steps)}
	}},
	{"tokens", locale.Mark("Tokens"), true, "", func(_ *section, c *ui.Context, _ string, run domain.Run) part.CellText {
		return part.CellText{Text: c.Number(run.Usage.InputTokens + run.Usage.OutputTokens)}
	}},
	{"cost", locale.Mark("Cost"), true, domain.SortCost, func(_ *section, c *ui.Context, _ string, run domain.Run) part.CellText {
		return part.CellText{Text: money(c, run.Usage.Cost)}
	}},
	{"trigger", locale.Mark("Trigger"), false, "", func(s *section, c *ui.Context, q string, run domain.Run) part.CellText {
		return part.CellText{Links: []kit.Link{narrow(c, q, "trigger", run.Origin)}}
	}},
	{"actor", locale.Mark("Started by"), false, "", func(s *section, c *ui.Context, q string, run domain.Run) part.CellText {
		return part.CellText{Links: []kit.Link{narrow(c, q, "by", run.Actor)}}
	}},
	{"agent", locale.Mark("Agent"), false, "", func(s *section, c *ui.Context, q string, run domain.Run) part.CellText {
		var cell part.CellText
		used, err := s.Reader.Uses(c, run.ID)
		if err != nil { // show the row without this cell
			c.Site.Logger.Error("agents of a run", "run_id", run.ID, "err", err)
			return part.CellText{Text: c.T("not known")}
		}
		for _, u := range used {
			if u.Kind == domain.UseAgent {
				cell.Links = append(cell.Links, narrow(c, q, "agent", u.Name))
			}
		}
		return cell
	}},
	{"labels", locale.Mark("Labels"), false, "", func(s *section, c *ui.Context, q string, run domain.Run) part.CellText {
		var cell part.CellText
		for _, k := range slices.Sorted(maps.Keys(run.Labels)) {
			cell.Links = append(cell.Links, labelled(c, q, k, run.Labels[k]))
		}
		return cell
	}},
}

// money formats a cost in the currency of the configured prices.
func money(c *ui.Context, cost float64) string {
	if cost == 0 {
		return "0"
	}
	if cost < 0.01 {
		return c.Display.Lang.Decimal(cost, 4)
	}
	return c.Display.Lang.Decimal(cost, 2)
}

// narrow returns a link that adds the term key:value to a query. It replaces another term with the
// key.
func narrow(c *ui.Context, q, key, value string) kit.Link {
	term := key + ":" + filter.Quote(value)
	return kit.Link{Text: kit.Escape(value), Href: link.List("/runs", strings.TrimSpace(filter.Without(q, key)+" "+term))}
}

func labelled(c *ui.Context, q, key, value string) kit.Link {
	term := "label." + key + "=" + value
	if strings.ContainsAny(term, " \t\n\"") {
		term = `"` + strings.ReplaceAll(term, `"`, "") + `"`
	}
	return kit.Link{Text: kit.Escape(key + "=" + value), Href: link.List("/runs", strings.TrimSpace(q+" "+term))}
}

// menuMost is the maximum number of terms in a menu.
const menuMost = 24

// labelTerms returns links that filter the list by the labels of its runs.
func labelTerms(c *ui.Context, q string, list []domain.Run) []kit.Link {
	var out []kit.Link
	for _, run := range list {
		for _, k := range slices.Sorted(maps.Keys(run.Labels)) {
			l := labelled(c, q, k, run.Labels[k])
			if len(out) < menuMost && !slices.Contains(out, l) {
				out = append(out, l)
			}
		}
	}
	return out
}

// planTerms returns links that filter the list by plan.
func (s *section) planTerms(c *ui.Context, q string) ([]kit.Link, error) {
	keys, err := s.planKeys(c)
	var out []kit.Link
	for _, k := range keys[:min(len(keys), menuMost)] {
		l := narrow(c, q, "plan", k)
		l.Current = slices.Contains(filter.Terms(q), "plan:"+filter.Quote(k))
		out = append(out, l)
	}
	return out, err
}

// columnsKey is the preference that stores the selected columns.
const columnsKey = "run columns"

// chosenColumns returns the optional columns that the user selected.
func (s *section) chosenColumns(c *ui.Context) ([]column, error) {
	v, err := s.App.Preferences.Get(c, c.Principal.Actor(), columnsKey)
	if err != nil {
		return nil, err
	}
	keys := strings.Split(v, ",")
	return slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return !slices.Contains(keys, c.key) }), nil
}

// setColumns stores the user's selection of columns.
func (s *section) setColumns(c *ui.Context) error {
	var keys []string
	for _, o := range columns {
		if slices.Contains(c.Echo.Request().PostForm["column"], o.key) {
			keys = append(keys, o.key)
		}
	}
	if err := s.App.Preferences.Set(c, app.Preference{Meta: c.Meta(), Key: columnsKey, Value: strings.Join(keys, ",")}); err != nil {
		return err
	}
	return c.Echo.Redirect(http.StatusSeeOther, link.Local(c.Field("back")))
}

// table fills in the columns, the sort order, and the page sizes of the table.
func (s *section) table(c *ui.Context, p *RunsPage, q string, list []domain.Run, by domain.RunSort, pick bool) error {
	chosen, err := s.chosenColumns(c)
	if err != nil {
		return err
	}
	sorted := func(to domain.RunSort) string {
		v := url.Values{"sort": {string(to)}}
		if q != "" {
			v.Set("q", q)
		}
		return "/runs?" + v.Encode()
	}
	for _, o := range columns {
		out := Column{Key: o.key, Text: c.T(o.word), Number: o.number, Sorted: by != "" && o.sort == by}
		out.Chosen = slices.ContainsFunc(chosen, func(x column) bool { return x.key == o.key })
		if o.sort != "" {
			out.Sort = sorted(o.sort)
		}
		p.Columns = append(p.Columns, out)
	}
	p.Took = Column{Text: c.T("Duration"), Number: true, Sort: sorted(domain.SortTook), Sorted: by == domain.SortTook}
	span := 7 + len(chosen)
	if pick {
		span++
	}
	for i := range p.Rows {
		p.Rows[i].Peek = peekAddress(p.Rows[i], q, strconv.Itoa(span))
		filtered(c, &p.Rows[i], q, list[i])
		for _, o := range chosen {
			cell := o.cell(s, c, q, list[i])
			cell.Number = o.number
			p.Rows[i].Cells = append(p.Rows[i].Cells, cell)
		}
	}
	p.LabelTerms = labelTerms(c, q, list)
	if err := s.compared(c, p.Rows, list); err != nil {
		return err
	}
	size := c.Page().Limit
	for _, n := range []int{25, 50, 100, 200} {
		v := url.Values{"n": {strconv.Itoa(n)}}
		if q != "" {
			v.Set("q", q)
		}
		if by != "" {
			v.Set("sort", string(by))
		}
		p.Sizes = append(p.Sizes, kit.Link{Text: strconv.Itoa(n), Href: "/runs?" + v.Encode(), Current: n == size || size == 0 && n == 50})
	}
	return nil
}

// sortedRuns fills the page with the runs that come first in a sort order, among the newest
// matching runs.
func (s *section) sortedRuns(c *ui.Context, p *RunsPage, q string, f domain.RunFilter, by domain.RunSort) ([]domain.Run, error) {
	list, seen, err := s.Reader.SortedRuns(c, f, by)
	if err != nil {
		return nil, err
	}
	words := map[domain.RunSort]string{
		domain.SortTook:  c.T("Longest first"),
		domain.SortCost:  c.T("Most expensive first"),
		domain.SortEnded: c.T("Most recently ended first"),
	}
	p.Sorted = words[by]
	switch {
	case seen.Whole:
		p.Sorted += ", " + c.T("among all runs.")
	default:
		p.Sorted += ", " + c.T("among the newest %s runs, back to %s.", c.Number(seen.Runs), c.Time(seen.Since).Text)
	}
	p.Rows, p.Count = s.rows.Of(c, list), c.N(len(list), "%s shown", "%s shown")
	p.Newest = link.List("/runs", q)
	return list, nil
}
