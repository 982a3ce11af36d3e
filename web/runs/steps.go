package runs

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

// stepChips are common step searches.
var stepChips = []struct{ word, q, sort string }{
	{locale.Mark("Failed in 24 h"), "status:failed since:24h", ""}, {locale.Mark("Slowest in 24 h"), "since:24h", "took"},
	{locale.Mark("Retries"), "attempt:>1", ""}, {locale.Mark("All"), "", ""},
}

// steps serves the search of step attempts across runs, for example for slow or failing steps.
func (s *section) steps(c *ui.Context) error {
	q, sort := strings.TrimSpace(c.Query("q")), c.Query("sort")
	p := StepsPage{Shell: c.Shell("runs", "Steps"), Query: q, Sort: sort, ByTook: link.Steps(q, "took"), ByRun: link.Steps(q, "")}
	for _, o := range stepChips {
		p.Chips = append(p.Chips, kit.Link{Text: c.T(o.word), Href: link.Steps(o.q, o.sort), Current: o.q == q && o.sort == sort})
	}
	f, problem := filter.ParseSteps(q, c.Site.Now())
	if problem != nil {
		p.Error, p.Suggestion = c.FilterProblem(problem)
		return c.Render(http.StatusBadRequest, Steps(p))
	}
	f.Page, f.Slowest = domain.Page{After: c.Query("after")}, sort == "took"
	if n, err := strconv.Atoi(c.Query("n")); err == nil && n > 0 {
		f.Page.Limit = min(n, 200)
	}
	hits, err := s.Reader.Steps(c, f)
	if err != nil {
		return err
	}
	addHits(c, &p, hits)
	return c.Render(http.StatusOK, Steps(p))
}

// addHits adds the found steps, and how far the search went.
func addHits(c *ui.Context, p *StepsPage, hits domain.StepHits) {
	p.Rows = part.StepHits(c, hits.Items)
	p.Count = c.N(len(p.Rows), "%s shown", "%s shown")
	if !hits.Whole && !hits.Since.IsZero() {
		p.Count += c.T(", of runs since %s", c.Time(hits.Since).Text)
	}
	if hits.Next != "" {
		v := url.Values{"q": {p.Query}, "after": {hits.Next}}
		p.Older = "/steps?" + v.Encode()
		if len(p.Rows) == 0 {
			p.Count += c.T(" so far. Select Older to continue the search, or narrow it with since: or plan:")
		}
	}
}
