package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// stepChips are searches of steps that people make often.
var stepChips = []struct{ word, q, sort string }{
	{locale.Mark("Failed in 24 h"), "status:failed since:24h", ""}, {locale.Mark("Slowest in 24 h"), "since:24h", "took"},
	{locale.Mark("Second tries"), "attempt:>1", ""}, {locale.Mark("All"), "", ""},
}

// steps searches attempts of steps across runs: which step is slow, which fails
// (R28).
func (r *request) steps() error {
	q, sort := strings.TrimSpace(r.c.QueryParam("q")), r.c.QueryParam("sort")
	p := view.StepsPage{Shell: r.shell("runs", "Steps"), Query: q, Sort: sort, ByTook: stepsAt(q, "took"), ByRun: stepsAt(q, "")}
	for _, c := range stepChips {
		p.Chips = append(p.Chips, view.Link{Text: r.t(c.word), Href: stepsAt(c.q, c.sort), Current: c.q == q && c.sort == sort})
	}
	f, problem := filter.ParseSteps(q, r.s.now())
	if problem != nil {
		p.Error, p.Suggestion = r.filterProblem(problem)
		return r.render(http.StatusBadRequest, view.Steps(p))
	}
	f.Page, f.Slowest = domain.Page{After: r.c.QueryParam("after")}, sort == "took"
	if n, err := strconv.Atoi(r.c.QueryParam("n")); err == nil && n > 0 {
		f.Page.Limit = min(n, 200)
	}
	hits, err := r.s.Reader.Steps(r.ctx, f)
	if err != nil {
		return err
	}
	p.Rows = r.hitRows(hits.Items)
	p.Count = r.n(len(p.Rows), "%s shown", "%s shown")
	if !hits.Whole && !hits.Since.IsZero() {
		p.Count += r.t(", of runs since %s", r.time(hits.Since).Text)
	}
	if hits.Next != "" {
		v := url.Values{"q": {q}, "after": {hits.Next}}
		p.Older = "/steps?" + v.Encode()
		if len(p.Rows) == 0 {
			p.Count += r.t(", as far as was looked: Older goes on from there, since: or plan: makes it narrower")
		}
	}
	return r.render(http.StatusOK, view.Steps(p))
}

// hitRows are attempts of steps as lists show them.
func (r *request) hitRows(hits []domain.StepHit) []view.StepHit {
	rows := make([]view.StepHit, len(hits))
	for i, h := range hits {
		rows[i] = view.StepHit{Node: visible(stepName(h.Node, h.Visit)), Href: fmt.Sprintf("/runs/%s?step=%d", h.Run, h.Seq), Status: stepStatus(h.Status), Plan: visible(h.PlanKey),
			PlanHref: "/plans/" + url.PathEscape(h.PlanKey) + "?" + url.Values{"node": {h.Node}}.Encode(), Run: domain.ShortID(h.Run), RunHref: "/runs/" + h.Run,
			Took: took(h.Took()), Code: visible(h.Code), Message: visible(cut(h.Message, 200)), At: r.time(h.At)}
		if h.Version > 0 {
			rows[i].Version = fmt.Sprintf("v%d", h.Version)
		}
		if h.Attempt > 1 {
			rows[i].Attempt = r.t("try %d", h.Attempt)
		}
		if h.Item >= 0 {
			rows[i].Node += fmt.Sprintf(" [%d]", h.Item)
		}
	}
	return rows
}
