package web

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/view"
)

const (
	// flowMax is how many of the newest handoffs loops are looked for in.
	flowMax = 2000
	// loopMin: so often has work gone from one to another and back where it is a loop.
	loopMin = 3
)

// allHandoffs is who gave what to whom, in all runs.
func (r *request) allHandoffs() error {
	q := strings.TrimSpace(r.c.QueryParam("q"))
	p := view.HandoffsPage{Shell: r.shell("handoffs", "Handoffs"), Query: q, Ranges: r.rangesAt("/handoffs", q), Loops: r.c.QueryParam("view") == "loops"}
	p.Views = []view.Link{{Text: r.t("All"), Href: listAt("/handoffs", q), Current: !p.Loops}, {Text: r.t("Loops"), Href: with("/handoffs", url.Values{"view": {"loops"}}, "q", q), Current: p.Loops}}
	f, problem := filter.ParseHandoffs(q, r.s.now())
	if problem != nil {
		p.Error, p.Suggestion = r.filterProblem(problem)
		return r.render(http.StatusBadRequest, view.AllHandoffs(p))
	}
	if p.Loops {
		f.Page = domain.Page{Limit: flowMax}
		flow, err := r.s.Reader.HandoffsOf(r.ctx, f)
		if err != nil {
			return err
		}
		p.Among = r.n(len(flow.Items), "Made of %s handoff", "Made of %s handoffs")
		if flow.Next != "" {
			p.Among = r.n(len(flow.Items), "Made of the newest %s handoff that matches; there are older ones", "Made of the newest %s handoffs that match; there are older ones")
		}
		p.Rows2 = r.loops(flow.Items)
		return r.render(http.StatusOK, view.AllHandoffs(p))
	}
	f.Page = r.page()
	list, err := r.s.Reader.HandoffsOf(r.ctx, f)
	if err != nil {
		return err
	}
	for _, h := range list.Items {
		p.Rows = append(p.Rows, view.HandoffLine{At: r.time(h.At), Href: "/handoffs/" + url.PathEscape(h.ID), From: r.handoffTerm(q, "from", h.From), To: r.handoffTerm(q, "to", h.To), Plan: r.handoffTerm(q, "plan", h.Plan),
			Run: view.Link{Text: domain.ShortID(h.Run), Href: "/runs/" + h.Run + "?view=handoffs"}, Step: view.Link{Text: h.Node, Href: "/runs/" + h.Run + "?step=" + url.QueryEscape(h.Node)},
			Reason: r.handoffReason(h.Reason), Context: visible(cut(h.Context, 200)), Size: r.size(len(h.Context)), Status: handoffStatus(h.Status)})
	}
	at := func(key, cursor string) string {
		if cursor == "" {
			return ""
		}
		return with("/handoffs", url.Values{"q": {q}}, key, cursor, "n", r.c.QueryParam("n"))
	}
	p.Newer, p.Older = at("before", list.Prev), at("after", list.Next)
	return r.render(http.StatusOK, view.AllHandoffs(p))
}

func (r *request) handoffTerm(q, key, value string) view.Link {
	return view.Link{Text: visible(value), Href: listAt("/handoffs", strings.TrimSpace(filter.Without(q, key)+" "+key+":"+filter.Quote(value)))}
}

// loops are runs in which work went from one agent to another and back more than twice.
func (r *request) loops(list []domain.HandoffSeen) []view.HandoffLoop {
	type pair struct{ run, a, b string }
	back, plan, at := map[pair]int{}, map[string]string{}, map[string]domain.HandoffSeen{}
	last := map[string]domain.HandoffSeen{}   // the handoff before, by run
	for _, h := range slices.Backward(list) { // oldest first
		if p, ok := last[h.Run]; ok && p.From == h.To && p.To == h.From {
			k := pair{h.Run, min(h.From, h.To), max(h.From, h.To)}
			back[k]++
		}
		last[h.Run], plan[h.Run], at[h.Run] = h, h.Plan, h
	}
	var out []view.HandoffLoop
	for _, k := range slices.SortedFunc(maps.Keys(back), func(a, b pair) int {
		return cmp.Or(cmp.Compare(back[b], back[a]), strings.Compare(a.run, b.run), strings.Compare(a.a, b.a))
	}) {
		if back[k] >= loopMin {
			out = append(out, view.HandoffLoop{Run: view.Link{Text: domain.ShortID(k.run), Href: "/runs/" + k.run + "?view=handoffs"}, Plan: plan[k.run], Agents: visible(k.a) + " ⇄ " + visible(k.b),
				Times: r.number(int64(back[k])), Last: r.time(at[k.run].At)})
		}
	}
	return out
}
