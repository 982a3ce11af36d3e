// Package schedule computes the times of schedules, and starts their runs.
package schedule

import (
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones also where the system has none

	"github.com/netresearch/go-cron"

	"github.com/kairosd/kairosd/internal/domain"
)

// searchYears is how far ahead the next time is searched. It covers the eight years without a
// 29 February around 2100.
const searchYears = 12

var parser = cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.DowOrDom | cron.Descriptor).
	WithMaxSearchYears(searchYears)

// Spec is a cron expression in a time zone. It is immutable.
//
// The expression is evaluated on the clock on the wall. A time that the clock skips in spring moves
// to the end of the gap. A time that the clock repeats in autumn counts once. If the hour is a
// wildcard, the schedule follows elapsed time instead. It then skips the gap, and counts both hours.
type Spec struct {
	times   cron.Schedule
	zone    *time.Location
	elapsed bool // the hour is a wildcard
}

// Parse reads a cron expression of five fields, or a name such as @daily. An empty zone is UTC.
func Parse(expression, zone string) (*Spec, error) {
	loc, err := zoneOf(zone)
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(expression)
	bad := func(why string) error {
		e := domain.Errorf(domain.CodeInvalid, "invalid cron expression %q: %s", expression, why)
		e.Reason = "schedule.cron"
		return e.Suggest("write minute, hour, day of month, month, and day of week, for example 30 2 * * 1-5")
	}
	switch {
	case text == "":
		return nil, bad("it is empty")
	case len(text) > maxExpression:
		return nil, bad("it has more than " + strconv.Itoa(maxExpression) + " characters")
	case strings.Contains(text, "TZ="):
		return nil, bad("the time zone is a setting of its own")
	case strings.HasPrefix(text, "@every"):
		return nil, bad("@every has no fixed times")
	}
	times, err := parser.Parse(text)
	if err != nil {
		return nil, bad(err.Error())
	}
	s := &Spec{times: times, zone: loc}
	if hour := strings.Fields(text); len(hour) == 5 {
		s.elapsed = strings.HasPrefix(hour[1], "*")
	} else {
		s.elapsed = strings.EqualFold(text, "@hourly")
	}
	if s.times.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, bad("it matches no time")
	}
	return s, nil
}

// maxExpression is the maximum length of an expression.
const maxExpression = 200

// zones caches time zones, because reading one takes longer than the rest.
var zones sync.Map // string → *time.Location

func zoneOf(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		e := domain.Errorf(domain.CodeInvalid, "unknown time zone %q", name)
		e.Reason = "schedule.zone"
		return nil, e.Suggest("use a name of the IANA database, for example Europe/Madrid")
	}
	zones.Store(name, loc)
	return loc, nil
}

// Zone returns the time zone.
func (s *Spec) Zone() *time.Location { return s.zone }

// wall is the reading of a clock on the wall as a time in UTC.
func wall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// Next returns the first time after t, or the zero time if there is none.
func (s *Spec) Next(t time.Time) time.Time {
	t = t.In(s.zone)
	from := wall(t)
	start, _ := t.ZoneBounds()
	if !s.elapsed && !start.IsZero() { // the times before the clock was set back do not count again
		if before := wallBefore(start); before.After(from) {
			from = before
		}
	}
	for range maxChanges {
		_, end := t.ZoneBounds()
		_, offset := t.Zone()
		next := s.times.Next(from)
		if next.IsZero() {
			return time.Time{}
		}
		at := next.Add(-time.Duration(offset) * time.Second)
		if end.IsZero() || at.Before(end) {
			return at.In(s.zone)
		}
		// The clock changes before that time.
		ends, begins := wall(end.Add(-1)).Add(1), wall(end)
		switch {
		case !s.elapsed && begins.After(ends): // it skips from ends to begins
			if !next.After(begins) && next.Before(begins) {
				return end
			}
			from = begins.Add(-1)
		case s.elapsed:
			from = begins.Add(-1)
		default:
			from = ends.Add(-1)
		}
		t = end
	}
	return time.Time{}
}

// maxChanges bounds the changes of an offset that a search passes: a zone has a few each year.
const maxChanges = 16 * searchYears

// wallBefore is the last reading of the clock before a change, exclusive.
func wallBefore(change time.Time) time.Time { return wall(change.Add(-1)) }

// Times returns the first n times after t.
func (s *Spec) Times(t time.Time, n int) []time.Time {
	out := make([]time.Time, 0, n)
	for len(out) < n {
		if t = s.Next(t); t.IsZero() {
			break
		}
		out = append(out, t)
	}
	return out
}

// Between returns the times with from <= time < to, oldest first, and reports whether there are more
// than most. If there are more, it returns the newest ones.
func (s *Spec) Between(from, to time.Time, most int) (times []time.Time, more bool) {
	t := from.Add(-1)
	for {
		if t = s.Next(t); t.IsZero() || !t.Before(to) {
			return times, false
		}
		if len(times) == most {
			break
		}
		times = append(times, t)
	}
	// More times than are wanted lie in the range, so a window that ends with it has enough.
	for width := time.Hour; ; width *= 2 {
		start := to.Add(-width)
		if start.Before(from) {
			start = from
		}
		times = times[:0]
		for t := s.Next(start.Add(-1)); !t.IsZero() && t.Before(to); t = s.Next(t) {
			times = append(times, t)
		}
		if len(times) >= most || !start.After(from) {
			return times[max(0, len(times)-most):], true
		}
	}
}

// Interval returns the shortest distance of the next times.
func (s *Spec) Interval(t time.Time) time.Duration {
	shortest := time.Duration(0)
	times := s.Times(t, 100)
	for i := 1; i < len(times); i++ {
		if d := times[i].Sub(times[i-1]); shortest == 0 || d < shortest {
			shortest = d
		}
	}
	return shortest
}

// Delay returns the jitter of a slot: a time up to most that depends on the schedule and the slot
// only. A restart therefore does not change it.
func Delay(schedule string, slot time.Time, most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(schedule + "\x00" + strconv.FormatInt(slot.Unix(), 10)))
	x := h.Sum64() // its last bits differ least
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return time.Duration(x % uint64(most)).Truncate(time.Millisecond)
}

// maxLabels is how many labels a schedule adds.
const maxLabels = 20

// Check returns the first problem of the settings of a schedule.
func Check(x domain.ScheduleSpec, now time.Time) error {
	spec, err := Parse(x.Cron, x.Zone)
	if err != nil {
		return err
	}
	switch interval := spec.Interval(now); {
	case x.Jitter < 0:
		return domain.Errorf(domain.CodeInvalid, "the jitter is negative")
	case x.Jitter > domain.MaxJitter:
		return domain.Errorf(domain.CodeInvalid, "the jitter is more than %s", domain.MaxJitter)
	case interval > 0 && x.Jitter >= interval:
		return domain.Errorf(domain.CodeInvalid, "the jitter %s is not shorter than the interval %s", x.Jitter, interval).
			Suggest("a slot must start before the next one is due")
	case !x.Overlap.Valid():
		return domain.Errorf(domain.CodeInvalid, "unknown overlap %q", x.Overlap).Suggest("use skip, queue, or cancel_oldest")
	case !x.CatchUp.Valid():
		return domain.Errorf(domain.CodeInvalid, "unknown catch-up %q", x.CatchUp).Suggest("use default, none, last, all, or ask")
	case len(x.Labels) > maxLabels:
		return domain.Errorf(domain.CodeInvalid, "a schedule has at most %d labels", maxLabels)
	}
	for k, v := range x.Labels {
		if k == "" || v == "" || len(k) > 63 || len(v) > 255 {
			return domain.Errorf(domain.CodeInvalid, "%q=%q is not a valid label", k, v).
				Suggest("a key has 1 to 63 characters, a value 1 to 255")
		}
	}
	return nil
}
