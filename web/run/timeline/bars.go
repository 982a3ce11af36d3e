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

// Kinds of segments. Where segments are merged, the lowest kind wins.
const (
	BarFailed = iota
	barDoubt  // outcome unknown
	barHuman  // waiting for a person
	barRunning
	BarOK
	barIdle // skipped or cancelled
	BarWait // waiting for a time, a retry, or a child run
	barQueued
	barReused
)

// Bars are the CSS class, the vertical position, and the height of each kind.
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

// rowBars collects the segments of one row.
type rowBars struct {
	*timelinePage
	segments []timeline.Segment
	waits    []namedWait
}

// namedWait is the segment of a wait, with its reason.
type namedWait struct {
	timeline.Segment
	text string
	due  *Countdown
}

// add adds a segment, unless it is outside of the axis.
func (d *rowBars) add(from, to time.Time, kind int) {
	shown := d.axis.Span()
	if to.Before(shown.From) || from.After(shown.To) {
		return
	}
	d.segments = append(d.segments, d.axis.At(timeline.Span{From: from, To: to}, kind))
}

// wait adds the segment of a wait.
func (d *rowBars) wait(from, to time.Time, kind int, text string, due *Countdown) {
	n := len(d.segments)
	d.add(from, to, kind)
	if len(d.segments) > n && text != "" {
		d.waits = append(d.waits, namedWait{d.segments[n], text, due})
	}
}

// step adds the waits and attempts of a step. If alone, it also adds the time in the queue.
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
			continue // drawn with its attempt
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

// doubt adds an attempt that is or was in doubt, and the time until it was resolved.
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

// endOf returns the end of an attempt, or of the axis if the attempt is running.
func (t *timelinePage) endOf(a record.Attempt) time.Time {
	if a.Status == domain.NodeRunning {
		return t.all.To
	}
	return a.Ended
}

// ready returns when a step was ready to start: the end of its last dependency or of the step that
// led to it, or the start of the run for a first step. It returns zero if this is unknown, and for
// repeated iterations and foreach items.
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

// leastQueue is the minimum time in the queue for which the reason is shown.
const leastQueue = 100 * time.Millisecond

// queued returns why a step that was ready did not start: it waited for a slot. It returns an empty
// string if an operator acted in between.
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

// waitText describes a wait, and returns the countdown of its end, if there is one.
func (t *timelinePage) waitText(st *record.Step, w record.Pause) (text string, due *Countdown) {
	left := w.Due.Sub(t.now)
	switch open := left > 0 && !w.To.Before(t.now); {
	case w.Reason == domain.WaitRetry && open:
		text, due = t.T("retry in %s", ""), &Countdown{Until: w.Due.UnixMilli(), Left: kit.ApproxDuration(left)}
	case w.Reason == domain.WaitRetry:
		text = t.T("retry after %s", kit.Duration(w.Len()))
	case w.Reason == domain.WaitTimer && open:
		return t.T("timer: until %s", t.Time(w.Due).Text), nil
	case w.Reason == domain.WaitTimer:
		return t.T("timer: %s", kit.Duration(w.Len())), nil
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

// drawn converts segments to bars. It merges segments that overlap or are too small to distinguish.
func (d *rowBars) drawn() []Bar {
	var out []Bar
	for _, s := range timeline.Union(d.segments) {
		b := Bars[s.Kind]
		b.X, b.W = kit.Percent(s.X), kit.Percent(s.W)
		switch s.Kind {
		case barDoubt:
			b.Hatch = true
		case BarFailed: // hatch and notch, to be distinguishable without colors
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

// ends returns the start of the first and the end of the last segment, in percent.
func (d *rowBars) ends() (from, to float64) {
	from = 100
	for _, s := range d.segments {
		from, to = min(from, s.X), max(to, s.X+s.W)
	}
	return from, to
}

// underline returns a line below all segments.
func (d *rowBars) underline() []Bar {
	if len(d.segments) == 0 {
		return nil
	}
	from, to := d.ends()
	return []Bar{{Class: "g-crit", X: kit.Percent(from), W: kit.Percent(to - from), Y: "80%", H: "3"}}
}

// letterWidth is the width of a character on a narrow timeline, in percent.
const letterWidth = 1.9

// labels returns the reasons of the waits that fit into their segments. If none fits, it returns
// the reason of the longest wait, next to all segments.
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
	if longest.W < 2 { // too short to matter
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

// inWords returns the reasons of the waits as text, for screen readers.
func (d *rowBars) inWords() string {
	var out []string
	for _, w := range d.waits {
		if w.due == nil { // others are next to the name
			out = append(out, w.text)
		}
	}
	return strings.Join(out, ", ")
}

const (
	// laneItems is the maximum number of foreach items with a lane each.
	laneItems = 8
	// stripColumns and stripHeights are the resolution of a density strip.
	stripColumns = 120
	stripHeights = 8
)

// items draws a row with many steps. Few steps get a lane each. Otherwise, a strip shows how many
// were active at once, with the failures on top.
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
	for _, b := range merged { // draws failures and other exceptions on top
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

// lanes draws each segment below the previous one.
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
