package web

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/view"
)

// compare puts two runs side by side and names the first step at which they
// part.
func (r *request) compare() error {
	var runs [2]kairos.RunDetail
	var lists [2][]*step
	for i, key := range []string{"a", "b"} {
		found, err := r.s.Reader.FindRun(r.ctx, r.c.QueryParam(key))
		if err != nil {
			return err
		}
		if runs[i], err = r.s.Engine.Detail(r.ctx, found.ID); err != nil {
			return err
		}
		lists[i] = stepsOf(runs[i].Run, runs[i].Journal)
	}
	a, b := runs[0].Run, runs[1].Run
	p := view.ComparePage{Shell: r.shell("runs", r.t("Compare %s with %s", kairos.ShortID(a.ID), kairos.ShortID(b.ID))), First: r.t("No step differs.")}
	for i, side := range []*view.CompareSide{&p.A, &p.B} {
		run := runs[i].Run
		*side = view.CompareSide{Run: view.Link{Text: kairos.ShortID(run.ID), Href: "/runs/" + run.ID}, Status: runStatus(run.Status, run.WaitReason), Strip: r.runRow(run).Strip}
	}
	fact := func(name, x, y string) {
		p.Facts = append(p.Facts, view.CompareRow{Name: name, A: visible(x), B: visible(y), Differs: x != y})
	}
	fact(r.t("Status"), r.t(p.A.Status.Word), r.t(p.B.Status.Word))
	fact(r.t("Plan"), fmt.Sprintf("%s v%d", a.PlanKey, a.Version), fmt.Sprintf("%s v%d", b.PlanKey, b.Version))
	if a.PlanKey == b.PlanKey && a.Version != b.Version {
		p.Links = append(p.Links, view.Link{Text: r.t("What changed from v%d to v%d", min(a.Version, b.Version), max(a.Version, b.Version)), Href: fmt.Sprintf("/plans/%s/diff/%d/%d", url.PathEscape(a.PlanKey), min(a.Version, b.Version), max(a.Version, b.Version))})
	}
	if bytes.Equal(a.Input, b.Input) {
		p.Facts = append(p.Facts, view.CompareRow{Name: r.t("Input"), A: size(len(a.Input)), B: size(len(b.Input))})
	} else {
		fact(r.t("Input"), cut(string(a.Input), 300), cut(string(b.Input), 300))
		d := view.Block{ID: "input", Title: r.t("Input, from %s to %s", kairos.ShortID(b.ID), kairos.ShortID(a.ID))}
		d.Diff, d.Note = r.jsonDiff(b.Input, a.Input)
		p.Diffs = append(p.Diffs, d)
	}
	fact(r.t("Started by"), a.Actor, b.Actor)
	if a.Usage != b.Usage {
		fact(r.t("Tokens"), r.number(a.Usage.InputTokens+a.Usage.OutputTokens), r.number(b.Usage.InputTokens+b.Usage.OutputTokens))
		fact(r.t("Cost"), costText(a.Usage.Cost), costText(b.Usage.Cost))
	}
	p.Facts = append(p.Facts, view.CompareRow{Name: r.t("Took"), A: took(r.ranFor(a)), B: took(r.ranFor(b)), Delta: delta(r.ranFor(a) - r.ranFor(b))})
	p.Facts = append(p.Facts, view.CompareRow{Name: r.t("Started"), A: r.time(a.CreatedAt).Text, B: r.time(b.CreatedAt).Text})
	fact(r.t("Steps"), strconv.FormatInt(a.Steps, 10), strconv.FormatInt(b.Steps, 10))
	r.compareSteps(&p, a, b, lists)
	return r.render(http.StatusOK, view.Compare(p))
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
		return took(st.took(r.s.now())), fmt.Sprintf("/runs/%s?step=%d#inspector", run.ID, st.seq), stepStatus(st.status)
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
				why = r.t("it is %s in one and %s in the other", r.t(stepStatus(x.status).Word), r.t(stepStatus(y.status).Word))
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
