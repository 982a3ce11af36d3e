package timeline

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/timeline"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/run/record"
)

// shown returns the rows within the time range, each followed by the rows below it.
func (t *timelinePage) shown(v *Timeline, lines []line) []line {
	out := make([]line, 0, len(lines))
	outside := 0
	windowed := t.Query("from") != "" || t.Query("to") != ""
	for _, l := range lines {
		if windowed && !t.selected(l) && !t.inWindow(l) {
			outside += len(l.steps)
			continue
		}
		out = append(append(out, l), l.below...)
	}
	if outside > 0 {
		v.Outside = t.N(outside, "%s step is outside the visible range.", "%s steps are outside the visible range.")
	}
	return out
}

// inWindow reports whether a row has a segment in the time range. A step begins when it is ready.
// Reused results are drawn at the start.
func (t *timelinePage) inWindow(l line) bool {
	shown := t.axis.Span()
	return slices.ContainsFunc(l.steps, func(st *record.Step) bool {
		from, to := st.Started, st.Until(t.now)
		switch ready := t.ready(st); {
		case st.Reused && t.origin.Equal(shown.From):
			return true
		case len(l.steps) == 1 && !ready.IsZero() && ready.Before(from):
			from = ready
		}
		return !from.After(shown.To) && !to.Before(shown.From)
	})
}

// selected reports whether a row contains the selected step.
func (t *timelinePage) selected(l line) bool {
	switch {
	case l.never != "":
		return l.name == t.Node
	case l.call != nil || len(l.steps) != 1:
		return false
	}
	return l.steps[0] == t.Chosen
}

// row converts a line to a row.
func (t *timelinePage) row(l line) StepRow {
	if l.never != "" {
		return t.neverRow(l)
	}
	st := l.steps[0]
	row := StepRow{
		Name:   l.name,
		Status: t.statusOf(l),
		Kind:   t.ActionOf(st.Node),
		Sub:    l.child,
		Took:   t.tookText(l),
		Href:   t.Href(url.Values{"step": {strconv.FormatInt(st.Seq, 10)}, "try": nil, "tab": nil, "node": nil}) + "#inspector",
	}
	d := &rowBars{timelinePage: t}
	switch {
	case l.call != nil:
		t.callRow(&row, l, d)
		return row
	case l.before:
		row.Kind, row.Href = "", t.foldHref(l.fold, anywhere)
	}
	for _, s := range l.steps {
		row.Critical = row.Critical || t.chain[s]
		d.step(s, len(l.steps) == 1)
	}
	row.Bars = d.drawn()
	if row.Critical {
		row.Bars = append(row.Bars, d.underline()...)
	}
	if len(l.steps) > 1 || l.fold != "" {
		t.foldOf(&row, l)
	}
	if len(l.steps) > 1 {
		if l.node != "" {
			row.Bars = d.items(row.Bars)
			row.Notes = t.groupNotes(l.steps)
		}
		row.Dim = row.Status.Key == "idle"
		return row
	}
	row.Selected = t.selected(l)
	row.Notes, row.Due = t.notes(st)
	row.Labels, row.Waits = d.labels(), d.inWords()
	row.Median = t.median(st)
	row.Dim = st.Status == domain.NodeSkipped
	if st.Status == domain.NodeRunning && t.Detail.Run.EndedAt.IsZero() {
		row.Since = st.Started.UnixMilli()
	}
	return row
}

// callRow fills the row of a call within a step.
func (t *timelinePage) callRow(row *StepRow, l line, d *rowBars) {
	row.Kind = t.T("call")
	row.Href = t.Href(url.Values{"step": {strconv.FormatInt(l.steps[0].Seq, 10)}, "tab": {"calls"}, "try": nil, "node": nil}) + "#inspector"
	row.Status = record.StepStatus(l.call.Status)
	if !l.call.Usage.Zero() {
		row.Notes = t.tokenText(l.call.Usage)
	}
	kind := BarOK
	if l.call.Status == domain.NodeFailed || l.call.Failure != nil {
		kind = BarFailed
	}
	d.add(record.TimeOr(l.call.StartedAt, l.call.At), l.call.At, kind)
	row.Bars = d.drawn()
}

// median returns the position of the step's median duration, or an empty string if it is unknown or
// not on the axis.
func (t *timelinePage) median(st *record.Step) string {
	flow, err := t.Flow()
	n := flow.Nodes[st.Node]
	if err != nil || n == nil || n.Settled <= n.Failed || st.Reused || st.Status == domain.NodeSkipped { // on an error, omit the mark
		return ""
	}
	from, at := t.axis.X(st.Started), t.axis.X(st.Started.Add(n.P50))
	if at-from < 3*timeline.Least || at >= 100 || st.Started.Before(t.axis.Span().From) {
		return ""
	}
	return kit.Percent(at)
}

// statusOf returns the state of a row, or the most important state of several steps.
func (t *timelinePage) statusOf(l line) kit.Status { return t.loudestOf(l).Shown() }

func (t *timelinePage) loudestOf(l line) *record.Step {
	loud := l.steps[0]
	for _, st := range l.steps[1:] {
		if slices.Index(record.Loudest, st.Status) < slices.Index(record.Loudest, loud.Status) {
			loud = st
		}
	}
	return loud
}

// notes returns the texts next to the name, and the countdown at their end.
func (t *timelinePage) notes(st *record.Step) (string, *Countdown) {
	var out []string
	most := 1
	if i, ok := t.Program.Index[st.Node]; ok {
		most = t.Program.Nodes[i].MostAttempts()
		if t.Effects[i] == walk.EffectUnsafe {
			out = append(out, t.T("side effects"))
		}
	}
	if st.Reused {
		out = append(out, t.T("from %s", domain.ShortID(t.Detail.Run.ForkedFrom)))
	}
	if n := len(st.Attempts); n > 1 || n == 1 && most > 1 && st.Failed() {
		out = append(out, t.T("%s of %s attempts", strconv.Itoa(n), strconv.Itoa(max(most, n))))
	}
	if slices.ContainsFunc(st.Attempts, record.Attempt.InDoubt) && st.Status != domain.NodeInDoubt {
		out = append(out, t.T("was in doubt"))
	}
	var usage domain.Usage
	for _, c := range st.Calls {
		usage = usage.Add(c.Usage)
	}
	if st.Final != nil {
		usage = usage.Add(st.Final.Usage)
	}
	if !usage.Zero() {
		out = append(out, t.tokenText(usage))
	}
	if st.Final != nil {
		switch d := st.Decision(); {
		case d.To != "" && t.forks(st.Node):
			out = append(out, "→ "+d.To)
		case d.Ended != "":
			out = append(out, t.T("ended: %s", t.Constant(d.Ended)))
		}
	}
	if st.Status == domain.NodeCompleted && st.Final != nil && st.Final.Kind == domain.EntryResult && st.Final.Reason != "" && !st.Reused {
		out = append(out, kit.Escape(kit.Truncate(st.Final.Reason, 80)))
	}
	if st.Status == domain.NodeSkipped && st.Final != nil && st.Final.Failure != nil {
		out = append(out, kit.Escape(kit.Truncate(st.Final.Failure.Message, 80)))
	}
	if st.Status == domain.NodeSkipped && st.Last.Reason != "" {
		out = append(out, kit.Truncate(t.Constant(st.Last.Reason), 80))
	}
	var due *Countdown
	if pauses := st.Pauses(t.now); st.Status == domain.NodeWaiting && len(pauses) > 0 {
		var text string
		text, due = t.waitText(st, pauses[len(pauses)-1])
		out = append(out, text)
	}
	return strings.Join(out, " · "), due
}

// forks reports whether a step has several outgoing edges.
func (t *timelinePage) forks(node string) bool {
	i, ok := t.Program.Index[node]
	return ok && len(t.Program.Nodes[i].Out) > 1
}

func (t *timelinePage) tokenText(u domain.Usage) string {
	n := u.InputTokens + u.OutputTokens
	if n < 1000 {
		return t.T("%s tokens", t.Number(n))
	}
	return t.T("%s tokens", t.Display.Lang.Decimal(float64(n)/1000, 1)+"k")
}

// groupNotes returns the number of steps in each state.
func (t *timelinePage) groupNotes(steps []*record.Step) string {
	count := map[string]int{}
	for _, st := range steps {
		count[st.State()]++
	}
	var out []string
	for _, key := range record.LoudStates {
		if n := count[key]; n > 0 {
			out = append(out, t.Number(int64(n))+" "+t.T(record.WordOf(key).Word))
		}
	}
	return strings.Join(out, " · ")
}

// notStarted returns the rows of steps that did not start, with the reasons. The failed step is
// first, and those that were not taken are last. only filters by state.
func (t *timelinePage) notStarted(only string) []line {
	var failed, open, gone []line
	for _, id := range t.Missing() {
		l := line{node: id, name: id}
		l.never, l.why = t.NoStep(id)
		switch {
		case only != "" && only != l.never:
		case l.never == record.Passed:
			gone = append(gone, l)
		case l.never == "failed":
			failed = append(failed, l)
		default:
			open = append(open, l)
		}
	}
	return slices.Concat(failed, open, gone)
}

// neverRow returns the row of a step that did not start.
func (t *timelinePage) neverRow(l line) StepRow {
	row := StepRow{Name: l.name, Kind: t.ActionOf(l.node), Status: record.WordOf(l.never), Notes: l.why, Selected: t.selected(l),
		Dim: l.never != "failed", Href: t.Href(url.Values{"node": {l.node}, "step": nil, "try": nil, "tab": nil}) + "#inspector"}
	if l.never == record.Todo && t.Effects[t.Program.Index[l.node]] == walk.EffectUnsafe {
		row.Notes = t.T("side effects")
	}
	return row
}
