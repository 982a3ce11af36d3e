package plans

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/run"
)

const (
	scatterRuns = 200
	// marksMax is the maximum number of versions marked in a scatter plot.
	marksMax = 12
)

// overview fills in the key figures and the scatter plot of run durations.
func (b *planPage) overview() error {
	runs, err := b.Reader.LastRuns(b, b.stored.Key, scatterRuns)
	if err != nil {
		return err
	}
	slices.Reverse(runs) // oldest first
	ends, err := b.Reader.PlanOutcomes(b, b.stored.Key, b.Site.Now().AddDate(0, 0, -rateDays))
	if err != nil {
		return err
	}
	b.page.Figures = append(b.page.Figures, b.success(ends), b.count(ends), b.duration(runs))
	return b.scatter(runs)
}

// success returns the figure for the share of completed runs among completed and failed runs.
func (b *planPage) success(ends map[domain.RunStatus]int64) Figure {
	ok, failed := ends[domain.RunCompleted], ends[domain.RunFailed]
	out := Figure{Title: b.T("Success rate"), Value: "–", Remark: b.T("no run ended in %d days", rateDays)}
	if all := ok + failed; all > 0 {
		out.Value = b.Display.Lang.Percent(float64(ok) / float64(all))
		out.Remark = b.T("in %d days", rateDays)
		out.Parts = bar([]int64{ok, failed}, []string{"g-ok", "g-fail"})
	}
	if failed > 0 {
		out.Bad, out.Remark = true, b.N(int(failed), "%s failed in %d days", "%s failed in %d days", rateDays)
		out.Href = link.List("/runs", fmt.Sprintf("status:failed since:%dd plan:%s", rateDays, filter.Quote(b.stored.Key)))
	}
	return out
}

// count returns the figure for the number of ended runs.
func (b *planPage) count(ends map[domain.RunStatus]int64) Figure {
	all := ends[domain.RunCompleted] + ends[domain.RunFailed] + ends[domain.RunCancelled]
	out := Figure{Title: b.T("Runs"), Value: b.Context.Number(all), Remark: b.T("ended in %d days", rateDays)}
	if n := ends[domain.RunCancelled]; n > 0 {
		out.Remark = b.N(int(n), "%s cancelled in %d days", "%s cancelled in %d days", rateDays)
	}
	return out
}

// duration returns the figure for the median duration of completed runs.
func (b *planPage) duration(runs []domain.Run) Figure {
	var done []time.Duration
	for _, r := range runs {
		if r.Status == domain.RunCompleted {
			done = append(done, length(r, b.Site.Now()))
		}
	}
	out := Figure{Title: b.T("Median duration"), Value: "–", Remark: b.T("no run completed")}
	if slices.Sort(done); len(done) > 0 {
		out.Value = kit.Duration(done[len(done)/2])
		out.Remark = b.N(len(done), "p95 %[2]s, of %[1]s run", "p95 %[2]s, of %[1]s runs", kit.Duration(done[len(done)*95/100]))
	}
	return out
}

// bar returns the cells of a stacked bar, one per count above zero.
func bar(counts []int64, classes []string) []run.Cell {
	var all, before int64
	for _, n := range counts {
		all += n
	}
	var out []run.Cell
	for i, n := range counts {
		if n > 0 {
			out = append(out, run.Cell{Class: classes[i], X: kit.Percent(100 * float64(before) / float64(all)),
				W: kit.Percent(100 * float64(n) / float64(all))})
		}
		before += n
	}
	return out
}

// The bounds of the plot, in percent, leave room for axis labels at the left and for version labels
// at the top.
const (
	plotLeft, plotRight = 7.0, 98.5
	plotTop, plotBottom = 14.0, 96.0
)

// scatter fills in the scatter plot of run durations, oldest first, on a logarithmic scale.
func (b *planPage) scatter(runs []domain.Run) error {
	now := b.Site.Now()
	runs = slices.DeleteFunc(runs, func(r domain.Run) bool { return r.Status == domain.RunQueued })
	if len(runs) == 0 {
		return nil
	}
	scale := newTimeScale(runs, now)
	out := &Scatter{Lines: scale.lines(), From: b.Time(runs[0].CreatedAt), To: b.Time(runs[len(runs)-1].CreatedAt)}
	failed, known := 0, map[string]bool{}
	for i, r := range runs {
		class, path := dotLook(r.Status)
		if !known[class] {
			known[class] = true
			out.Legend = append(out.Legend, kit.Status{Key: class, Icon: path, Word: b.T(run.Status(b.Context, r).Word)})
		}
		out.Dots = append(out.Dots, Dot{X: plotX(float64(i), len(runs)), Y: scale.y(length(r, now)), Class: class, Path: path,
			Title: b.T(run.Status(b.Context, r).Word) + " · " + kit.Duration(length(r, now)) + " · " + b.Time(r.CreatedAt).Text})
		if r.Status == domain.RunFailed {
			failed++
		}
	}
	out.Label = b.T("Duration of the last %d runs, oldest first; %d failed", len(runs), failed)
	out.Remark = b.N(len(runs), "last %s run", "last %s runs")
	versions, err := b.Reader.Versions(b, b.stored.ID)
	if err != nil {
		return err
	}
	for _, v := range versions[:min(len(versions), marksMax)] {
		at := slices.IndexFunc(runs, func(r domain.Run) bool { return !r.CreatedAt.Before(v.CreatedAt) })
		if at > 0 { // only versions between two drawn runs
			out.Marks = append(out.Marks, ScatterLine{At: plotX(float64(at)-.5, len(runs)), Text: fmt.Sprintf("v%d", v.Number)})
		}
	}
	b.page.Scatter = out
	return nil
}

func plotX(i float64, runs int) string {
	if runs == 1 {
		return kit.Percent((plotLeft + plotRight) / 2)
	}
	return kit.Percent(plotLeft + (plotRight-plotLeft)*i/float64(runs-1))
}

// dotLook returns the class and the SVG path of the dot of a run. Each status has its own shape, so
// that color is not the only difference.
func dotLook(s domain.RunStatus) (class, path string) {
	switch s {
	case domain.RunCompleted:
		return "g-ok", "M0-3a3 3 0 1 1 0 6a3 3 0 1 1 0-6z"
	case domain.RunFailed:
		return "g-fail", "M-3.5-3.5h7v7h-7z"
	case domain.RunWaiting:
		return "g-need", "M0-4.5 4.5 0 0 4.5-4.5 0z"
	case domain.RunRunning:
		return "g-now", "M-3.5 3.5 0-4 3.5 3.5z"
	}
	return "g-idle", "M-4-1h8v2h-8z"
}

// timeScale is a logarithmic scale of durations. low and high are natural logarithms of seconds.
type timeScale struct{ low, high float64 }

func newTimeScale(runs []domain.Run, now time.Time) timeScale {
	low, high := math.Inf(1), 0.0
	for _, r := range runs {
		d := max(length(r, now), time.Millisecond).Seconds()
		low, high = min(low, d), max(high, d)
	}
	return timeScale{math.Log(low / 1.6), math.Log(high * 1.6)}
}

func (s timeScale) y(d time.Duration) string {
	part := (math.Log(max(d, time.Millisecond).Seconds()) - s.low) / (s.high - s.low)
	return kit.Percent(plotBottom - part*(plotBottom-plotTop))
}

// ticks are the durations that a scale may label.
var ticks = []time.Duration{time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond,
	300 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute,
	15 * time.Minute, time.Hour, 3 * time.Hour, 12 * time.Hour, 24 * time.Hour, 72 * time.Hour, 30 * 24 * time.Hour}

// lines returns at most five labeled lines of the scale.
func (s timeScale) lines() []ScatterLine {
	var in []time.Duration
	for _, t := range ticks {
		if l := math.Log(t.Seconds()); l >= s.low && l <= s.high {
			in = append(in, t)
		}
	}
	step := (len(in) + 4) / 5
	var out []ScatterLine
	for i := 0; i < len(in); i += step {
		out = append(out, ScatterLine{At: s.y(in[i]), Text: kit.ApproxDuration(in[i])})
		if in[i] < time.Second {
			out[len(out)-1].Text = kit.Duration(in[i])
		}
	}
	return out
}
