package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/timeline"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/run/record"
)

// The kinds of segments; the lower, the more it must be seen where rows are
// merged.
const (
	BarFailed = iota
	barDoubt  // the outcome is unknown
	barHuman  // waits for a person
	barRunning
	BarOK
	barIdle // skipped or cancelled
	BarWait // waits for a time, a retry, a child
	barQueued
	barReused
)

// Bars say how each kind looks: class, place in the row.
var Bars = [...]Bar{
	BarFailed:  {Class: "g-fail", Y: "35%", H: "30%"},
	barDoubt:   {Class: "g-doubt", Y: "35%", H: "30%"},
	barHuman:   {Class: "g-human", Y: "35%", H: "30%"},
	barRunning: {Class: "g-now live-bar", Y: "35%", H: "30%"},
	BarOK:      {Class: "g-ok", Y: "35%", H: "30%"},
	barIdle:    {Class: "g-idle", Y: "35%", H: "30%"},
	BarWait:    {Class: "g-wait", Y: "35%", H: "30%"},
	barQueued:  {Class: "g-queue", Y: "45%", H: "10%"},
	barReused:  {Class: "g-reuse", Y: "35%", H: "30%"},
}

// rowBars collects what is drawn in one row.
type rowBars struct {
	*timelinePage
	segments []timeline.Segment
	waits    []namedWait
}

// namedWait is a segment with its reason.
type namedWait struct {
	timeline.Segment
	text string
	due  *Countdown
}

// add adds a stretch; what lies outside of the axis is not drawn.
func (d *rowBars) add(from, to time.Time, kind int) {
	shown := d.axis.Span()
	if to.Before(shown.From) || from.After(shown.To) {
		return
	}
	d.segments = append(d.segments, d.axis.At(timeline.Span{From: from, To: to}, kind))
}

// wait adds a stretch with its reason.
func (d *rowBars) wait(from, to time.Time, kind int, text string, due *Countdown) {
	n := len(d.segments)
	d.add(from, to, kind)
	if len(d.segments) > n && text != "" {
		d.waits = append(d.waits, namedWait{d.segments[n], text, due})
	}
}

// step adds the waits and the attempts of a step; if it has the row alone, also how long it was queued.
func (d *rowBars) step(st *record.Step, alone bool) {
	if st.Reused {
		d.add(d.origin, d.origin, barReused)
		return
	}
	if st.Status == domain.NodeSkipped && st.Took(d.now) < time.Millisecond {
		return
	}
	if from := d.ready(st); alone && !from.IsZero() && d.axis.X(st.Started)-d.axis.X(from) >= timeline.Least {
		d.wait(from, st.Started, barQueued, d.queued(from, st.Started), nil)
	}
	for _, w := range st.Pauses(d.now) {
		kind := BarWait
		switch {
		case w.Reason == domain.WaitInDoubt:
			continue // it is drawn with its attempt
		case w.Reason.NeedsPerson():
			kind = barHuman
		}
		text, due := d.waitText(st, w)
		d.wait(w.From, w.To, kind, text, due)
	}
	for i, a := range st.Attempts {
		if a.InDoubt() {
			d.doubt(st, i)
			continue
		}
		kind := BarOK
		switch a.Status {
		case domain.NodeRunning:
			kind = barRunning
			if !d.Detail.Run.EndedAt.IsZero() {
				kind = barIdle
			}
		case domain.NodeFailed:
			kind = BarFailed
		case domain.NodeSkipped, domain.NodeCancelled, record.NodeLost:
			kind = barIdle
		}
		d.add(a.Started, d.endOf(a), kind)
	}
}

// doubt adds an attempt whose outcome is or was unknown, and how long it waited for a person.
func (d *rowBars) doubt(st *record.Step, i int) {
	a := st.Attempts[i]
	d.add(a.Started, a.Ended, barDoubt)
	until := a.Resolved
	if until.IsZero() {
		until = st.Until(d.now)
	}
	if i+1 < len(st.Attempts) {
		until = st.Attempts[i+1].Started
	}
	d.wait(a.Ended, until, barHuman, d.Reason(domain.WaitInDoubt), nil)
}

// endOf is when an attempt was over; one that runs is not.
func (t *timelinePage) endOf(a record.Attempt) time.Time {
	if a.Status == domain.NodeRunning {
		return t.all.To
	}
	return a.Ended
}

// ready is when what a step waited for was over: the end of the last need, or of the step that led
// to it; of a first step, the start of the run. It is known only for first visits.
func (t *timelinePage) ready(st *record.Step) time.Time {
	if st.Visit > 1 || st.Item >= 0 {
		return time.Time{}
	}
	needs, edges := t.Before(st.Node)
	if len(needs)+len(edges) == 0 && t.Detail.Run.StartAt.IsZero() {
		return t.Detail.Run.CreatedAt
	}
	var at time.Time
	for i, list := range [][]string{needs, edges} {
		for _, node := range list {
			for _, before := range t.StepsOfNode(node) {
				if i == 1 && before.Led() != "" && before.Led() != st.Node || before.Final == nil || before.Reused {
					continue
				}
				if end := before.Final.At; end.After(at) && !end.After(st.Started) {
					at = end
				}
			}
		}
	}
	return at
}

// leastQueue is from how long on the time before a step is explained.
const leastQueue = 100 * time.Millisecond

// queued is why a step that was ready did not start: for want of a slot, unless an operator acted
// in between.
func (t *timelinePage) queued(from, to time.Time) string {
	if to.Sub(from) < leastQueue {
		return ""
	}
	for i := range t.Detail.Journal {
		if e := &t.Detail.Journal[i]; (e.Node == "" || e.Kind == domain.EntryReset) && !e.At.Before(from) && !e.At.After(to) {
			return ""
		}
	}
	return t.T("waiting for a slot")
}

// waitText is what a step waits or waited for, and a time that the text counts down to.
func (t *timelinePage) waitText(st *record.Step, w record.Pause) (text string, due *Countdown) {
	left := w.Due.Sub(t.now)
	switch open := left > 0 && !w.To.Before(t.now); {
	case w.Reason == domain.WaitRetry && open:
		text, due = t.T("retry in %s", ""), &Countdown{Until: w.Due.UnixMilli(), Left: kit.About(left)}
	case w.Reason == domain.WaitRetry:
		text = t.T("retry after %s", kit.Took(w.Len()))
	case w.Reason == domain.WaitTimer && open:
		return t.T("timer: until %s", t.Time(w.Due).Text), nil
	case w.Reason == domain.WaitTimer:
		return t.T("timer: %s", kit.Took(w.Len())), nil
	case w.Reason == domain.WaitPaused, w.Reason == domain.WaitQuarantined, w.Reason == domain.WaitHeld, w.Reason == domain.WaitInDoubt:
		return t.Reason(w.Reason), nil
	default:
		return t.T("waiting for %s", t.Reason(w.Reason)), nil
	}
	for _, a := range st.Attempts {
		if f := a.Entry.Failure; a.Number == w.Attempt && f != nil && strings.HasSuffix(f.Code, "circuit_open") {
			text = t.T("circuit open") + ", " + text
		}
	}
	return text, due
}

// drawn turns segments into bars, merged to what can be seen.
func (d *rowBars) drawn() []Bar {
	var out []Bar
	for _, s := range timeline.Union(d.segments) {
		b := Bars[s.Kind]
		b.X, b.W = kit.Percent(s.X), kit.Percent(s.W)
		switch s.Kind {
		case barDoubt:
			b.Hatch = true
		case BarFailed: // distinguishable without colors: a hatch, and a notch at its end
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

// ends are the first and the last place that something is drawn at.
func (d *rowBars) ends() (from, to float64) {
	from = 100
	for _, s := range d.segments {
		from, to = min(from, s.X), max(to, s.X+s.W)
	}
	return from, to
}

// underline is a line below what is drawn.
func (d *rowBars) underline() []Bar {
	if len(d.segments) == 0 {
		return nil
	}
	from, to := d.ends()
	return []Bar{{Class: "g-crit", X: kit.Percent(from), W: kit.Percent(to - from), Y: "80%", H: "3"}}
}

// letterWidth is how much of a narrow timeline a letter takes, in percent.
const letterWidth = 1.9

// labels are the reasons of waits: in their segments, where there is room; that of the longest beside
// everything, where there is none.
func (d *rowBars) labels() []BarLabel {
	var out []BarLabel
	at := func(w namedWait, x float64, anchor string) {
		out = append(out, BarLabel{X: kit.Percent(x), Anchor: anchor, Text: w.text, Due: w.due})
	}
	need := func(w namedWait) float64 {
		n := utf8.RuneCountInString(w.text)
		if w.due != nil {
			n += len(w.due.Left)
		}
		return letterWidth*float64(n) + 2
	}
	for _, w := range d.waits {
		if w.W >= need(w) {
			at(w, w.X+w.W/2, "middle")
		}
	}
	if len(out) > 0 || len(d.waits) == 0 {
		return out
	}
	longest := slices.MaxFunc(d.waits, func(a, b namedWait) int { return cmp.Compare(a.W, b.W) })
	if longest.W < 2 { // it explains nothing
		return nil
	}
	switch from, to := d.ends(); {
	case 100-to >= need(longest):
		at(longest, to+2.5, "start")
	case from >= need(longest):
		at(longest, from-1, "end")
	}
	return out
}

// inWords are the reasons of the waits for those who cannot see the bars.
func (d *rowBars) inWords() string {
	var out []string
	for _, w := range d.waits {
		if w.due == nil { // that is beside the name
			out = append(out, w.text)
		}
	}
	return strings.Join(out, ", ")
}

const (
	// laneItems is up to how many items of a foreach have a lane each.
	laneItems = 8
	// stripColumns and stripHeights bound a density strip.
	stripColumns = 120
	stripHeights = 8
)

// items draws a row of many steps: a few have a lane each; of more, a strip shows how many were at
// work at once, and above it what failed.
func (d *rowBars) items(merged []Bar) []Bar {
	n := len(d.segments)
	if n <= laneItems {
		return d.lanes()
	}
	var out []Bar
	for _, l := range timeline.Density(d.segments, stripColumns, stripHeights) {
		h := 10 + 60*l.H
		out = append(out, Bar{Class: "g-ok", X: kit.Percent(l.X), W: kit.Percent(l.W), Y: kit.Percent(85 - h), H: kit.Percent(h)})
	}
	for _, b := range merged { // what must be seen stands out
		if b.Class == Bars[BarOK].Class || b.Class == Bars[BarWait].Class || b.Class == Bars[barQueued].Class {
			continue
		}
		b.Notch, b.Diamond, b.Y, b.H = "", "", "15%", "70%"
		if b.Class != Bars[BarFailed].Class {
			b.Y, b.H = "76%", "9%"
		}
		out = append(out, b)
	}
	return out
}

// lanes draws each segment below the one before.
func (d *rowBars) lanes() []Bar {
	out := make([]Bar, 0, len(d.segments))
	pitch := 76 / float64(len(d.segments))
	for i, s := range d.segments {
		b := Bars[s.Kind]
		b.X, b.W = kit.Percent(s.X), kit.Percent(s.W)
		b.Y, b.H = kit.Percent(12+pitch*float64(i)+pitch*.1), kit.Percent(min(pitch*.8, 30))
		out = append(out, b)
	}
	return out
}
