package web

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/diff/rundiff"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/part/failure"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/view"
)

// bothRuns is where two runs are read from.
type bothRuns struct {
	Reader
	Engine
}

// compare puts two runs side by side and names the first step at which they
// part. Without a partner it is the last run of the same plan that went well.
func (r *request) compare() error {
	d, err := rundiff.Read(r.ctx, bothRuns{r.s.Reader, r.s.Engine}, r.c.QueryParam("a"), r.c.QueryParam("b"), r.s.now())
	if err != nil {
		return err
	}
	a, b := d.A.Detail.Run, d.B.Detail.Run
	p := view.ComparePage{Shell: r.shell("runs", r.t("Compare %s with %s", domain.ShortID(a.ID), domain.ShortID(b.ID))), First: r.t("No step differs.")}
	for i, side := range []*view.CompareSide{&p.A, &p.B} {
		run := []domain.Run{a, b}[i]
		*side = view.CompareSide{Run: view.Link{Text: domain.ShortID(run.ID), Href: "/runs/" + run.ID}, Status: r.statusOf(run)}
	}
	fact := func(name, x, y string) *view.CompareRow {
		p.Facts = append(p.Facts, view.CompareRow{Name: name, A: visible(x), B: visible(y), Differs: x != y})
		return &p.Facts[len(p.Facts)-1]
	}
	fact(r.t("Status"), r.t(p.A.Status.Word), r.t(p.B.Status.Word))
	fact(r.t("Plan"), fmt.Sprintf("%s v%d", a.PlanKey, a.Version), fmt.Sprintf("%s v%d", b.PlanKey, b.Version))
	if a.PlanKey == b.PlanKey && a.Version != b.Version {
		p.Links = append(p.Links, view.Link{Text: r.t("What changed from v%d to v%d", min(a.Version, b.Version), max(a.Version, b.Version)), Href: fmt.Sprintf("/plans/%s/diff/%d/%d", url.PathEscape(a.PlanKey), min(a.Version, b.Version), max(a.Version, b.Version))})
	}
	r.compareValue(&p, "input", r.t("Input"), a, b, a.Input, b.Input)
	r.compareValue(&p, "output", r.t("Output"), a, b, a.Output, b.Output)
	for _, k := range []struct {
		word string
		a, b []string
	}{{r.t("Agents"), d.A.Agents, d.B.Agents}, {r.t("Tools"), d.A.Tools, d.B.Tools}, {r.t("Providers"), d.A.Providers, d.B.Providers}, {r.t("Models"), d.A.Models, d.B.Models}} {
		if x, y := strings.Join(k.a, ", "), strings.Join(k.b, ", "); x != "" || y != "" {
			fact(k.word, cmp.Or(x, "–"), cmp.Or(y, "–"))
		}
	}
	fact(r.t("Started by"), a.Actor, b.Actor)
	if !a.Usage.Zero() || !b.Usage.Zero() {
		fact(r.t("Tokens"), r.number(a.Usage.InputTokens+a.Usage.OutputTokens), r.number(b.Usage.InputTokens+b.Usage.OutputTokens))
		fact(r.t("Cost"), r.cost(a.Usage.Cost), r.cost(b.Usage.Cost))
	}
	fact(r.t("Steps"), strconv.FormatInt(a.Steps, 10), strconv.FormatInt(b.Steps, 10))
	slices.SortStableFunc(p.Facts, func(x, y view.CompareRow) int { return cmp.Compare(rank(x), rank(y)) }) // what differs first
	// Times always differ; that says nothing.
	long := fact(r.t("Took"), took(r.ranFor(a)), took(r.ranFor(b)))
	long.Delta, long.Apart = delta(r.ranFor(a)-r.ranFor(b)), true
	fact(r.t("Started"), r.time(a.CreatedAt).Text, r.time(b.CreatedAt).Text).Apart = true
	if err := r.changedBetween(&p, a, b); err != nil {
		return err
	}
	r.compareSteps(&p, d)
	r.aligned(&p)
	return r.render(http.StatusOK, view.Compare(p))
}

// changedBetween says what else changed after the older of two runs and before the
// newer: a tool's definition, kairosd, an agent, a provider's model.
func (r *request) changedBetween(p *view.ComparePage, a, b domain.Run) error {
	older, newer := a, b
	if newer.CreatedAt.Before(older.CreatedAt) {
		older, newer = newer, older
	}
	text, link, err := failure.Ports{App: r.s.App, Reader: r.s.Reader}.ChangedAround(r.Context, domain.FailureGroup{Newest: newer.ID}, domain.FailureOrigin{GoodAt: older.CreatedAt, FirstAt: newer.CreatedAt})
	if err != nil || text == "" {
		return err
	}
	p.Between = r.t("Between the two: %s", text)
	p.Links = append(p.Links, link)
	return nil
}

func rank(row view.CompareRow) int {
	if row.Differs {
		return 0
	}
	return 1
}

// lastGood is the newest other run of the same plan that went well; none: a zero
// run.
func (r *request) lastGood(run domain.Run) (domain.Run, error) {
	return rundiff.LastGood(r.ctx, r.s.Reader, run)
}

// compareValue is a row for a value of both runs, and how it differs.
func (r *request) compareValue(p *view.ComparePage, id, name string, a, b domain.Run, x, y domain.RawJSON) {
	row := view.CompareRow{Name: name, A: r.size(len(x)), B: r.size(len(y))}
	if row.Differs = !bytes.Equal(x, y); row.Differs {
		row.A, row.B = visible(cut(string(x), 300)), visible(cut(string(y), 300))
		row.Output = "#" + id
		d := view.Block{ID: id, Title: r.t("%s, from %s to %s", name, domain.ShortID(a.ID), domain.ShortID(b.ID))}
		d.Diff, d.Note = r.jsonDiff(x, y)
		p.Diffs = append(p.Diffs, d)
	}
	row.A, row.B = cmp.Or(row.A, "–"), cmp.Or(row.B, "–")
	p.Facts = append(p.Facts, row)
}

// alignedCells bounds the strips of two runs.
const alignedCells = 80

// aligned draws the shapes of both runs so that the same step stands at the same
// place; what one of them lacks is dashed.
func (r *request) aligned(p *view.ComparePage) {
	rows := p.Steps[:min(len(p.Steps), alignedCells)]
	if len(rows) == 0 {
		return
	}
	w := min(100.0/float64(len(rows)), 8)
	for i, row := range rows {
		for _, side := range []struct {
			into   *[]part.Cell
			status view.Status
		}{{&p.A.Strip, row.StatusA}, {&p.B.Strip, row.StatusB}} {
			cell := part.Cell{X: percent(float64(i) * w), W: percent(w * 0.8), Y: "30%", H: "40%", Class: "g-ok"}
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

// compareSteps are the steps of both, and what differs.
func (r *request) compareSteps(p *view.ComparePage, d rundiff.Comparison) {
	chosen := r.c.QueryParam("step")
	a, b := d.A.Detail, d.B.Detail
	address := func(label string) string {
		return "/runs/compare?" + url.Values{"a": {a.Run.ID}, "b": {b.Run.ID}, "step": {label}}.Encode() + "#difference"
	}
	looks := [2]map[string]view.Status{{}, {}}
	for i, run := range []domain.RunDetail{a, b} {
		for _, st := range stepsOf(run.Run, run.Journal) {
			looks[i][st.label()] = st.shown()
		}
	}
	cell := func(i int, run domain.Run, st *rundiff.Seen, label string) (string, string, view.Status) {
		if st == nil {
			return r.t("not there"), "", view.Status{}
		}
		return took(time.Duration(st.TookMs) * time.Millisecond), fmt.Sprintf("/runs/%s?step=%d#inspector", run.ID, st.Seq), looks[i][label]
	}
	for i := range d.Steps {
		st := &d.Steps[i]
		row := view.CompareRow{Name: visible(st.Step), Differs: st.Differs(), First: st == d.First, Delta: delta(time.Duration(st.LongerMs) * time.Millisecond)}
		row.A, row.HrefA, row.StatusA = cell(0, a.Run, st.A, st.Step)
		row.B, row.HrefB, row.StatusB = cell(1, b.Run, st.B, st.Step)
		if st.Output != nil {
			row.Output = address(st.Step)
		}
		if st.A != nil && st.B != nil && st.Step == chosen {
			block := view.Block{ID: "difference", Title: r.t("Output of %s, from %s to %s", visible(st.Step), domain.ShortID(a.Run.ID), domain.ShortID(b.Run.ID))}
			block.Diff, block.Note = r.jsonDiff(st.A.Output, st.B.Output)
			p.Diffs = append(p.Diffs, block)
		}
		if row.First {
			p.Parted, p.First = true, r.t("They part at %s: %s", visible(st.Step), r.partWhy(st, row))
		}
		p.Steps = append(p.Steps, row)
	}
	if d.Left > 0 {
		p.Left = r.n(d.Left, "%s more step is not shown.", "%s more steps are not shown.")
	}
}

// partWhy says in what a step differs.
func (r *request) partWhy(st *rundiff.Step, row view.CompareRow) string {
	switch st.Why {
	case rundiff.WhyStatus:
		return r.t("it is %s in one and %s in the other", r.t(row.StatusA.Word), r.t(row.StatusB.Word))
	case rundiff.WhyError:
		return r.t("it failed with %s in one and with %s in the other", failedWith(st.A), failedWith(st.B))
	case rundiff.WhyEdge:
		return r.t("it went to %s in one and to %s in the other", cmp.Or(visible(st.A.To), r.t("its end")), cmp.Or(visible(st.B.To), r.t("its end")))
	case rundiff.WhyOutput:
		return r.t("its output differs")
	}
	return r.t("only one of them has it")
}

// failedWith is why a step failed, in a sentence.
func failedWith(st *rundiff.Seen) string {
	return visible(st.Code) + " (" + visible(cut(st.Message, 200)) + ")"
}

// ranFor is how long a run took, or has been running.
func (r *request) ranFor(run domain.Run) time.Duration {
	if run.EndedAt.IsZero() {
		return max(r.s.now().Sub(run.CreatedAt), 0)
	}
	return run.EndedAt.Sub(run.CreatedAt)
}

// delta is how much longer, or shorter, something took; "" when that is nothing
// that one would see.
func delta(d time.Duration) string {
	switch {
	case d >= 100*time.Millisecond:
		return "+" + took(d)
	case d <= -100*time.Millisecond:
		return "−" + took(-d)
	}
	return ""
}
