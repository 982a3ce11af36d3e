package run

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
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/part/failure"
)

// bothRuns is where two runs are read from.
type bothRuns struct {
	Reader
	Engine
}

// comparison is the page that compares two runs.
type comparison struct{ *request }

// page puts two runs side by side and names the first step at which they
// part. Without a partner it is the last run of the same plan that went well.
func (r comparison) page() error {
	d, err := rundiff.Read(r.Context, bothRuns{r.Reader, r.Engine}, r.Query("a"), r.Query("b"), r.Site.Now())
	if err != nil {
		return err
	}
	a, b := d.A.Detail.Run, d.B.Detail.Run
	p := ComparePage{
		Shell: r.Shell("runs", r.T("Compare %s with %s", domain.ShortID(a.ID), domain.ShortID(b.ID))),
		First: r.T("No step differs."),
	}
	for i, side := range []*CompareSide{&p.A, &p.B} {
		run := []domain.Run{a, b}[i]
		*side = CompareSide{Run: kit.Link{Text: domain.ShortID(run.ID), Href: "/runs/" + run.ID}, Status: part.Status(r.Context, run)}
	}
	fact := func(name, x, y string) *CompareRow {
		p.Facts = append(p.Facts, CompareRow{Name: name, A: kit.Visible(x), B: kit.Visible(y), Differs: x != y})
		return &p.Facts[len(p.Facts)-1]
	}
	fact(r.T("Status"), r.T(p.A.Status.Word), r.T(p.B.Status.Word))
	fact(r.T("Plan"), fmt.Sprintf("%s v%d", a.PlanKey, a.Version), fmt.Sprintf("%s v%d", b.PlanKey, b.Version))
	if a.PlanKey == b.PlanKey && a.Version != b.Version {
		p.Links = append(
			p.Links,
			kit.Link{
				Text: r.T("What changed from v%d to v%d", min(a.Version, b.Version), max(a.Version, b.Version)),
				Href: fmt.Sprintf("/plans/%s/diff/%d/%d", url.PathEscape(a.PlanKey), min(a.Version, b.Version), max(a.Version, b.Version)),
			},
		)
	}
	r.compareValue(&p, "input", r.T("Input"), a, b, a.Input, b.Input)
	r.compareValue(&p, "output", r.T("Output"), a, b, a.Output, b.Output)
	for _, k := range []struct {
		word string
		a, b []string
	}{{r.T("Agents"), d.A.Agents, d.B.Agents}, {r.T("Tools"), d.A.Tools, d.B.Tools}, {r.T("Providers"), d.A.Providers, d.B.Providers}, {r.T("Models"), d.A.Models, d.B.Models}} {
		if x, y := strings.Join(k.a, ", "), strings.Join(k.b, ", "); x != "" || y != "" {
			fact(k.word, cmp.Or(x, "–"), cmp.Or(y, "–"))
		}
	}
	fact(r.T("Started by"), a.Actor, b.Actor)
	if !a.Usage.Zero() || !b.Usage.Zero() {
		fact(r.T("Tokens"), r.Number(a.Usage.InputTokens+a.Usage.OutputTokens), r.Number(b.Usage.InputTokens+b.Usage.OutputTokens))
		fact(r.T("Cost"), value.Cost(r.Context, a.Usage.Cost), value.Cost(r.Context, b.Usage.Cost))
	}
	fact(r.T("Steps"), strconv.FormatInt(a.Steps, 10), strconv.FormatInt(b.Steps, 10))
	slices.SortStableFunc(p.Facts, func(x, y CompareRow) int { return cmp.Compare(rank(x), rank(y)) }) // what differs first
	// Times always differ; that means nothing.
	long := fact(r.T("Duration"), kit.Took(r.ranFor(a)), kit.Took(r.ranFor(b)))
	long.Delta, long.Apart = delta(r.ranFor(a)-r.ranFor(b)), true
	fact(r.T("Started"), r.Time(a.CreatedAt).Text, r.Time(b.CreatedAt).Text).Apart = true
	if err := r.changedBetween(&p, a, b); err != nil {
		return err
	}
	r.compareSteps(&p, d)
	p.Input = r.inputDiffers(d)
	r.aligned(&p)
	return r.Render(http.StatusOK, Compare(p))
}

// inputDiffers states the first difference of the inputs that is more than another date, ID, or
// duration; empty: there is none.
func (r comparison) inputDiffers(d rundiff.Comparison) string {
	for _, c := range d.Input.Changes {
		if c.Volatile() {
			continue
		}
		short := func(text string) string { return kit.Visible(kit.Cut(text, 100)) }
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

// changedBetween reports what else changed after the older of two runs and before the
// newer: a tool's definition, kairosd, an agent, a provider's model.
func (r comparison) changedBetween(p *ComparePage, a, b domain.Run) error {
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

func rank(row CompareRow) int {
	if row.Differs {
		return 0
	}
	return 1
}

// compareValue is a row for a value of both runs, and how it differs.
func (r comparison) compareValue(p *ComparePage, id, name string, a, b domain.Run, x, y domain.RawJSON) {
	row := CompareRow{Name: name, A: r.Size(len(x)), B: r.Size(len(y))}
	if row.Differs = !bytes.Equal(x, y); row.Differs {
		row.A, row.B = kit.Visible(kit.Cut(string(x), 300)), kit.Visible(kit.Cut(string(y), 300))
		row.Output = "#" + id
		d := kit.Block{ID: id, Title: r.T("%s, from %s to %s", name, domain.ShortID(a.ID), domain.ShortID(b.ID))}
		d.Diff, d.Note = value.Diff(r.Display.Lang, x, y)
		p.Diffs = append(p.Diffs, d)
	}
	row.A, row.B = cmp.Or(row.A, "–"), cmp.Or(row.B, "–")
	p.Facts = append(p.Facts, row)
}

// alignedCells bounds the strips of two runs.
const alignedCells = 80

// aligned draws the shapes of both runs so that the same step stands at the same
// place; what one of them lacks is dashed.
func (r comparison) aligned(p *ComparePage) {
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

// compareSteps are the steps of both, and what differs.
func (r comparison) compareSteps(p *ComparePage, d rundiff.Comparison) {
	chosen := r.Query("step")
	a, b := d.A.Detail, d.B.Detail
	address := func(label string) string {
		return "/runs/compare?" + url.Values{"a": {a.Run.ID}, "b": {b.Run.ID}, "step": {label}}.Encode() + "#difference"
	}
	looks := [2]map[string]kit.Status{{}, {}}
	for i, run := range []domain.RunDetail{a, b} {
		for _, st := range stepsOf(run.Run, run.Journal) {
			looks[i][st.label()] = st.shown()
		}
	}
	cell := func(i int, run domain.Run, st *rundiff.Seen, label string) (string, string, kit.Status) {
		if st == nil {
			return r.T("not there"), "", kit.Status{}
		}
		return kit.Took(
				time.Duration(st.TookMs) * time.Millisecond,
			), fmt.Sprintf(
				"/runs/%s?step=%d#inspector",
				run.ID,
				st.Seq,
			), looks[i][label]
	}
	for i := range d.Steps {
		st := &d.Steps[i]
		row := CompareRow{
			Name:    kit.Visible(st.Step),
			Differs: st.Differs(),
			First:   st == d.First,
			Delta:   delta(time.Duration(st.LongerMs) * time.Millisecond),
		}
		row.A, row.HrefA, row.StatusA = cell(0, a.Run, st.A, st.Step)
		row.B, row.HrefB, row.StatusB = cell(1, b.Run, st.B, st.Step)
		if st.Output != nil {
			row.Output = address(st.Step)
		}
		if st.A != nil && st.B != nil && st.Step == chosen {
			block := kit.Block{
				ID:    "difference",
				Title: r.T("Output of %s, from %s to %s", kit.Visible(st.Step), domain.ShortID(a.Run.ID), domain.ShortID(b.Run.ID)),
			}
			block.Diff, block.Note = value.Diff(r.Display.Lang, st.A.Output, st.B.Output)
			p.Diffs = append(p.Diffs, block)
		}
		if row.First {
			p.Parted, p.First = true, r.T("They part at %s: %s", kit.Visible(st.Step), r.partWhy(st, row))
		}
		p.Steps = append(p.Steps, row)
	}
	if d.Left > 0 {
		p.Left = r.N(d.Left, "%s more step is not shown.", "%s more steps are not shown.")
	}
}

// partWhy reports in what a step differs.
func (r comparison) partWhy(st *rundiff.Step, row CompareRow) string {
	switch st.Why {
	case rundiff.WhyStatus:
		return r.T("it is %s in one and %s in the other", r.T(row.StatusA.Word), r.T(row.StatusB.Word))
	case rundiff.WhyError:
		return r.T("it failed with %s in one and with %s in the other", failedWith(st.A), failedWith(st.B))
	case rundiff.WhyEdge:
		return r.T(
			"it went to %s in one and to %s in the other",
			cmp.Or(kit.Visible(st.A.To), r.T("its end")),
			cmp.Or(kit.Visible(st.B.To), r.T("its end")),
		)
	case rundiff.WhyOutput:
		return r.T("its output differs")
	}
	return r.T("only one run has it")
}

// failedWith is why a step failed, in a sentence.
func failedWith(st *rundiff.Seen) string {
	return kit.Visible(st.Code) + " (" + kit.Visible(kit.Cut(st.Message, 200)) + ")"
}

// ranFor is how long a run took, or has been running.
func (r comparison) ranFor(run domain.Run) time.Duration {
	if run.EndedAt.IsZero() {
		return max(r.Site.Now().Sub(run.CreatedAt), 0)
	}
	return run.EndedAt.Sub(run.CreatedAt)
}

// delta is how much longer, or shorter, something took; "" when that is nothing
// that one would see.
func delta(d time.Duration) string {
	switch {
	case d >= 100*time.Millisecond:
		return "+" + kit.Took(d)
	case d <= -100*time.Millisecond:
		return "−" + kit.Took(-d)
	}
	return ""
}
