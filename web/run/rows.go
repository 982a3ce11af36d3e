package run

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/timeline"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
)

// The kinds of segments; the lower, the more it must be seen where rows are
// merged.
const (
	barFailed = iota
	barDoubt  // the outcome is unknown
	barHuman  // waits for a person
	barRunning
	barOK
	barIdle // skipped or cancelled
	barWait // waits for a time, a retry, a child
	barQueued
	barReused
)

// bars say how each kind looks: class, place in the row.
var bars = [...]Bar{
	barFailed: {
		Class: "g-fail",
		Y:     "28%",
		H:     "44%",
	},
	barDoubt:   {Class: "g-doubt", Y: "28%", H: "44%"},
	barHuman:   {Class: "g-human", Y: "42%", H: "16%"},
	barRunning: {Class: "g-now live-bar", Y: "28%", H: "44%"},
	barOK: {
		Class: "g-ok",
		Y:     "28%",
		H:     "44%",
	}, barIdle: {Class: "g-idle", Y: "28%", H: "44%"}, barWait: {Class: "g-wait", Y: "42%", H: "16%"},
	barQueued: {Class: "g-queue", Y: "36%", H: "28%"}, barReused: {Class: "g-reuse", Y: "30%", H: "40%"},
}

// rows draws lines, those below a line after it.
func (t *timelinePage) rows(v *Timeline, lines []line) []StepRow {
	var out []StepRow
	outside := 0
	shown := t.axis.Span()
	for _, l := range lines {
		row := t.row(l)
		windowed := t.Query("from") != "" || t.Query("to") != ""
		if windowed && len(row.Bars) == 0 && !row.Selected && !overlaps(l, shown, t.now) {
			outside += len(l.steps)
			continue
		}
		out = append(out, row)
		for _, below := range l.below {
			out = append(out, t.row(below))
		}
	}
	if outside > 0 {
		v.Outside = t.N(outside, "%s step lies outside of what is shown.", "%s steps lie outside of what is shown.")
	}
	return out
}

func overlaps(l line, shown timeline.Span, now time.Time) bool {
	return slices.ContainsFunc(l.steps, func(st *step) bool {
		return !st.started.After(shown.To) && !st.until(now).Before(shown.From)
	})
}

func (t *timelinePage) row(l line) StepRow {
	st := l.steps[0]
	row := StepRow{
		Number: cmp.Or(l.number, strconv.Itoa(st.number)),
		Name:   l.name,
		Status: t.statusOf(l),
		Kind:   t.kind(st.node),
		Sub:    l.child,
		Took:   t.tookText(l),
		Href:   t.href(url.Values{"step": {strconv.FormatInt(st.seq, 10)}, "try": nil, "tab": nil, "node": nil}) + "#inspector",
	}
	segments := map[int][]timeline.Segment{}
	add := func(from, to time.Time, kind int) { t.segment(segments, from, to, kind) }
	if l.call != nil {
		row.Number, row.Kind = "", t.T("call")
		row.Href = t.href(url.Values{"step": {strconv.FormatInt(st.seq, 10)}, "tab": {"calls"}, "try": nil, "node": nil}) + "#inspector"
		row.Status = stepStatus(l.call.Status)
		if !l.call.Usage.Zero() {
			row.Notes = t.tokenText(l.call.Usage)
		}
		kind := barOK
		if l.call.Status == domain.NodeFailed || l.call.Failure != nil {
			kind = barFailed
		}
		add(cmpTime(l.call.StartedAt, l.call.At), l.call.At, kind)
		row.Bars = t.drawn(segments)
		return row
	}
	for _, s := range l.steps {
		row.Critical = row.Critical || t.chain[s]
		t.stepBars(s, add)
	}
	row.Bars = t.drawn(segments)
	if row.Critical && len(row.Bars) > 0 { // a line below what is drawn
		from, to := 100.0, 0.0
		for _, list := range segments {
			for _, s := range list {
				from, to = min(from, s.X), max(to, s.X+s.W)
			}
		}
		row.Bars = append(row.Bars, Bar{Class: "g-crit", X: kit.Percent(from), W: kit.Percent(to - from), Y: "84%", H: "3"})
	}
	if len(l.steps) > 1 || l.fold != "" {
		t.foldOf(&row, l)
	}
	if len(l.steps) > 1 {
		row.Notes = t.groupNotes(l.steps)
		row.Dim = row.Status.Key == "idle"
		return row
	}
	row.Selected = st == t.chosen
	row.Notes = t.notes(st)
	row.Dim = st.status == domain.NodeSkipped
	if st.status == domain.NodeRunning && t.d.Run.EndedAt.IsZero() {
		row.Since = st.started.UnixMilli()
	}
	return row
}

// statusOf is the state of a line: of many, that which must be seen first.
func (t *timelinePage) statusOf(l line) kit.Status {
	loud := l.steps[0]
	for _, st := range l.steps[1:] {
		if slices.Index(loudest, st.status) < slices.Index(loudest, loud.status) {
			loud = st
		}
	}
	return loud.shown()
}

// segment adds a stretch of a row; what lies outside of the axis is not drawn.
func (t *timelinePage) segment(into map[int][]timeline.Segment, from, to time.Time, kind int) {
	shown := t.axis.Span()
	if to.Before(shown.From) || from.After(shown.To) {
		return
	}
	into[kind] = append(into[kind], t.axis.At(timeline.Span{From: from, To: to}, kind))
}

// stepBars are the segments of a step: how long it was queued, its waits, its
// attempts.
func (t *timelinePage) stepBars(st *step, add func(from, to time.Time, kind int)) {
	if st.reused {
		add(t.origin, t.origin, barReused)
		return
	}
	if st.status == domain.NodeSkipped && st.took(t.now) < time.Millisecond {
		return
	}
	if from := t.ready(st); !from.IsZero() && t.axis.X(st.started)-t.axis.X(from) >= timeline.Least {
		add(from, st.started, barQueued)
	}
	for _, w := range st.pauses(t.now) {
		kind := barWait
		if w.reason.NeedsPerson() {
			kind = barHuman
		}
		add(w.From, w.To, kind)
	}
	for i, a := range st.attempts {
		if a.inDoubt() {
			add(a.started, a.ended, barFailed)
			until := a.resolved
			if until.IsZero() {
				until = st.until(t.now)
			}
			if i+1 < len(st.attempts) {
				until = st.attempts[i+1].started
			}
			add(a.ended, until, barHuman)
			continue
		}
		kind := barOK
		switch a.status {
		case domain.NodeRunning:
			kind = barRunning
			if !t.d.Run.EndedAt.IsZero() {
				kind = barIdle
			}
		case domain.NodeFailed:
			kind = barFailed
		case domain.NodeSkipped, domain.NodeCancelled, nodeLost:
			kind = barIdle
		}
		add(a.started, t.endOf(a), kind)
	}
}

// endOf is when an attempt was over; one that runs is not.
func (t *timelinePage) endOf(a attempt) time.Time {
	if a.status == domain.NodeRunning {
		return t.whole().To
	}
	return a.ended
}

// ready is when what a step waited for was over: the end of the last need, or of
// the step that led to it. It is known only for first visits.
func (t *timelinePage) ready(st *step) time.Time {
	if st.visit > 1 || st.item >= 0 {
		return time.Time{}
	}
	var at time.Time
	needs, edges := t.before(st.node)
	for i, list := range [][]string{needs, edges} {
		for _, node := range list {
			for _, before := range t.nodes[node] {
				if i == 1 && before.led() != "" && before.led() != st.node || before.final == nil || before.reused {
					continue
				}
				if end := before.final.At; end.After(at) && !end.After(st.started) {
					at = end
				}
			}
		}
	}
	return at
}

// drawn turns segments into bars, merged to what can be seen.
func (t *timelinePage) drawn(segments map[int][]timeline.Segment) []Bar {
	var all []timeline.Segment
	for _, list := range segments {
		all = append(all, list...)
	}
	var out []Bar
	for _, s := range timeline.Union(all) {
		b := bars[s.Kind]
		b.X, b.W = kit.Percent(s.X), kit.Percent(s.W)
		switch s.Kind {
		case barDoubt:
			b.Hatch = true
		case barFailed: // distinguishable without colors: a hatch, and a notch at its end
			b.Hatch = true
			if s.W > 1.2 {
				b.Notch = kit.Percent(s.X + s.W)
			}
		case barHuman:
			b.Diamond = kit.Percent(min(s.X+s.W, 99))
		}
		out = append(out, b)
	}
	return out
}

// notes are the texts of a row beside the name.
func (t *timelinePage) notes(st *step) string {
	var out []string
	most := 1
	if i, ok := t.program.Index[st.node]; ok {
		most = t.program.Nodes[i].MaxAttempts
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
	if st.status == domain.NodeWaiting && len(st.waits) > 0 {
		w := st.waits[len(st.waits)-1]
		text := t.reason(domain.WaitReason(w.Reason))
		if !w.DueAt.IsZero() {
			text += t.T(", until %s", t.Time(w.DueAt).Text)
		}
		out = append(out, text)
	}
	return strings.Join(out, " · ")
}

// forks reports whether a node leads to more than one other.
func (t *timelinePage) forks(node string) bool {
	i, ok := t.program.Index[node]
	return ok && len(t.program.Nodes[i].Out) > 1
}

func (r *request) tokenText(u domain.Usage) string {
	n := u.InputTokens + u.OutputTokens
	if n < 1000 {
		return r.T("%s tokens", r.Number(n))
	}
	return r.T("%s tokens", r.Display.Lang.Decimal(float64(n)/1000, 1)+"k")
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

// notStarted are the rows of nodes without a step: those not taken last, with the reason; with only, just
// those.
func (t *timelinePage) notStarted(only string) []StepRow {
	var open, gone []StepRow
	for _, id := range t.missing() {
		row := StepRow{Number: "–", Name: id, Kind: t.kind(id), Dim: true, Selected: id == t.node,
			Href: t.href(url.Values{"node": {id}, "step": nil, "try": nil, "tab": nil}) + "#inspector"}
		why, not := t.notTaken(id)
		row.Status = notStarted(not).Status
		if not {
			row.Notes = why
			if only == "" || only == passed {
				gone = append(gone, row)
			}
			continue
		}
		if t.effects[t.program.Index[id]] == walk.EffectUnsafe {
			row.Notes = t.T("side effects")
		}
		if only == "" || only == todo {
			open = append(open, row)
		}
	}
	return append(open, gone...)
}
