package timeline

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"

	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/run/record"
)

const (
	// groupFrom is the number of step executions above which a timeline has one row per step of the
	// plan.
	groupFrom = 300
	// pageRows is the number of rows of a page.
	pageRows = 300
	// foldItems is the maximum number of items of a foreach that are not folded.
	foldItems = 5
	// foldPage is the number of items that an expanded foreach shows at once.
	foldPage = 50
	// foldFailures is the maximum number of failures that are shown below a folded row.
	foldFailures = 5
)

// single returns the row of a step, and the rows of its calls if it is expanded.
func (t *timelinePage) single(st *record.Step, child bool) line {
	l := line{steps: []*record.Step{st}, node: st.Node, name: st.Label(), child: child}
	if len(st.Calls) > 0 {
		l.fold = strconv.FormatInt(st.Seq, 10)
		if t.open[l.fold] != 0 {
			for _, c := range st.Calls {
				what, _ := part.Call(c)
				l.below = append(l.below, line{steps: l.steps, name: kit.Escape(what), child: true, call: c})
			}
		}
	}
	return l
}

// group returns one row for several steps. Failed and selected steps are shown below it, and the
// others when it is expanded.
func (t *timelinePage) group(g []*record.Step, byNode bool) line {
	of := g[0]
	l := line{steps: g, node: of.Node, fold: of.Node}
	visits := map[int]bool{}
	for _, st := range g {
		visits[st.Visit] = true
	}
	switch {
	case byNode:
		l.name = of.Node + " ×" + t.Number(int64(len(g)))
	default:
		l.name = kit.StepName(of.Node, of.Visit) + " ×" + t.Number(int64(len(g)))
		if of.Visit > 1 {
			l.fold += "#" + strconv.Itoa(of.Visit)
		}
	}
	few := len(g) <= foldItems
	if few {
		l.fold = ""
	}
	slices.SortStableFunc(g, func(a, b *record.Step) int { // items start in any order
		return cmp.Or(cmp.Compare(a.Visit, b.Visit), cmp.Compare(a.Item, b.Item))
	})
	first := t.firstShown(l)
	l.from = first
	failures := 0
	for i, st := range g {
		show := few || first > 0 && i >= first-1 && i < first-1+foldPage || st == t.Chosen
		if st.Failed() && first == 0 && failures < foldFailures {
			failures++
			show = true
		}
		if show {
			l.below = append(l.below, t.single(st, true))
		}
	}
	return l
}

const (
	// foldAll is the key of the fold of the steps before the one that needs attention.
	foldAll = "*"
	// foldLines is the minimum number of rows to fold before that step. foldShown is the number of
	// rows that remain visible.
	foldLines = 9
	foldShown = 3
)

// foldBefore folds the completed steps before the first step that is active or needs attention, so
// that it is in view. It folds nothing if the rows are sorted or filtered.
func (t *timelinePage) foldBefore(lines []line) []line {
	for _, set := range []string{"sort", "only", "from", "to", "critical"} {
		if t.Query(set) != "" {
			return lines
		}
	}
	i := slices.IndexFunc(lines, func(l line) bool {
		return slices.Index(record.Loudest, t.loudestOf(l).Status) < slices.Index(record.Loudest, domain.NodeCompleted)
	})
	if i < foldLines {
		return lines
	}
	all := line{fold: foldAll, before: true, name: t.N(i-foldShown, "%s earlier step", "%s earlier steps")}
	for _, l := range lines[:i-foldShown] {
		all.steps = append(all.steps, l.steps...)
		if slices.Contains(l.steps, t.Chosen) {
			all.below = append(all.below, l)
		}
	}
	if t.open[foldAll] != 0 {
		all.below, i = nil, foldShown
	}
	return slices.Insert(slices.Clone(lines[i-foldShown:]), 0, all)
}

// anywhere is the position of a fold that opens at the page of the selected or failed item.
const anywhere = -1

// firstShown returns the number of the first item that an expanded row shows, from 1, or 0 if it is
// folded.
func (t *timelinePage) firstShown(l line) int {
	first := t.open[l.fold]
	if first != anywhere {
		return min(first, len(l.steps))
	}
	i := slices.Index(l.steps, t.Chosen)
	if i < 0 {
		i = max(slices.IndexFunc(l.steps, (*record.Step).Failed), 0)
	}
	return i/foldPage*foldPage + 1
}

// foldOf sets the link that expands or folds a row.
func (t *timelinePage) foldOf(row *StepRow, l line) {
	if l.fold == "" {
		return
	}
	n := len(l.steps)
	if n == 1 {
		n = len(l.steps[0].Calls)
	}
	row.Open = t.open[l.fold] != 0
	row.Fold = &kit.Link{Text: t.N(n, "show %s", "show all %s"), Icon: "i-right", Href: t.foldHref(l.fold, anywhere)}
	if !row.Open {
		return
	}
	row.Fold.Text, row.Fold.Icon, row.Fold.Href = t.T("fold"), "i-down", t.foldHref(l.fold, 0)
	if l.from == 0 || n <= foldPage {
		return
	}
	row.Items = t.T("%s to %s of %s", t.Number(int64(l.from)), t.Number(int64(min(l.from+foldPage-1, n))), t.Number(int64(n)))
	if l.from > 1 {
		row.ItemPages = append(row.ItemPages, kit.Link{Text: t.T("Previous"), Href: t.foldHref(l.fold, max(l.from-foldPage, 1))})
	}
	if l.from+foldPage <= n {
		row.ItemPages = append(row.ItemPages, kit.Link{Text: t.T("Next"), Href: t.foldHref(l.fold, l.from+foldPage)})
	}
}

// foldHref returns the address of this page with a row expanded at item from, or folded if from
// is 0.
func (t *timelinePage) foldHref(fold string, from int) string {
	open := maps.Clone(t.open)
	open[fold] = from
	keys := []string{}
	for _, key := range slices.Sorted(maps.Keys(open)) {
		switch first := open[key]; {
		case first > 0:
			keys = append(keys, key+"@"+strconv.Itoa(first))
		case first == anywhere:
			keys = append(keys, key)
		}
	}
	set := url.Values{"open": nil, "rows": nil}
	if len(keys) > 0 {
		set.Set("open", strings.Join(keys, ","))
	}
	return t.Href(set)
}
