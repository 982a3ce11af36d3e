package handoffs

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	part "github.com/kairosd/kairosd/web/part/handoff"
	"github.com/kairosd/kairosd/web/part/query"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	// flowMax is the number of recent handoffs that are searched for loops.
	flowMax = 2000
	// loopMin is the number of returns between two agents from which a run has a loop.
	loopMin = 3
)

// list serves the handoffs of all runs.
func (s *section) list(c *ui.Context) error {
	q := strings.TrimSpace(c.Query("q"))
	p := listPage(c, q)
	f, problem := filter.ParseHandoffs(q, c.Site.Now())
	if problem != nil {
		p.Error, p.Suggestion = c.FilterProblem(problem)
		return c.Render(http.StatusBadRequest, List(p))
	}
	if p.OnlyLoops {
		return s.listLoops(c, &p, f)
	}
	f.Page = c.Page()
	list, err := s.Reader.HandoffsOf(c, f)
	if err != nil {
		return err
	}
	s.addRows(c, &p, q, list)
	return c.Render(http.StatusOK, List(p))
}

// addRows adds the handoffs of a page, and links the pages before and after it.
func (s *section) addRows(c *ui.Context, p *ListPage, q string, list domain.List[domain.HandoffSummary]) {
	for _, h := range list.Items {
		p.Rows = append(p.Rows, s.line(c, q, h))
	}
	at := func(key, cursor string) string {
		if cursor == "" {
			return ""
		}
		return link.With("/handoffs", url.Values{"q": {q}}, key, cursor, "n", c.Query("n"))
	}
	p.Newer, p.Older = at("before", list.Prev), at("after", list.Next)
}

// listPage is the page without its items.
func listPage(c *ui.Context, q string) ListPage {
	p := ListPage{Shell: c.Shell("handoffs", "Handoffs"), Bar: query.BarOf("/handoffs", q), OnlyLoops: c.Query("view") == "loops"}
	p.Bar.Label, p.Bar.Example = c.T("Filter handoffs"), "from:triage to:billing plan:invoice status:failed since:7d"
	p.Bar.Ranges = query.Ranges(c, "/handoffs", q)
	p.Bar.Chips = []kit.Link{
		{Text: c.T("All"), Href: link.List("/handoffs", q), Current: !p.OnlyLoops},
		{Text: c.T("Loops"), Href: link.With("/handoffs", url.Values{"view": {"loops"}}, "q", q), Current: p.OnlyLoops},
	}
	if p.OnlyLoops {
		p.Bar.Keep("view", "loops")
	}
	return p
}

// listLoops shows pairs of agents that hand off to each other.
func (s *section) listLoops(c *ui.Context, p *ListPage, f domain.HandoffFilter) error {
	f.Page = domain.Page{Limit: flowMax}
	flow, err := s.Reader.HandoffsOf(c, f)
	if err != nil {
		return err
	}
	p.Among = c.N(len(flow.Items), "Based on %s handoff", "Based on %s handoffs")
	if flow.Next != "" {
		p.Among = c.N(
			len(flow.Items),
			"Based on the newest %s matching handoff; there are older ones",
			"Based on the newest %s matching handoffs; there are older ones",
		)
	}
	p.Loops = s.loops(c, flow.Items)
	return c.Render(http.StatusOK, List(*p))
}

// line returns the row of a handoff.
func (s *section) line(c *ui.Context, q string, h domain.HandoffSummary) Line {
	return Line{
		At:      c.Time(h.At),
		Href:    "/handoffs/" + url.PathEscape(h.ID),
		From:    s.term(c, q, "from", h.From),
		To:      s.term(c, q, "to", h.To),
		Plan:    s.term(c, q, "plan", h.Plan.Key),
		Run:     kit.Link{Text: domain.ShortID(h.Run), Href: "/runs/" + h.Run + "?view=handoffs"},
		Step:    kit.Link{Text: h.Node, Href: "/runs/" + h.Run + "?step=" + url.QueryEscape(h.Node)},
		Reason:  part.Reason(c, h.Reason),
		Context: kit.Escape(kit.Truncate(h.Context, 200)),
		Size:    c.Size(len(h.Context)),
		Status:  part.Status(h.Status),
	}
}

func (s *section) term(c *ui.Context, q, key, value string) kit.Link {
	return kit.Link{
		Text: kit.Escape(value),
		Href: link.List("/handoffs", strings.TrimSpace(filter.Without(q, key)+" "+key+":"+filter.Quote(value))),
	}
}

// loops returns the runs in which two agents passed work back at least loopMin times.
func (s *section) loops(c *ui.Context, list []domain.HandoffSummary) []Loop {
	type pair struct{ run, a, b string }
	back, plan, at := map[pair]int{}, map[string]string{}, map[string]domain.HandoffSummary{}
	last := map[string]domain.HandoffSummary{} // previous handoff by run
	for _, h := range slices.Backward(list) {  // oldest first
		if p, ok := last[h.Run]; ok && p.From == h.To && p.To == h.From {
			k := pair{h.Run, min(h.From, h.To), max(h.From, h.To)}
			back[k]++
		}
		last[h.Run], plan[h.Run], at[h.Run] = h, h.Plan.Key, h
	}
	var out []Loop
	for _, k := range slices.SortedFunc(maps.Keys(back), func(a, b pair) int {
		return cmp.Or(cmp.Compare(back[b], back[a]), strings.Compare(a.run, b.run), strings.Compare(a.a, b.a))
	}) {
		if back[k] >= loopMin {
			out = append(
				out,
				Loop{
					Run:    kit.Link{Text: domain.ShortID(k.run), Href: "/runs/" + k.run + "?view=handoffs"},
					Plan:   plan[k.run],
					Agents: kit.Escape(k.a) + " ⇄ " + kit.Escape(k.b),
					Times:  c.Number(int64(back[k])),
					Last:   c.Time(at[k.run].At),
				},
			)
		}
	}
	return out
}
