// Package vital grades, formats, and charts health metrics of the daemon.
package vital

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/web/locale"
)

// Limits above which a metric is high (a warning) or bad (an alarm).
const (
	CommitHigh, CommitBad = 50 * time.Millisecond, 500 * time.Millisecond
	WALHigh, WALBad       = 256 << 20, 2 << 30
	BackupHigh, BackupBad = 2 * 24 * time.Hour, 14 * 24 * time.Hour
)

// Width and Height are the size of a trend's viewBox. Points is the maximum number of its points.
const Width, Height, Points = 120, 24, 96

// Grade returns the grade of a metric: "", "need", or "fail".
func Grade[T int | int64 | time.Duration](v, high, bad T) string {
	switch {
	case v > bad:
		return "fail"
	case v > high:
		return "need"
	}
	return ""
}

// Span formats a short duration with three digits.
func Span(d time.Duration) string {
	switch {
	case d == 0:
		return "0 ms"
	case d < time.Millisecond:
		return strconv.Itoa(int(d.Microseconds())) + " µs"
	case d < time.Second:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'g', 3, 64) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'g', 3, 64) + " s"
}

// Bytes formats a size.
func Bytes(l *locale.Language, n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d B", n)
	case n < unit*unit:
		return fmt.Sprintf("%d KiB", n/unit)
	case n < unit*unit*unit:
		return l.Decimal(float64(n)/(unit*unit), 1) + " MiB"
	}
	return l.Decimal(float64(n)/(unit*unit*unit), 2) + " GiB"
}

// Line returns the points of an SVG polyline. It reduces the values to Points maximums, and returns
// an empty string for fewer than two values.
func Line(values []float64) string {
	if len(values) < 2 {
		return ""
	}
	n := min(len(values), Points)
	high := make([]float64, n)
	top := 0.0
	for i, v := range values {
		j := i * n / len(values)
		high[j] = math.Max(high[j], v)
		top = math.Max(top, v)
	}
	var b strings.Builder
	for i, v := range high {
		y := float64(Height - 1)
		if top > 0 {
			y -= v / top * (Height - 2)
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%.1f,%.1f", float64(i)*Width/float64(n-1), y)
	}
	return b.String()
}
