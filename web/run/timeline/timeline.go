// Package timeline contains the timeline view of a run.
package timeline

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/timeline"
	"github.com/kairosd/kairosd/web/run/record"
)

// timelinePage builds the timeline view.
type timelinePage struct {
	*record.Record
	now    time.Time
	axis   *timeline.Axis
	origin time.Time
	chain  map[*record.Step]bool // critical path, or nil unless requested
	open   map[string]int        // expanded rows, with the number of the first shown item, or anywhere
	all    timeline.Span         // from the run's creation to its end, or until now
}

// line is a row before it is drawn: a step, a group of steps, or a call within a step.
type line struct {
	steps []*record.Step
	node  string // step of the plan, or empty if the line has several
	name  string
	fold  string // key that expands the row, or empty
	child bool
	call  *domain.Entry
	below []line
	// before is set for the group of completed steps before the one that needs attention.
	before bool
	from   int // number of the first item below it, from 1, or 0 if folded
	// never is the state of a step that did not start, and why the reason.
	never, why string
}

// Of returns the timeline of a run.
func Of(b *record.Record) *Timeline {
	t := &timelinePage{Record: b, now: b.Site.Now(), open: map[string]int{}}
	for _, fold := range strings.Split(b.Query("open"), ",") {
		key, from, _ := strings.Cut(fold, "@")
		if key == "" {
			continue
		}
		t.open[key] = anywhere
		if first, err := strconv.Atoi(from); err == nil && first > 0 {
			t.open[key] = first
		}
	}
	t.all = t.whole()
	v := &Timeline{}
	if !b.Detail.Run.Status.Final() && b.Detail.Damage == nil && (b.Query("step") != "" || b.Query("node") != "") {
		v.Follow = &kit.Link{Text: b.T("Follow"), Href: b.Href(url.Values{"step": nil, "node": nil, "try": nil, "tab": nil})}
	}
	t.critical(v)
	t.scale(v)
	t.counts(v)
	lines := t.lines()
	t.sort(v, lines)
	lines = append(t.shown(v, t.foldBefore(lines)), t.notStarted(b.Query("only"))...)
	from, to, pages := ui.RowPage(t.Context, len(lines), pageRows, slices.IndexFunc(lines, t.selected), t.Href)
	for _, l := range lines[from:to] { // draw only the rows of this page
		v.Rows = append(v.Rows, t.row(l))
	}
	v.Pages = pages
	v.Pages.Swaps = true
	return v
}

// whole returns the time from the run's creation to its end, or until now.
func (t *timelinePage) whole() timeline.Span {
	run := t.Detail.Run
	all := timeline.Span{From: run.CreatedAt, To: t.now}
	switch {
	case !run.EndedAt.IsZero():
		all.To = run.EndedAt
	case t.Detail.Damage != nil: // the journal ends at the damage
		all.To = run.CreatedAt.Add(time.Millisecond)
	}
	for _, st := range t.Steps { // runs and steps read the clock separately
		if !st.Reused && st.Started.Before(all.From) {
			all.From = st.Started
		}
		if end := st.Until(t.now); !st.Reused && end.After(all.To) {
			all.To = end
		}
	}
	return all
}

// scale builds the axis of the whole run or of a time range, without idle gaps.
func (t *timelinePage) scale(v *Timeline) {
	all := t.all
	t.origin = all.From
	shown := all
	moment := func(key string) (time.Time, bool) {
		d, err := time.ParseDuration(t.Query(key))
		return all.From.Add(d), err == nil && d >= 0 && d < all.Len()
	}
	from, hasFrom := moment("from")
	to, hasTo := moment("to")
	if hasFrom {
		shown.From = from
	}
	if hasTo && to.After(shown.From) {
		shown.To = to
	}
	var busy []timeline.Span
	for _, st := range t.Steps {
		for _, a := range st.Attempts {
			if !st.Reused {
				busy = append(busy, timeline.Span{From: a.Started, To: t.endOf(a)})
			}
		}
	}
	idle := t.Query("idle") == "show"
	t.axis = timeline.NewAxis(shown, busy, idle)
	t.ticks(v, hasFrom, hasTo)
	t.cuts(v, idle)
	t.windows(v, all, hasTo)
}

// windows adds links to time ranges: all, from the failure, the last minute, and the critical path.
func (t *timelinePage) windows(v *Timeline, all timeline.Span, hasTo bool) {
	from, critical := t.Query("from"), t.chain != nil
	choice := func(text, key, value string, current bool) {
		set := url.Values{"from": nil, "to": nil, "critical": nil}
		if key != "" {
			set.Set(key, value)
		}
		v.Windows = append(v.Windows, kit.Link{Text: text, Href: t.Href(set), Current: current, Swaps: true})
	}
	choice(t.T("All"), "", "", from == "" && !hasTo && !critical)
	if all.Len() > time.Second {
		if i := slices.IndexFunc(t.Steps, func(st *record.Step) bool { return st.Failed() && !st.Reused }); i >= 0 {
			if at := t.Steps[i].Started.Sub(all.From).Truncate(time.Millisecond); at > 0 {
				choice(t.T("Failing part"), "from", at.String(), from == at.String() && !hasTo)
			}
		}
		if all.Len() > 2*time.Minute {
			at := (all.Len() - time.Minute).Truncate(time.Second)
			choice(t.T("Last minute"), "from", at.String(), from == at.String() && !hasTo)
		}
	}
	if len(t.Steps) > 1 {
		choice(t.T("Critical path"), "critical", "show", critical)
	}
}

// ticks adds marks at round times. A click on the first mark sets the start of the range, and a
// click on a later one its end.
func (t *timelinePage) ticks(v *Timeline, hasFrom, hasTo bool) {
	for _, tick := range t.axis.Ticks(t.origin, 20) {
		k := Tick{X: kit.Percent(tick.X), Label: roundTime(tick.At)}
		if tick.At > 0 || hasFrom {
			key, set := "from", url.Values{"from": {tick.At.String()}}
			if hasFrom && !hasTo && t.origin.Add(tick.At).After(t.axis.Span().From) {
				key, set = "to", url.Values{"to": {tick.At.String()}}
			} else {
				set["to"] = nil
			}
			k.Href = t.Href(set)
			k.Action = t.T("Show from %s on", k.Label)
			if key == "to" {
				k.Action = t.T("Show until %s", k.Label)
			}
		}
		v.Ticks = append(v.Ticks, k)
	}
}

// roundTime formats a time since the start: 0, 30 s, 2m, 1h 30m.
func roundTime(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + " s"
	}
	text := kit.Duration(d)
	for _, zero := range []string{" 0s", " 0m", " 0h"} {
		text = strings.TrimSuffix(text, zero)
	}
	return text
}

// cuts adds the gaps that the axis omits, with what the run waited for.
func (t *timelinePage) cuts(v *Timeline, idle bool) {
	type why struct {
		record.Pause
		node string
	}
	var waits []why
	for _, st := range t.Steps {
		for _, w := range st.Pauses(t.now) {
			waits = append(waits, why{w, st.Label()})
		}
	}
	lastX := -20.0
	for _, c := range t.axis.Cuts() {
		text := t.T("%s idle", kit.Duration(c.Len()))
		var most time.Duration
		for _, w := range waits {
			from, to := w.From, w.To
			if from.Before(c.From) {
				from = c.From
			}
			if to.After(c.To) {
				to = c.To
			}
			if d := to.Sub(from); d > most {
				most, text = d, t.T("%s waiting for %s at %s", kit.Duration(c.Len()), t.Reason(w.Reason), w.node)
			}
		}
		cut := Cut{X: kit.Percent(c.X), W: kit.Percent(c.W), Text: text}
		if c.X-lastX >= 10 {
			cut.Label, lastX = kit.Duration(c.Len()), c.X
		}
		v.Cuts = append(v.Cuts, cut)
	}
	switch {
	case idle:
		v.Idle = &kit.Link{Text: t.T("Hide idle time"), Href: t.Href(url.Values{"idle": nil})}
	case len(v.Cuts) > 0:
		v.Idle = &kit.Link{Text: t.T("Show idle time"), Href: t.Href(url.Values{"idle": {"show"}})}
	}
}

// critical finds the critical path: the chain of steps that determined the end of the run.
func (t *timelinePage) critical(v *Timeline) {
	if len(t.Steps) < 2 || t.Query("critical") == "" {
		return
	}
	work := make([]timeline.Work, len(t.Steps))
	for i, st := range t.Steps {
		work[i] = timeline.Work{
			Node: st.Node,
			Span: timeline.Span{From: st.Started, To: st.Until(t.now)},
			Led:  st.Led(),
			Idle: st.Status == domain.NodeSkipped || st.Reused,
		}
	}
	t.chain = map[*record.Step]bool{}
	var names []string
	var sum time.Duration
	for _, i := range timeline.Critical(work, t.Before) {
		t.chain[t.Steps[i]] = true
		names = append(names, t.Steps[i].Label())
		sum += work[i].Len()
	}
	if n := len(names); n > 8 {
		names = slices.Concat(names[:3], []string{"…"}, names[n-4:])
	}
	v.Chain = t.T("%s: %s of work in a run of %s.", strings.Join(names, " → "), kit.Duration(sum), kit.Duration(t.all.Len()))
}

// counts adds the number of steps in each state, with links that filter by it. A foreach counts as
// one step, in the most important state of its items.
func (t *timelinePage) counts(v *Timeline) {
	only := t.Query("only")
	count := map[string]int{}
	for _, id := range t.Missing() {
		state, _ := t.NoStep(id)
		count[state]++
	}
	visits := map[record.VisitKey]*record.Step{}
	for _, st := range t.Steps {
		k := record.VisitKey{Node: st.Node, Visit: st.Visit, Item: -1}
		if was := visits[k]; was == nil || slices.Index(record.Loudest, st.Status) < slices.Index(record.Loudest, was.Status) {
			visits[k] = st
		}
	}
	for _, st := range visits {
		count[st.State()]++
	}
	n := len(visits) + len(t.Missing())
	v.Counts = append(
		v.Counts,
		kit.Link{Text: t.N(n, "%s step", "%s steps"), Href: t.Href(url.Values{"only": nil, "rows": nil}), Current: only == ""},
	)
	for _, l := range record.StepStates {
		if n := count[l.Key]; n > 0 || only == l.Key {
			v.Counts = append(
				v.Counts,
				kit.Link{
					Text:    t.Number(int64(n)) + " " + t.T(l.Status.Word),
					Icon:    l.Status.Icon,
					Class:   l.Status.Key,
					Href:    t.Href(url.Values{"only": {l.Key}, "rows": nil}),
					Current: only == l.Key,
				},
			)
		}
	}
}

// lines returns the rows: one per step, with the items of a foreach below it. For very many
// executions, it returns one row per step of the plan.
func (t *timelinePage) lines() []line {
	only := t.Query("only")
	var groups [][]*record.Step
	index := map[record.VisitKey]int{}
	byNode := len(t.Steps) > groupFrom
	for _, st := range t.Steps {
		if only != "" && !st.Is(only) {
			continue
		}
		k := record.VisitKey{Node: st.Node, Visit: st.Visit, Item: -1}
		if byNode {
			k.Visit = 0
		} else if st.Item < 0 {
			groups = append(groups, []*record.Step{st})
			continue
		}
		i, ok := index[k]
		if !ok {
			i = len(groups)
			index[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], st)
	}
	out := make([]line, 0, len(groups))
	for _, g := range groups {
		if first := g[0]; len(g) == 1 && (byNode || first.Item < 0) {
			out = append(out, t.single(first, false))
			continue
		}
		out = append(out, t.group(g, byNode))
	}
	return out
}

// sort orders the rows by start, duration, or state.
func (t *timelinePage) sort(v *Timeline, lines []line) {
	by := t.Query("sort")
	head := func(key, text string) kit.Link {
		l := kit.Link{Text: text, Href: t.Href(url.Values{"sort": {key}, "rows": nil}), Current: by == key}
		if key == "" || l.Current {
			l.Href = t.Href(url.Values{"sort": nil, "rows": nil})
		}
		return l
	}
	v.SortTook, v.SortStatus = head("took", t.T("Duration")), head("status", t.T("Step"))
	switch by {
	case "took":
		slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(t.tookOf(b), t.tookOf(a)) })
	case "status":
		rank := func(l line) int {
			least := 9
			for _, st := range l.steps {
				least = min(least, slices.Index(record.Loudest, st.Status))
			}
			return least
		}
		slices.SortStableFunc(lines, func(a, b line) int { return rank(a) - rank(b) })
	}
}

// tookOf returns the duration of a row, from the first start to the last end.
func (t *timelinePage) tookOf(l line) time.Duration {
	if l.call != nil {
		return l.call.At.Sub(record.TimeOr(l.call.StartedAt, l.call.At))
	}
	from, to := l.steps[0].Started, l.steps[0].Until(t.now)
	for _, st := range l.steps[1:] {
		if st.Started.Before(from) {
			from = st.Started
		}
		if end := st.Until(t.now); end.After(to) {
			to = end
		}
	}
	return max(to.Sub(from), 0)
}

// tookText returns the duration of a row, or "–" if the damage of the journal hides it.
func (t *timelinePage) tookText(l line) string {
	if l.call == nil && len(l.steps) == 1 && l.steps[0].Status == record.NodeLost {
		return "–"
	}
	return kit.Duration(t.tookOf(l))
}
