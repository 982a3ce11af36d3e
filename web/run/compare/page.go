// Package compare contains the page that compares two runs.
package compare

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/diff/rundiff"
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/part/failure"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of the package.
type Ports struct {
	App    *app.App
	Reader Reader
	Engine Engine
}

// Reader reads from the store.
type Reader interface {
	FindRun(ctx context.Context, id string) (domain.Run, error)
	Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error)
	// Uses returns the agents, tools, and providers that a run used.
	Uses(ctx context.Context, run string) ([]domain.Use, error)
	VersionByNumber(ctx context.Context, planID string, number int) (domain.Version, error)
}

// Engine folds runs.
type Engine interface {
	// Detail returns a run with its journal and waits.
	Detail(ctx context.Context, run string) (domain.RunDetail, error)
}

// bothRuns reads runs for package rundiff.
type bothRuns struct {
	Reader
	Engine
}

type section struct{ Ports }

// request is a request of the page.
type request struct {
	*ui.Context
	*section
}

// Section returns the routes of the page.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: []ui.Route{
		{Get: "/runs/compare", Operation: app.CompareRuns, Handle: func(c *ui.Context) error { return request{c, s}.page() }},
	}}
}

// page compares two runs, and shows the first step that differs. Without a second run, it compares
// with the last completed run of the same plan.
func (r request) page() error {
	d, err := rundiff.Read(r.Context, bothRuns{r.Reader, r.Engine}, r.Query("a"), r.Query("b"), r.Site.Now())
	if err != nil {
		return err
	}
	a, b := d.A.Detail.Run, d.B.Detail.Run
	p := Page{
		Shell: r.Shell("runs", r.T("Compare %s with %s", domain.ShortID(a.ID), domain.ShortID(b.ID))),
		First: r.T("No step differs."),
	}
	for i, side := range []*Side{&p.A, &p.B} {
		run := []domain.Run{a, b}[i]
		*side = Side{Run: kit.Link{Text: domain.ShortID(run.ID), Href: "/runs/" + run.ID}, Status: part.Status(r.Context, run)}
	}
	var same []string
	fact := func(name, x, y string) {
		if x == y {
			same = append(same, name)
			return
		}
		p.Facts = append(p.Facts, Row{Name: name, A: kit.Escape(cmp.Or(x, "–")), B: kit.Escape(cmp.Or(y, "–")), Differs: true})
	}
	fact(r.T("Plan"), fmt.Sprintf("%s v%d", a.PlanKey, a.Version), fmt.Sprintf("%s v%d", b.PlanKey, b.Version))
	if a.PlanKey == b.PlanKey && a.Version != b.Version {
		p.Links = append(
			p.Links,
			kit.Link{
				Text: r.T("Changes from v%d to v%d", min(a.Version, b.Version), max(a.Version, b.Version)),
				Href: fmt.Sprintf("/plans/%s/diff/%d/%d", url.PathEscape(a.PlanKey), min(a.Version, b.Version), max(a.Version, b.Version)),
			},
		)
	}
	for _, k := range []struct {
		word string
		a, b []string
	}{
		{r.T("Agents"), d.A.Agents, d.B.Agents},
		{r.T("Tools"), d.A.Tools, d.B.Tools},
		{r.T("Providers"), d.A.Providers, d.B.Providers},
		{r.T("Models"), d.A.Models, d.B.Models},
	} {
		if len(k.a)+len(k.b) > 0 {
			fact(k.word, strings.Join(k.a, ", "), strings.Join(k.b, ", "))
		}
	}
	fact(r.T("Started by"), a.Actor, b.Actor)
	if !a.Usage.Zero() || !b.Usage.Zero() {
		fact(r.T("Tokens"), r.Number(a.Usage.InputTokens+a.Usage.OutputTokens), r.Number(b.Usage.InputTokens+b.Usage.OutputTokens))
		fact(r.T("Cost"), value.Cost(r.Context, a.Usage.Cost), value.Cost(r.Context, b.Usage.Cost))
	}
	fact(r.T("Steps"), strconv.FormatInt(a.Steps, 10), strconv.FormatInt(b.Steps, 10))
	// Times always differ, so they are not marked as differences.
	p.Facts = append(p.Facts,
		Row{Name: r.T("Duration"), A: kit.Duration(r.ranFor(a)), B: kit.Duration(r.ranFor(b)), Delta: delta(r.ranFor(a) - r.ranFor(b))},
		Row{Name: r.T("Started"), A: r.Time(a.CreatedAt).Text, B: r.Time(b.CreatedAt).Text})
	if d.Input.Same {
		same = append(same, r.T("Input"))
	}
	if len(same) > 0 {
		p.Same = r.T("The same") + ": " + strings.Join(same, ", ")
	}
	if err := r.changedBetween(&p, a, b); err != nil {
		return err
	}
	r.difference(&p, "input", r.T("Input"), d.Input)
	r.steps(&p, d)
	r.difference(&p, "output", r.T("Output"), d.Output)
	p.Input = r.inputDiffers(d)
	r.aligned(&p)
	p.Crumbs = kit.Crumbs{Path: []kit.Link{
		{Text: r.T("Runs"), Href: "/runs"},
		{Text: a.PlanKey, Href: "/plans/" + url.PathEscape(a.PlanKey)},
		{Text: p.A.Run.Text, Href: p.A.Run.Href, Class: "m"},
	}}
	return r.Render(http.StatusOK, Compare(p))
}

// inputDiffers describes the first difference of the inputs that is not a date, an id, or a
// duration. It returns an empty string if there is none.
func (r request) inputDiffers(d rundiff.Comparison) string {
	for _, c := range d.Input.Changes {
		if c.Volatile() {
			continue
		}
		short := func(text string) string { return kit.Escape(kit.Truncate(text, 100)) }
		path, a, b := short(c.Path), short(string(c.A)), short(string(c.B))
		runA, runB := domain.ShortID(d.A.Detail.Run.ID), domain.ShortID(d.B.Detail.Run.ID)
		switch {
		case c.Cut || path == "":
			return r.T("The input differs.")
		case c.A == nil:
			return r.T("The input differs: %s is %s in %s, and %s does not have it.", path, b, runB, runA)
		case c.B == nil:
			return r.T("The input differs: %s is %s in %s, and %s does not have it.", path, a, runA, runB)
		}
		return r.T("The input differs: %s is %s in %s and %s in %s.", path, a, runA, b, runB)
	}
	return ""
}

// changedBetween adds what else changed between the two runs: a tool's definition, kairosd's
// version, an agent, or a provider's model.
func (r request) changedBetween(p *Page, a, b domain.Run) error {
	older, newer := a, b
	if newer.CreatedAt.Before(older.CreatedAt) {
		older, newer = newer, older
	}
	text, link, err := failure.Ports{
		App:    r.App,
		Reader: r.Reader,
	}.ChangedAround(
		r.Context,
		domain.FailureGroup{Newest: newer.ID},
		domain.FailureOrigin{GoodAt: older.CreatedAt, FirstAt: newer.CreatedAt},
	)
	if err != nil || text == "" {
		return err
	}
	p.Between = r.T("Between the two: %s", text)
	p.Links = append(p.Links, link)
	return nil
}

const (
	// shownPairs is the maximum number of differences that are not folded, and pairBytes the
	// maximum size of each part.
	shownPairs = 20
	pairBytes  = 300
)

// difference adds the diff of a value, unless it is equal in both runs. It folds differences of
// dates, ids, and durations.
func (r request) difference(p *Page, id, title string, d rundiff.Value) {
	if d.Same {
		return
	}
	v := Value{ID: id, Title: title, Remark: r.T("%s left, %s right", p.A.Run.Text, p.B.Run.Text)}
	short := func(c rundiff.Change, j domain.RawJSON) string {
		if j == nil && c.Cut {
			return r.T("too long to show here")
		}
		return kit.Escape(kit.Truncate(cmp.Or(string(j), "–"), pairBytes))
	}
	if d.BytesA == 0 || d.BytesB == 0 {
		has := p.A
		if d.BytesA == 0 {
			has = p.B
		}
		v.Remark, v.Note = "", r.T("Only %s has one.", has.Run.Text)
		p.Values = append(p.Values, v)
		return
	}
	volatile := 0
	for _, c := range d.Changes {
		pair := Pair{A: short(c, c.A), Path: kit.Escape(kit.Truncate(cmp.Or(c.Path, r.T("the whole")), pairBytes)), B: short(c, c.B)}
		switch {
		case c.Volatile():
			volatile++
			v.Folded = append(v.Folded, pair)
		case len(v.Pairs) == shownPairs:
			v.Folded = append(v.Folded, pair)
		default:
			v.Pairs = append(v.Pairs, pair)
		}
	}
	switch n := len(v.Folded); volatile {
	case n:
		v.Fold = r.N(n, "%s date, ID, or duration", "%s dates, IDs, or durations")
	default:
		v.Fold = r.N(n, "%s more difference", "%s more differences")
	}
	switch {
	case d.TooLong:
		v.Note = r.T("Too long to compare here.")
	case d.More:
		v.Note = r.T("There are more differences.")
	}
	p.Values = append(p.Values, v)
}

// alignedCells is the maximum number of cells in the path summaries of the runs.
const alignedCells = 80

// aligned draws the path summaries of both runs with equal steps at equal positions. A step that is
// missing in a run is dashed.
func (r request) aligned(p *Page) {
	rows := p.Steps[:min(len(p.Steps), alignedCells)]
	if len(rows) == 0 {
		return
	}
	w := min(100.0/float64(len(rows)), 8)
	for i, row := range rows {
		for _, side := range []struct {
			into   *[]part.Cell
			status kit.Status
		}{{&p.A.Strip, row.StatusA}, {&p.B.Strip, row.StatusB}} {
			cell := part.Cell{X: kit.Percent(float64(i) * w), W: kit.Percent(w * 0.8), Y: "30%", H: "40%", Class: "g-ok"}
			switch side.status.Key {
			case "":
				cell.Class = "g-wait"
			case "fail":
				cell.Class, cell.Y, cell.H = "g-fail", "0", "100%"
			case "idle":
				cell.Class, cell.Y, cell.H = "g-idle", "45%", "10%"
			case "now", "need":
				cell.Class = "g-" + side.status.Key
			}
			*side.into = append(*side.into, cell)
		}
	}
}

// steps adds the steps of both runs, and their differences.
func (r request) steps(p *Page, d rundiff.Comparison) {
	chosen := r.Query("step")
	a, b := d.A.Detail, d.B.Detail
	address := func(label string) string {
		return "/runs/compare?" + url.Values{"a": {a.Run.ID}, "b": {b.Run.ID}, "step": {label}}.Encode() + "#difference"
	}
	side := func(run domain.Run, st *rundiff.Seen) (string, string, kit.Status) {
		if st == nil {
			return r.T("not there"), "", kit.Status{}
		}
		return kit.Duration(
				time.Duration(st.TookMs) * time.Millisecond,
			), fmt.Sprintf(
				"/runs/%s?step=%d#inspector",
				run.ID,
				st.Seq,
			), ui.StepStatus(st.Status)
	}
	for i := range d.Steps {
		st := &d.Steps[i]
		row := Row{
			Name:    kit.Escape(st.Step),
			Differs: st.Differs(), Volatile: st.Volatile(),
			First: st == d.First,
			Delta: delta(time.Duration(st.LongerMs) * time.Millisecond),
		}
		row.A, row.HrefA, row.StatusA = side(a.Run, st.A)
		row.B, row.HrefB, row.StatusB = side(b.Run, st.B)
		if st.Output != nil {
			row.Output = address(st.Step)
		}
		if st.Output != nil && st.Step == chosen {
			r.difference(p, "difference", r.T("Output of %s", kit.Escape(st.Step)), *st.Output)
		}
		if row.First {
			p.Parted, p.First = true, r.T("They first differ at %s: %s", kit.Escape(st.Step), r.partWhy(st, row))
		}
		p.Steps = append(p.Steps, row)
	}
	if d.Left > 0 {
		p.Left = r.N(d.Left, "%s more step is not shown.", "%s more steps are not shown.")
	}
}

// partWhy describes the difference of a step.
func (r request) partWhy(st *rundiff.Step, row Row) string {
	switch st.Why {
	case rundiff.WhyStatus:
		return r.T("it is %s in one and %s in the other", r.T(row.StatusA.Word), r.T(row.StatusB.Word))
	case rundiff.WhyError:
		return r.T("it failed with %s in one and with %s in the other", failedWith(st.A), failedWith(st.B))
	case rundiff.WhyEdge:
		return r.T(
			"it went to %s in one and to %s in the other",
			cmp.Or(kit.Escape(st.A.To), r.T("its end")),
			cmp.Or(kit.Escape(st.B.To), r.T("its end")),
		)
	case rundiff.WhyOutput:
		return r.T("its output differs")
	}
	return r.T("only one run has it")
}

// failedWith describes the failure of a step.
func failedWith(st *rundiff.Seen) string {
	return kit.Escape(st.Code) + " (" + kit.Escape(kit.Truncate(st.Message, 200)) + ")"
}

// ranFor returns the duration of a run, until now if it has not ended.
func (r request) ranFor(run domain.Run) time.Duration {
	if run.EndedAt.IsZero() {
		return max(r.Site.Now().Sub(run.CreatedAt), 0)
	}
	return run.EndedAt.Sub(run.CreatedAt)
}

// delta formats a difference of durations, or returns an empty string below 100 ms.
func delta(d time.Duration) string {
	switch {
	case d >= 100*time.Millisecond:
		return "+" + kit.Duration(d)
	case d <= -100*time.Millisecond:
		return "−" + kit.Duration(-d)
	}
	return ""
}
