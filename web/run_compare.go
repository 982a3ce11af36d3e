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

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/view"
)

// compare puts two runs side by side and names the first step at which they
// part. Without a partner it is the last run of the same plan that went well.
func (r *request) compare() error {
	var runs [2]kairos.RunDetail
	var lists [2][]*step
	var uses [2][]kairos.Use
	for i, key := range []string{"a", "b"} {
		name := r.c.QueryParam(key)
		if key == "b" && name == "" {
			good, err := r.lastGood(runs[0].Run)
			if err != nil {
				return err
			}
			if name = good.ID; name == "" {
				return kairos.Errorf(kairos.CodeNotFound, "no other run of %s went well, to compare run %s with", runs[0].Run.PlanKey, kairos.ShortID(runs[0].Run.ID)).Suggest("name a run in the address: &b=")
			}
		}
		found, err := r.s.Reader.FindRun(r.ctx, name)
		if err != nil {
			return err
		}
		if runs[i], err = r.s.Engine.Detail(r.ctx, found.ID); err != nil {
			return err
		}
		if uses[i], err = r.s.Reader.Uses(r.ctx, found.ID); err != nil {
			return err
		}
		lists[i] = stepsOf(runs[i].Run, runs[i].Journal)
	}
	a, b := runs[0].Run, runs[1].Run
	p := view.ComparePage{Shell: r.shell("runs", r.t("Compare %s with %s", kairos.ShortID(a.ID), kairos.ShortID(b.ID))), First: r.t("No step differs.")}
	for i, side := range []*view.CompareSide{&p.A, &p.B} {
		run := runs[i].Run
		*side = view.CompareSide{Run: view.Link{Text: kairos.ShortID(run.ID), Href: "/runs/" + run.ID}, Status: r.statusOf(run)}
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
	for _, k := range []struct{ kind, word string }{{kairos.UseAgent, r.t("Agents")}, {kairos.UseTool, r.t("Tools")}, {kairos.UseProvider, r.t("Providers")}} {
		if x, y := namesOf(uses[0], k.kind), namesOf(uses[1], k.kind); x != "" || y != "" {
			fact(k.word, cmp.Or(x, "–"), cmp.Or(y, "–"))
		}
	}
	fact(r.t("Started by"), a.Actor, b.Actor)
	if !a.Usage.Zero() || !b.Usage.Zero() {
		fact(r.t("Tokens"), r.number(a.Usage.InputTokens+a.Usage.OutputTokens), r.number(b.Usage.InputTokens+b.Usage.OutputTokens))
		fact(r.t("Cost"), costText(a.Usage.Cost), costText(b.Usage.Cost))
	}
	fact(r.t("Steps"), strconv.FormatInt(a.Steps, 10), strconv.FormatInt(b.Steps, 10))
	slices.SortStableFunc(p.Facts, func(x, y view.CompareRow) int { return cmp.Compare(rank(x), rank(y)) }) // what differs first
	// Times always differ; that says nothing.
	long := fact(r.t("Took"), took(r.ranFor(a)), took(r.ranFor(b)))
	long.Delta, long.Apart = delta(r.ranFor(a)-r.ranFor(b)), true
	fact(r.t("Started"), r.time(a.CreatedAt).Text, r.time(b.CreatedAt).Text).Apart = true
	r.compareSteps(&p, a, b, lists)
	r.aligned(&p)
	return r.render(http.StatusOK, view.Compare(p))
}

func rank(row view.CompareRow) int {
	if row.Differs {
		return 0
	}
	return 1
}

// lastGood is the newest run of the same plan that went well; none: a zero run.
func (r *request) lastGood(run kairos.Run) (kairos.Run, error) {
	good, err := r.s.Reader.Runs(r.ctx, kairos.RunFilter{Statuses: []kairos.RunStatus{kairos.RunCompleted}, PlanKey: run.PlanKey, Page: kairos.Page{Limit: 2}})
	if err != nil {
		return kairos.Run{}, err
	}
	for _, o := range good.Items {
		if o.ID != run.ID {
			return o, nil
		}
	}
	return kairos.Run{}, nil
}

func namesOf(uses []kairos.Use, kind string) string {
	var out []string
	for _, u := range uses {
		if u.Kind == kind {
			out = append(out, u.Name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// compareValue is a row for a value of both runs, and how it differs.
func (r *request) compareValue(p *view.ComparePage, id, name string, a, b kairos.Run, x, y kairos.RawJSON) {
	row := view.CompareRow{Name: name, A: size(len(x)), B: size(len(y))}
	if row.Differs = !bytes.Equal(x, y); row.Differs {
		row.A, row.B = visible(cut(string(x), 300)), visible(cut(string(y), 300))
		row.Output = "#" + id
		d := view.Block{ID: id, Title: r.t("%s, from %s to %s", name, kairos.ShortID(b.ID), kairos.ShortID(a.ID))}
		d.Diff, d.Note = r.jsonDiff(y, x)
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
			into   *[]view.Cell
			status view.Status
		}{{&p.A.Strip, row.StatusA}, {&p.B.Strip, row.StatusB}} {
			cell := view.Cell{X: percent(float64(i) * w), W: percent(w * 0.8), Y: "30%", H: "40%", Class: "g-ok"}
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

// compareRows bounds how many steps are compared on one page.
const compareRows = 1000

func (r *request) compareSteps(p *view.ComparePage, a, b kairos.Run, lists [2][]*step) {
	chosen := r.c.QueryParam("step")
	address := func(label string) string {
		return "/runs/compare?" + url.Values{"a": {a.ID}, "b": {b.ID}, "step": {label}}.Encode() + "#difference"
	}
	others := map[string]*step{}
	for _, st := range lists[1] {
		others[st.label()] = st
	}
	cell := func(run kairos.Run, st *step) (string, string, view.Status) {
		if st == nil {
			return r.t("not there"), "", view.Status{}
		}
		return took(st.took(r.s.now())), fmt.Sprintf("/runs/%s?step=%d#inspector", run.ID, st.seq), st.shown()
	}
	first := true
	add := func(x, y *step, name string) {
		row := view.CompareRow{Name: name, Differs: true}
		row.A, row.HrefA, row.StatusA = cell(a, x)
		row.B, row.HrefB, row.StatusB = cell(b, y)
		why := r.t("only one of them has it")
		if x != nil && y != nil {
			switch {
			case x.status != y.status:
				why = r.t("it is %s in one and %s in the other", r.t(x.shown().Word), r.t(y.shown().Word))
			case chosenEdge(x) != chosenEdge(y):
				why = r.t("it went to %s in one and to %s in the other", chosenEdge(x), chosenEdge(y))
			case !bytes.Equal(x.last.Output, y.last.Output):
				why, row.Output = r.t("its output differs"), address(name)
			default:
				row.Differs = false
			}
			row.Delta = delta(x.took(r.s.now()) - y.took(r.s.now()))
			if name == chosen {
				d := view.Block{ID: "difference", Title: r.t("Output of %s, from %s to %s", name, kairos.ShortID(b.ID), kairos.ShortID(a.ID))}
				d.Diff, d.Note = r.jsonDiff(y.last.Output, x.last.Output)
				p.Diffs = append(p.Diffs, d)
			}
		}
		if row.Differs && first {
			first, row.First = false, true
			p.First = r.t("They part at %s: %s", name, why)
		}
		p.Steps = append(p.Steps, row)
	}
	for _, st := range lists[0][:min(len(lists[0]), compareRows)] {
		other := others[st.label()]
		delete(others, st.label())
		add(st, other, st.label())
	}
	for _, st := range lists[1] {
		if others[st.label()] != nil && len(p.Steps) < 2*compareRows {
			add(nil, st, st.label())
		}
	}
}

// chosenEdge is where a step led.
func chosenEdge(st *step) string {
	if st.final == nil {
		return ""
	}
	return decision(st.final.Decision).To
}

// ranFor is how long a run took, or has been running.
func (r *request) ranFor(run kairos.Run) time.Duration {
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
