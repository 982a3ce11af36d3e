package timeline_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/timeline"
)

var start = time.Date(2026, 3, 9, 2, 43, 32, 0, time.UTC)

func at(d time.Duration) time.Time { return start.Add(d) }

func span(from, to time.Duration) timeline.Span { return timeline.Span{From: at(from), To: at(to)} }

// A long wait without activity takes the width of a break mark. The work on both sides takes the
// rest.
func TestIdleGapsAreCut(t *testing.T) {
	t.Parallel()
	busy := []timeline.Span{
		span(0, 20*time.Second),
		span(10*time.Second, 30*time.Second),
		span(41*time.Minute, 41*time.Minute+30*time.Second),
	}
	a := timeline.NewAxis(span(0, 41*time.Minute+30*time.Second), busy, false)
	cuts := a.Cuts()
	if len(cuts) != 1 || cuts[0].Span != span(30*time.Second, 41*time.Minute) {
		t.Fatalf("cuts %v", cuts)
	}
	if x := a.X(at(30 * time.Second)); x < 48 || x > 50 {
		t.Errorf("the first half ends at %.1f %%", x)
	}
	if x := a.X(at(20 * time.Minute)); x < cuts[0].X || x > cuts[0].X+cuts[0].W {
		t.Errorf("a moment of the gap is at %.1f %%, its mark from %.1f", x, cuts[0].X)
	}
	if n := len(timeline.NewAxis(span(0, 41*time.Minute), busy, true).Cuts()); n != 0 {
		t.Errorf("%d cuts where all is asked for", n)
	}
	// A gap that is short, or a small part of the whole, is not cut.
	if n := len(timeline.NewAxis(span(0, time.Hour), []timeline.Span{span(0, 3*time.Microsecond)}, false).Cuts()); n != 0 {
		t.Errorf("a run that has only waited has %d cuts", n)
	}
	if n := len(timeline.NewAxis(span(0, time.Hour), []timeline.Span{span(0, 3*time.Millisecond)}, false).Cuts()); n != 1 {
		t.Errorf("a run that waits after its first step has %d cuts", n)
	}
	if n := len(timeline.NewAxis(span(0, 25*time.Second), nil, false).Cuts()); n != 0 {
		t.Errorf("%d cuts in 25 s", n)
	}
}

func TestTicksAreRoundAndApart(t *testing.T) {
	t.Parallel()
	label := func(a *timeline.Axis) (out []time.Duration) {
		for _, tick := range a.Ticks(start, 16) {
			out = append(out, tick.At)
		}
		return out
	}
	whole := []timeline.Span{span(0, time.Hour)}
	for _, c := range []struct {
		to   time.Duration
		want []time.Duration
	}{
		{221 * time.Second, []time.Duration{0, time.Minute, 2 * time.Minute, 3 * time.Minute}},
		{9 * time.Millisecond, []time.Duration{0, 2 * time.Millisecond, 4 * time.Millisecond, 6 * time.Millisecond, 8 * time.Millisecond}},
		{40 * time.Second, []time.Duration{0, 10 * time.Second, 20 * time.Second, 30 * time.Second}},
	} {
		if d := cmp.Diff(c.want, label(timeline.NewAxis(span(0, c.to), whole, false))); d != "" {
			t.Errorf("%s: %s", c.to, d)
		}
	}
	// The ticks of a window show the time since the start of the run.
	if got := label(timeline.NewAxis(span(65*time.Second, 125*time.Second), whole, false)); len(got) == 0 || got[0] != 70*time.Second {
		t.Errorf("ticks of a window: %v", got)
	}
}

// For any times, the axis is monotonic and within its bounds, ticks are in order and apart, and a
// union has at most as many segments as can be seen.
func TestTheAxisIsMonotone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		whole := time.Duration(rapid.Int64Range(0, int64(90*24*time.Hour)).Draw(rt, "whole"))
		if rapid.Bool().Draw(rt, "short") {
			whole %= 10 * time.Second
		}
		moment := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(-int64(time.Minute), int64(whole)+int64(time.Minute)).Draw(rt, name))
		}
		var busy []timeline.Span
		for range rapid.IntRange(0, 8).Draw(rt, "n") {
			x, y := moment("from"), moment("to")
			busy = append(busy, span(min(x, y), max(x, y)))
		}
		a := timeline.NewAxis(span(0, whole), busy, rapid.Bool().Draw(rt, "idle"))
		moments := make([]time.Duration, 20)
		for i := range moments {
			moments[i] = moment("moment")
		}
		slices.Sort(moments)
		last := 0.0
		for _, m := range moments {
			x := a.X(at(m))
			if x < last-1e-9 || x < 0 || x > 100 {
				rt.Fatalf("%s is at %v, what was before it at %v", m, x, last)
			}
			last = x
		}
		ticks := a.Ticks(start, 16)
		if len(ticks) > 14 {
			rt.Fatalf("%d ticks", len(ticks))
		}
		for i := 1; i < len(ticks); i++ {
			if ticks[i].X-ticks[i-1].X < 12-1e-9 || ticks[i].At <= ticks[i-1].At {
				rt.Fatalf("ticks %v", ticks)
			}
		}
		var segments []timeline.Segment
		for i, b := range busy {
			segments = append(segments, a.At(b, i%3))
		}
		for _, s := range timeline.Union(segments) {
			if s.X < 0 || s.X+s.W > 100+1e-9 || s.W < timeline.Least-1e-9 {
				rt.Fatalf("segment %v", s)
			}
		}
	})
}

func TestTenThousandSegmentsAreMerged(t *testing.T) {
	t.Parallel()
	a := timeline.NewAxis(span(0, time.Hour), nil, true)
	var in []timeline.Segment
	for i := range 10_000 {
		from := time.Duration(i) * 360 * time.Millisecond
		in = append(in, a.At(span(from, from+100*time.Millisecond), i%7/6))
	}
	out := timeline.Union(in)
	if len(out) > 500 {
		t.Errorf("%d segments", len(out))
	}
	if last := out[len(out)-1]; last.Kind != 0 {
		t.Errorf("what must be seen is covered by kind %d", last.Kind)
	}
}

// The height of a strip is the largest number of steps that were active at once. A strip has at most
// as many stretches as columns.
func TestADensityStripShowsTheNumberOfActiveSteps(t *testing.T) {
	t.Parallel()
	in := []timeline.Segment{{X: 0, W: 50}, {X: 0, W: 50}, {X: 25, W: 25}, {X: 25, W: 25}, {X: 75, W: 25}}
	want := []timeline.Level{{X: 0, W: 25, H: .5}, {X: 25, W: 25, H: 1}, {X: 75, W: 25, H: .25}}
	if d := cmp.Diff(want, timeline.Density(in, 4, 4)); d != "" {
		t.Error(d)
	}
	// A very short step at the beginning of a column is shown.
	short := timeline.Density([]timeline.Segment{{X: 25, W: 1e-6}}, 4, 4)
	if d := cmp.Diff([]timeline.Level{{X: 25, W: 25, H: 1}}, short); d != "" {
		t.Error(d)
	}
	rapid.Check(t, func(rt *rapid.T) {
		var in []timeline.Segment
		for range rapid.IntRange(1, 200).Draw(rt, "n") {
			x := rapid.Float64Range(0, 100).Draw(rt, "x")
			in = append(in, timeline.Segment{X: x, W: rapid.Float64Range(0, 100-x).Draw(rt, "w")})
		}
		out := timeline.Density(in, 100, 8)
		if len(out) == 0 || len(out) > 100 {
			rt.Fatalf("%d stretches", len(out))
		}
		at := 0.0
		for _, l := range out {
			if l.X < at-1e-6 || l.X+l.W > 100+1e-6 || l.H <= 0 || l.H > 1 {
				rt.Fatalf("stretches %v", out)
			}
			at = l.X + l.W
		}
	})
}

// The critical path leads from the work that ended last to its predecessors.
func TestTheCriticalChain(t *testing.T) {
	t.Parallel()
	s := time.Second
	work := []timeline.Work{
		{Node: "fetch", Span: span(0, 2*s)},
		{Node: "rates", Span: span(0, 9*s)},
		{Node: "convert", Span: span(9*s, 12*s)},
		{Node: "skipped", Span: span(12*s, 50*s), Idle: true},
		{Node: "letter", Span: span(2*s, 5*s)},
		{Node: "publish", Span: span(12*s, 14*s)},
	}
	needs := map[string][]string{"convert": {"fetch", "rates"}, "letter": {"fetch"}, "publish": {"convert", "letter", "skipped"}}
	got := timeline.Critical(work, func(n string) ([]string, []string) { return needs[n], nil })
	if d := cmp.Diff([]int{1, 2, 5}, got); d != "" {
		t.Error(d)
	}
	// A loop is followed visit by visit. A branch that led elsewhere is not included.
	work = []timeline.Work{
		{Node: "draft", Span: span(0, s), Led: "review"}, {Node: "review", Span: span(s, 2*s), Led: "draft"},
		{Node: "draft", Span: span(2*s, 4*s), Led: "review"}, {Node: "review", Span: span(4*s, 5*s), Led: "publish"},
		{Node: "publish", Span: span(5*s, 6*s)},
	}
	edges := map[string][]string{"review": {"draft"}, "draft": {"review"}, "publish": {"review"}}
	got = timeline.Critical(work, func(n string) ([]string, []string) { return nil, edges[n] })
	if d := cmp.Diff([]int{0, 1, 2, 3, 4}, got); d != "" {
		t.Error(d)
	}
	if got := timeline.Critical(nil, nil); got != nil {
		t.Error(got)
	}
}
