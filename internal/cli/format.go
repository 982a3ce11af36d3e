package cli

import (
	"math"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// Took formats a duration.
func Took(d time.Duration) string {
	switch {
	case d <= 0:
		return "-"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Size formats a number of bytes.
func Size(bytes int64) string {
	n := float64(bytes)
	for _, unit := range []string{"bytes", "KiB", "MiB"} {
		if n < 1024 {
			return strconv.FormatFloat(math.Round(n*10)/10, 'f', -1, 64) + " " + unit
		}
		n /= 1024
	}
	return strconv.FormatFloat(math.Round(n*10)/10, 'f', -1, 64) + " GiB"
}

// Moment parses a future time: the next occurrence of a time of day, a duration from now, or a date
// and time. Without a zone, it is in local time.
func Moment(flag, text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(d), nil
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location())
			if !at.After(now) {
				at = time.Date(now.Year(), now.Month(), now.Day()+1, t.Hour(), t.Minute(), t.Second(), 0, now.Location())
			}
			return at, nil
		}
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, exit.Usage("invalid time %[2]q for %[1]s\n  use 06:00, 2h, 2030-01-31T06:00 or 2030-01-31T06:00:00Z", flag, text)
}

// Clip shortens a text to a number of letters.
func Clip(s string, letters int) string {
	if r := []rune(s); len(r) > letters {
		return string(r[:letters]) + "…"
	}
	return s
}

// JSONText returns a JSON value as text: a string without quotes.
func JSONText(j domain.RawJSON) string {
	v, err := jsonvalue.Decode(j)
	if err != nil {
		return string(j)
	}
	return jsonvalue.Text(v)
}
