package home

import (
	"slices"
	"time"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/ui"
)

// facts are the data from which the situation is derived.
type facts struct {
	Began    []time.Time // start of each problem
	Requests int         // pending approvals and steps in doubt
	Now      time.Time
}

// mostSince returns the time since which more than half of the problems began, if it is within the
// last 24 hours. It returns the zero time otherwise, and for fewer than three problems.
func (f facts) mostSince() time.Time {
	if len(f.Began) < 3 {
		return time.Time{}
	}
	began := slices.SortedFunc(slices.Values(f.Began), func(a, b time.Time) int { return b.Compare(a) })
	at := began[len(began)/2]
	if f.Now.Sub(at) > 24*time.Hour {
		return time.Time{}
	}
	return at
}

// state returns the situation in one sentence.
func (f facts) state(c *ui.Context) string {
	switch since := f.mostSince(); {
	case len(f.Began) > 0 && !since.IsZero():
		return c.N(len(f.Began), "%s problem, most of them since %s", "%s problems, most of them since %s",
			since.In(c.Display.Zone).Format("15:04"))
	case len(f.Began) > 0:
		return c.N(len(f.Began), "%s problem", "%s problems")
	case f.Requests > 0:
		return c.N(f.Requests, "No problems; %s request waits for a decision", "No problems; %s requests wait for a decision")
	}
	return c.T("All well")
}

// situationSection builds the section with the situation. If nothing needs attention, it includes
// the time of the last failure.
func (s *section) situationSection(c *ui.Context) (templ.Component, error) {
	counts, err := s.Reader.RunCounts(c)
	if err != nil {
		return nil, err
	}
	groups, err := s.App.Failures.List(c, c.Principal.Actor(), homeGroups)
	if err != nil {
		return nil, err
	}
	f := facts{Now: c.Site.Now(), Requests: int(counts.Waiting[domain.WaitApproval] + counts.Waiting[domain.WaitInDoubt])}
	for _, g := range groups {
		f.Began = append(f.Began, g.First)
	}
	waiting, err := s.Reader.Runs(c, domain.RunFilter{WaitReasons: waitsForPerson, Page: domain.Page{Limit: homeRows}})
	if err != nil {
		return nil, err
	}
	for _, run := range waiting.Items {
		f.Began = append(f.Began, run.CreatedAt)
	}
	p := SituationSection{Sentence: f.state(c)}
	if p.Well = len(f.Began) == 0 && f.Requests == 0; p.Well {
		if p.Last, err = s.lastFailure(c); err != nil {
			return nil, err
		}
	}
	return Situation(p), nil
}
