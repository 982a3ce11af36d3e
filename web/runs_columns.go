package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// column is one that a reader may add to the run list.
type column struct {
	key, word string
	number    bool
	sort      domain.RunSort
	cell      func(r *request, q string, run domain.Run) view.CellText
}

var columns = []column{
	{"ended", locale.Mark("Ended"), false, domain.SortEnded, func(r *request, _ string, run domain.Run) view.CellText {
		return view.CellText{At: r.time(run.EndedAt)}
	}},
	{"steps", locale.Mark("Steps"), true, "", func(r *request, _ string, run domain.Run) view.CellText {
		return view.CellText{Text: r.number(run.Steps)}
	}},
	{"tokens", locale.Mark("Tokens"), true, "", func(r *request, _ string, run domain.Run) view.CellText {
		return view.CellText{Text: r.number(run.Usage.InputTokens + run.Usage.OutputTokens)}
	}},
	{"cost", locale.Mark("Cost"), true, domain.SortCost, func(r *request, _ string, run domain.Run) view.CellText {
		return view.CellText{Text: r.money(run.Usage.Cost)}
	}},
	{"trigger", locale.Mark("Trigger"), false, "", func(r *request, q string, run domain.Run) view.CellText {
		return view.CellText{Links: []view.Link{r.narrow(q, "trigger", run.Origin)}}
	}},
	{"actor", locale.Mark("Started by"), false, "", func(r *request, q string, run domain.Run) view.CellText {
		return view.CellText{Links: []view.Link{r.narrow(q, "by", run.Actor)}}
	}},
	{"agent", locale.Mark("Agent"), false, "", func(r *request, q string, run domain.Run) view.CellText {
		var c view.CellText
		used, err := r.s.Reader.Uses(r.ctx, run.ID)
		if err != nil { // the list is worth more than the column
			r.s.Logger.Error("agents of a run", "run_id", run.ID, "err", err)
			return view.CellText{Text: r.t("not known")}
		}
		for _, u := range used {
			if u.Kind == domain.UseAgent {
				c.Links = append(c.Links, r.narrow(q, "agent", u.Name))
			}
		}
		return c
	}},
	{"labels", locale.Mark("Labels"), false, "", func(r *request, q string, run domain.Run) view.CellText {
		var c view.CellText
		for _, k := range slices.Sorted(maps.Keys(run.Labels)) {
			c.Links = append(c.Links, r.labelled(q, k, run.Labels[k]))
		}
		return c
	}},
}

// money is a cost in the currency of the configured prices.
func (r *request) money(c float64) string {
	if c == 0 {
		return "0"
	}
	if c < 0.01 {
		return r.display.lang.Decimal(c, 4)
	}
	return r.display.lang.Decimal(c, 2)
}

// narrow is a link that adds a term to a query, in place of another of its key.
func (r *request) narrow(q, key, value string) view.Link {
	term := key + ":" + filter.Quote(value)
	return view.Link{Text: visible(value), Href: listAt("/runs", strings.TrimSpace(filter.Without(q, key)+" "+term))}
}

func (r *request) labelled(q, key, value string) view.Link {
	term := "label." + key + "=" + value
	if strings.ContainsAny(term, " \t\n\"") {
		term = `"` + strings.ReplaceAll(term, `"`, "") + `"`
	}
	return view.Link{Text: visible(key + "=" + value), Href: listAt("/runs", strings.TrimSpace(q+" "+term))}
}

// columnsKey is the preference that names the chosen columns.
const columnsKey = "run columns"

// chosenColumns are the columns that the reader wants besides those that are
// always there.
func (r *request) chosenColumns() ([]column, error) {
	v, err := r.s.App.Preferences.Get(r.ctx, r.who.actor(), columnsKey)
	if err != nil {
		return nil, err
	}
	keys := strings.Split(v, ",")
	return slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return !slices.Contains(keys, c.key) }), nil
}

// setColumns keeps what columns the reader wants.
func (r *request) setColumns() error {
	var keys []string
	for _, c := range columns {
		if slices.Contains(r.c.Request().PostForm["column"], c.key) {
			keys = append(keys, c.key)
		}
	}
	if err := r.s.App.Preferences.Set(r.ctx, app.Preference{Meta: r.meta(), Key: columnsKey, Value: strings.Join(keys, ",")}); err != nil {
		return err
	}
	return r.c.Redirect(http.StatusSeeOther, localPath(r.c.FormValue("back")))
}

// table fills in what the list's table has: columns, how it is sorted, sizes.
func (r *request) table(p *view.RunsPage, q string, list []domain.Run, by domain.RunSort, pick bool) error {
	chosen, err := r.chosenColumns()
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
	for _, c := range columns {
		out := view.Column{Key: c.key, Text: r.t(c.word), Number: c.number, Sorted: by != "" && c.sort == by}
		out.Chosen = slices.ContainsFunc(chosen, func(o column) bool { return o.key == c.key })
		if c.sort != "" {
			out.Sort = sorted(c.sort)
		}
		p.Columns = append(p.Columns, out)
	}
	p.Took = view.Column{Text: r.t("Took"), Number: true, Sort: sorted(domain.SortTook), Sorted: by == domain.SortTook}
	span := 7 + len(chosen)
	if pick {
		span++
	}
	p.Span = strconv.Itoa(span)
	for i := range p.Rows {
		p.Rows[i].Peek = peekAddress(p.Rows[i], q)
		r.filtered(&p.Rows[i], q, list[i])
		for _, c := range chosen {
			cell := c.cell(r, q, list[i])
			cell.Number = c.number
			p.Rows[i].Cells = append(p.Rows[i].Cells, cell)
		}
	}
	size := r.page().Limit
	for _, n := range []int{25, 50, 100, 200} {
		v := url.Values{"n": {strconv.Itoa(n)}}
		if q != "" {
			v.Set("q", q)
		}
		if by != "" {
			v.Set("sort", string(by))
		}
		p.Sizes = append(p.Sizes, view.Link{Text: strconv.Itoa(n), Href: "/runs?" + v.Encode(), Current: n == size || size == 0 && n == 50})
	}
	return nil
}

// sortedRuns fills the page with the runs that have the most of something.
func (r *request) sortedRuns(p *view.RunsPage, q string, f domain.RunFilter, by domain.RunSort) ([]domain.Run, error) {
	list, seen, err := r.s.Reader.SortedRuns(r.ctx, f, by)
	if err != nil {
		return nil, err
	}
	words := map[domain.RunSort]string{domain.SortTook: r.t("Longest first"), domain.SortCost: r.t("Dearest first"), domain.SortEnded: r.t("Last ended first")}
	p.Sorted = words[by]
	switch {
	case seen.Whole:
		p.Sorted += ", " + r.t("among all runs.")
	default:
		p.Sorted += ", " + r.t("among the newest %s runs, back to %s.", r.number(seen.Runs), r.time(seen.Since).Text)
	}
	p.Rows, p.Count = r.runRows(list), r.n(len(list), "%s shown", "%s shown")
	p.Newest = listAt("/runs", q)
	return list, nil
}

// peek is a look at a run that does not leave the list.
func (r *request) peek() error {
	run, err := r.s.Reader.FindRun(r.ctx, r.c.Param("run"))
	if err != nil {
		return err
	}
	p := view.RunPeek{Shell: r.shell("runs", run.PlanKey+" · "+domain.ShortID(run.ID)), Row: r.runRow(run), Span: "7"}
	if n, err := strconv.Atoi(r.c.QueryParam("span")); err == nil && n > 0 && n < 30 {
		p.Span = strconv.Itoa(n)
	}
	q := r.c.QueryParam("q")
	if _, problem := filter.Parse(q, time.Now()); problem != nil {
		q = ""
	}
	add := func(key, value string) {
		if value != "" {
			l := r.narrow(q, key, value)
			l.Text = visible(key + ":" + value)
			p.Terms = append(p.Terms, l)
		}
	}
	add("plan", run.PlanKey)
	add("step", run.Node)
	if run.Error != nil {
		p.Error = visible(run.Error.Message)
		add("error", run.Error.Code)
	}
	used, err := r.s.Reader.Uses(r.ctx, run.ID)
	if err != nil {
		return err
	}
	for _, u := range used {
		add(u.Kind, u.Name)
	}
	add("by", run.Actor)
	if p.Log, err = r.lastLog(run); err != nil {
		return err
	}
	fact := func(term, text, href string) {
		if text != "" {
			p.Facts = append(p.Facts, view.Fact{Term: term, Text: text, Href: href})
		}
	}
	fact(r.t("Steps"), r.number(run.Steps), "")
	if !run.EndedAt.IsZero() {
		fact(r.t("Ended"), r.time(run.EndedAt).Text, "")
	}
	if run.Usage.Cost > 0 {
		fact(r.t("Cost"), r.money(run.Usage.Cost), "")
	}
	if run.ForkedFrom != "" {
		fact(r.t("Forked from"), domain.ShortID(run.ForkedFrom), "/runs/"+run.ForkedFrom)
	}
	if r.who.Role.Includes(domain.RoleOperator) {
		act := func(text, verb string) {
			p.Actions = append(p.Actions, view.Link{Text: text, Href: "/runs/" + run.ID + "/" + verb})
		}
		switch {
		case run.Status == domain.RunFailed || run.Status == domain.RunCancelled:
			act(r.t("Resume…"), "resume")
			act(r.t("Rerun…"), "rerun")
			if run.Status == domain.RunFailed && run.Attention {
				act(r.t("Acknowledge…"), "ack")
			}
		case run.Status == domain.RunCompleted:
			act(r.t("Rerun…"), "rerun")
		default:
			switch {
			case r.scheduled(run):
				act(r.t("Start now"), "start-now")
			case run.WaitReason == domain.WaitRetry:
				act(r.t("Retry now"), "retry-now")
			}
			act(r.t("Cancel…"), "cancel")
		}
	}
	if r.target() == "peek" {
		return r.render(http.StatusOK, view.PeekRow(p))
	}
	return r.render(http.StatusOK, view.Peek(p))
}

// peekLines is how much of a log a look at a run shows.
const peekLines = 6

// lastLog is the end of what a run's last steps logged.
func (r *request) lastLog(run domain.Run) ([]string, error) {
	rows, err := r.s.Reader.JournalPage(r.ctx, run.ID, max(0, run.LastSeq-20), 20)
	if err != nil && domain.CodeOf(err) != domain.CodeCorrupt { // the run's page says what is damaged
		return nil, err
	}
	var out []string
	for _, e := range rows {
		var lines []struct {
			Level   string `json:"level"`
			Message string `json:"message"`
		}
		if len(e.Log) == 0 || json.Unmarshal(e.Log, &lines) != nil {
			continue
		}
		for _, l := range lines {
			out = append(out, fmt.Sprintf("%s %s: %.400s", l.Level, e.Node, visible(l.Message)))
		}
	}
	return out[max(0, len(out)-peekLines):], nil
}
