package budget

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Window returns the window that contains a time: from start to before end. Days and months begin at the first
// instant of their date in the time zone, so that a day with a change of the clock has 23 or 25 hours. An hour
// that a change of the clock cuts is shorter.
func Window(period string, zone *time.Location, at time.Time) (start, end time.Time) {
	local := at.In(zone)
	switch period {
	case domain.PeriodHour:
		into := time.Duration(local.Minute())*time.Minute + time.Duration(local.Second())*time.Second + time.Duration(local.Nanosecond())
		start = local.Add(-into)
		end = start.Add(time.Hour)
		from, to := local.ZoneBounds()
		if !from.IsZero() && start.Before(from) {
			start = from
		}
		if !to.IsZero() && end.After(to) {
			end = to
		}
	case domain.PeriodMonth:
		start = dayStart(local.Year(), local.Month(), 1, zone)
		end = dayStart(local.Year(), local.Month()+1, 1, zone)
	default:
		start = dayStart(local.Year(), local.Month(), local.Day(), zone)
		end = dayStart(local.Year(), local.Month(), local.Day()+1, zone)
	}
	return start.UTC(), end.UTC()
}

// dayStart returns the first instant of a date.
func dayStart(year int, month time.Month, day int, zone *time.Location) time.Time {
	t := time.Date(year, month, day, 0, 0, 0, 0, zone)
	want := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	date := func(t time.Time) time.Time {
		y, m, d := t.In(zone).Date()
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	}
	if date(t).Before(want) { // the clock skips midnight
		_, t = t.ZoneBounds()
		return t
	}
	from, _ := t.ZoneBounds()
	if from.IsZero() {
		return t
	}
	// The clock may skip midnight, or repeat it. Then an earlier instant has the date, too.
	if t.After(from) && date(from).Equal(want) {
		t = from
	}
	_, before := from.Add(-time.Nanosecond).Zone()
	_, after := t.Zone()
	if earlier := t.Add(time.Duration(after-before) * time.Second); earlier.Before(from) && earlier.Before(t) &&
		date(earlier).Equal(want) {
		t = earlier
	}
	return t
}

// Zone returns a time zone. An empty name is UTC. The error has CodeInvalid.
func Zone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	z, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, domain.Errorf(domain.CodeInvalid, "unknown time zone %q",
			name).Suggest("use an IANA name, such as Europe/Madrid or UTC")
	}
	return z, nil
}

// Current returns the window of a budget at a time. A window without usage is empty.
func Current(b domain.Budget, at time.Time) domain.BudgetWindow {
	if w := b.Window; !w.Start.IsZero() && at.Before(w.End) {
		return w // also if the clock was set back
	}
	zone, err := Zone(b.Zone)
	if err != nil {
		zone = time.UTC // the zone was removed from the system
	}
	start, end := Window(b.Period, zone, at)
	return domain.BudgetWindow{Start: start, End: end}
}

// minPace is the shortest time from which a pace is computed.
const minPace = time.Minute

// Exhausted returns when the hard line will be reached if the usage continues at the pace of the window. ok is false if
// it is not reached in the window, or there is no line.
func Exhausted(b domain.Budget, at time.Time) (when time.Time, ok bool) {
	w := Current(b, at)
	limit := b.Hard + w.Extra
	if b.Hard <= 0 || w.Used <= 0 {
		return when, false
	}
	if w.Used >= limit {
		return at, true
	}
	passed := max(at.Sub(w.Start), minPace)
	left := time.Duration((limit - w.Used) / w.Used * float64(passed))
	if left < 0 || left > w.End.Sub(at) {
		return when, false
	}
	return at.Add(left), true
}

// Predicted returns the usage at the end of the window at the pace so far.
func Predicted(b domain.Budget, at time.Time) float64 {
	w := Current(b, at)
	passed := max(at.Sub(w.Start), minPace)
	return w.Used / float64(passed) * float64(max(w.End.Sub(w.Start), passed))
}
