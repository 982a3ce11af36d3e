package system

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/part/vital"
)

type point struct {
	at    time.Time
	value float64
}

// sparks returns the points of a trend line over the last 24 hours, or since the first sample. The
// daemon takes no samples while it is not running, so there is a separate line for each stretch
// without a gap.
func sparks(points []point, now time.Time) []string {
	from := now.Add(-24 * time.Hour)
	if len(points) > 0 && points[0].at.After(from) {
		from = points[0].at
	}
	n := min(int(now.Sub(from)/time.Minute), vital.Points)
	if n < 2 {
		return nil
	}
	high := make([]float64, n)
	for i := range high {
		high[i] = -1
	}
	top := 0.0
	for _, p := range points {
		if j := int(p.at.Sub(from) * time.Duration(n) / (now.Sub(from) + 1)); j >= 0 && j < n {
			high[j] = max(high[j], p.value)
			top = max(top, high[j])
		}
	}
	var out []string
	var line []string
	end := func() {
		if len(line) > 1 {
			out = append(out, strings.Join(line, " "))
		}
		line = nil
	}
	empty := 0
	for j, v := range high {
		if v < 0 {
			if empty++; empty > 2 { // tolerate up to two missing samples
				end()
			}
			continue
		}
		empty = 0
		y := float64(vital.Height - 1)
		if top > 0 {
			y -= v / top * (vital.Height - 2)
		}
		line = append(line, fmt.Sprintf("%.1f,%.1f", float64(j)*vital.Width/float64(n-1), y))
	}
	end()
	return out
}

// sampled returns one value of every sample.
func sampled(samples []domain.Sample, pick func(domain.Sample) float64) []point {
	points := make([]point, 0, len(samples))
	for _, s := range samples {
		points = append(points, point{s.At, pick(s)})
	}
	return points
}

// growths returns the growth of the database in the hour before each sample, in bytes per hour. It
// is 0 if the database shrank. Samples with less than half an hour of history are skipped.
func growths(samples []domain.Sample) []point {
	var points []point
	from := 0
	for _, s := range samples {
		for s.At.Sub(samples[from].At) > time.Hour {
			from++
		}
		if over := s.At.Sub(samples[from].At); over >= time.Hour/2 {
			points = append(points, point{s.At, float64(max(s.Database-samples[from].Database, 0)) / over.Hours()})
		}
	}
	return points
}

// ages returns, for each minute of the last 24 hours, the time since the latest of times. Minutes
// before the first of times are skipped.
func ages(now time.Time, times ...time.Time) []point {
	times = slices.DeleteFunc(slices.Clone(times), time.Time.IsZero)
	slices.SortFunc(times, time.Time.Compare)
	var points []point
	next := 0
	for at := now.Add(-24 * time.Hour); !at.After(now); at = at.Add(time.Minute) {
		for next < len(times) && !times[next].After(at) {
			next++
		}
		if next > 0 {
			points = append(points, point{at, float64(at.Sub(times[next-1]))})
		}
	}
	return points
}
