package run

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/timeline"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
)

// shown are the lines that are in the window, each followed by those below it.
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

// inWindow reports whether a line has something to draw in the window: a step from when it was ready until
// it ended. Results that were taken over are drawn at the origin.
func (t *timelinePage) inWindow(l line) bool {
	shown := t.axis.Span()
	return slices.ContainsFunc(l.steps, func(st *step) bool {
		from, to := st.started, st.until(t.now)
		switch ready := t.ready(st); {
		case st.reused && t.origin.Equal(shown.From):
			return true
		case len(l.steps) == 1 && !ready.IsZero() && ready.Before(from):
			from = ready
		}
		return !from.After(shown.To) && !to.Before(shown.From)
	})
}

// selected reports whether a line is that of the chosen step or node.
func (t *timelinePage) selected(l line) bool {
	switch {
	case l.never != "":
		return l.name == t.node
	case l.call != nil || len(l.steps) != 1:
		return false
	}
	return l.steps[0] == t.chosen
}

// row draws a line.
func (t *timelinePage) row(l line) StepRow {
	if l.never != "" {
		return t.neverRow(l)
	}
	st := l.steps[0]
	row := StepRow{
		Name:   l.name,
		Status: t.statusOf(l),
		Kind:   t.does(st.node),
		Sub:    l.child,
		Took:   t.tookText(l),
		Href:   t.href(url.Values{"step": {strconv.FormatInt(st.seq, 10)}, "try": nil, "tab": nil, "node": nil}) + "#inspector",
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
	row.Dim = st.status == domain.NodeSkipped
	if st.status == domain.NodeRunning && t.d.Run.EndedAt.IsZero() {
		row.Since = st.started.UnixMilli()
	}
	return row
}

// callRow is the row of a call inside of a step.
func (t *timelinePage) callRow(row *StepRow, l line, d *rowBars) {
	row.Kind = t.T("call")
	row.Href = t.href(url.Values{"step": {strconv.FormatInt(l.steps[0].seq, 10)}, "tab": {"calls"}, "try": nil, "node": nil}) + "#inspector"
	row.Status = stepStatus(l.call.Status)
	if !l.call.Usage.Zero() {
		row.Notes = t.tokenText(l.call.Usage)
	}
	kind := barOK
	if l.call.Status == domain.NodeFailed || l.call.Failure != nil {
		kind = barFailed
	}
	d.add(cmpTime(l.call.StartedAt, l.call.At), l.call.At, kind)
	row.Bars = d.drawn()
}

// median marks how long a step usually takes, from its start; empty: unknown, or not on the axis.
func (t *timelinePage) median(st *step) string {
	flow, err := t.flow()
	n := flow.Nodes[st.node]
	if err != nil || n == nil || n.Settled <= n.Failed || st.reused || st.status == domain.NodeSkipped { // a hint
		return ""
	}
	from, at := t.axis.X(st.started), t.axis.X(st.started.Add(n.P50))
	if at-from < 3*timeline.Least || at >= 100 || st.started.Before(t.axis.Span().From) {
		return ""
	}
	return kit.Percent(at)
}

// statusOf is the state of a line: of many, that which must be seen first.
func (t *timelinePage) statusOf(l line) kit.Status { return t.loudestOf(l).shown() }

func (t *timelinePage) loudestOf(l line) *step {
	loud := l.steps[0]
	for _, st := range l.steps[1:] {
		if slices.Index(loudest, st.status) < slices.Index(loudest, loud.status) {
			loud = st
		}
	}
	return loud
}

// notes are the texts of a row beside the name, and a time that the last of them counts down to.
func (t *timelinePage) notes(st *step) (string, *Countdown) {
	var out []string
	most := 1
	if i, ok := t.program.Index[st.node]; ok {
		most = t.program.Nodes[i].MostAttempts()
		if t.effects[i] == walk.EffectUnsafe {
			out = append(out, t.T("side effects"))
		}
	}
	if st.reused {
		out = append(out, t.T("from %s", domain.ShortID(t.d.Run.ForkedFrom)))
	}
	if n := len(st.attempts); n > 1 || n == 1 && most > 1 && st.failed() {
		out = append(out, t.T("%s of %s attempts", strconv.Itoa(n), strconv.Itoa(max(most, n))))
	}
	if slices.ContainsFunc(st.attempts, attempt.inDoubt) && st.status != domain.NodeInDoubt {
		out = append(out, t.T("was in doubt"))
	}
	var usage domain.Usage
	for _, c := range st.calls {
		usage = usage.Add(c.Usage)
	}
	if st.final != nil {
		usage = usage.Add(st.final.Usage)
	}
	if !usage.Zero() {
		out = append(out, t.tokenText(usage))
	}
	if st.final != nil {
		switch d := st.decision(); {
		case d.To != "" && t.forks(st.node):
			out = append(out, "→ "+d.To)
		case d.Ended != "":
			out = append(out, t.T("ended: %s", t.Constant(d.Ended)))
		}
	}
	if st.status == domain.NodeCompleted && st.final != nil && st.final.Kind == domain.EntryResult && st.final.Reason != "" && !st.reused {
		out = append(out, kit.Visible(kit.Cut(st.final.Reason, 80)))
	}
	if st.status == domain.NodeSkipped && st.final != nil && st.final.Failure != nil {
		out = append(out, kit.Visible(kit.Cut(st.final.Failure.Message, 80)))
	}
	if st.status == domain.NodeSkipped && st.last.Reason != "" {
		out = append(out, kit.Cut(t.Constant(st.last.Reason), 80))
	}
	var due *Countdown
	if pauses := st.pauses(t.now); st.status == domain.NodeWaiting && len(pauses) > 0 {
		var text string
		text, due = t.waitText(st, pauses[len(pauses)-1])
		out = append(out, text)
	}
	return strings.Join(out, " · "), due
}

// forks reports whether a node leads to more than one other.
func (t *timelinePage) forks(node string) bool {
	i, ok := t.program.Index[node]
	return ok && len(t.program.Nodes[i].Out) > 1
}

func (t *timelinePage) tokenText(u domain.Usage) string {
	n := u.InputTokens + u.OutputTokens
	if n < 1000 {
		return t.T("%s tokens", t.Number(n))
	}
	return t.T("%s tokens", t.Display.Lang.Decimal(float64(n)/1000, 1)+"k")
}

// groupNotes counts the states of many steps.
func (t *timelinePage) groupNotes(steps []*step) string {
	count := map[string]int{}
	for _, st := range steps {
		count[st.state()]++
	}
	var out []string
	for _, key := range loudStates {
		if n := count[key]; n > 0 {
			out = append(out, t.Number(int64(n))+" "+t.T(wordOf(key).Word))
		}
	}
	return strings.Join(out, " · ")
}

// notStarted are the lines of nodes without a step: one that failed first, those not taken last, with the
// reason; with only, just those.
func (t *timelinePage) notStarted(only string) []line {
	var failed, open, gone []line
	for _, id := range t.missing() {
		l := line{node: id, name: id}
		l.never, l.why = t.noStep(id)
		switch {
		case only != "" && only != l.never:
		case l.never == passed:
			gone = append(gone, l)
		case l.never == "failed":
			failed = append(failed, l)
		default:
			open = append(open, l)
		}
	}
	return slices.Concat(failed, open, gone)
}

// neverRow is the row of a node without a step.
func (t *timelinePage) neverRow(l line) StepRow {
	row := StepRow{Name: l.name, Kind: t.does(l.node), Status: wordOf(l.never), Notes: l.why, Selected: t.selected(l),
		Dim: l.never != "failed", Href: t.href(url.Values{"node": {l.node}, "step": nil, "try": nil, "tab": nil}) + "#inspector"}
	if l.never == todo && t.effects[t.program.Index[l.node]] == walk.EffectUnsafe {
		row.Notes = t.T("side effects")
	}
	return row
}
