package budget_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/domain"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := budget.Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// A day begins at the first instant of its date, also if the clock skips or repeats midnight. A day with a change of
// the clock has 23 or 25 hours.
func TestWindowsFollowTheClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, period, at, start, end string }{
		{"UTC", "day", "2030-05-05T23:59:59Z", "2030-05-05T00:00:00Z", "2030-05-06T00:00:00Z"},
		{"UTC", "month", "2030-12-31T23:00:00Z", "2030-12-01T00:00:00Z", "2031-01-01T00:00:00Z"},
		{"Europe/Madrid", "day", "2030-03-31T12:00:00Z", "2030-03-30T23:00:00Z", "2030-03-31T22:00:00Z"},        // 23 hours
		{"Europe/Madrid", "day", "2030-10-27T12:00:00Z", "2030-10-26T22:00:00Z", "2030-10-27T23:00:00Z"},        // 25 hours
		{"Europe/Madrid", "hour", "2030-10-27T00:30:00Z", "2030-10-27T00:00:00Z", "2030-10-27T01:00:00Z"},       // 02:30, the first
		{"Europe/Madrid", "hour", "2030-10-27T01:30:00Z", "2030-10-27T01:00:00Z", "2030-10-27T02:00:00Z"},       // 02:30, the second
		{"Australia/Lord_Howe", "hour", "2020-04-04T14:50:00Z", "2020-04-04T14:00:00Z", "2020-04-04T15:00:00Z"}, // 01:50, the first
		{"America/Sao_Paulo", "day", "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},    // midnight is skipped
		{"America/Havana", "day", "2030-11-03T12:00:00Z", "2030-11-03T04:00:00Z", "2030-11-04T05:00:00Z"},       // midnight is repeated
		{"Asia/Kathmandu", "hour", "2030-01-01T00:20:00Z", "2030-01-01T00:15:00Z", "2030-01-01T01:15:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		start, end := budget.Window(c.period, zone(t, c.zone), at)
		if got := start.Format(time.RFC3339) + " " + end.Format(time.RFC3339); got != c.start+" "+c.end {
			t.Errorf("%s in %s at %s: %s, want %s %s", c.period, c.zone, c.at, got, c.start, c.end)
		}
	}
}

// Every instant is in exactly one window: windows contain their instant, and the next one begins where they end.
func TestWindowsHaveNoGaps(t *testing.T) {
	t.Parallel()
	zones := []*time.Location{}
	for _, name := range []string{"UTC", "Europe/Madrid", "Australia/Lord_Howe", "America/Havana", "America/Sao_Paulo", "Asia/Kathmandu",
		"Pacific/Apia", "Africa/Casablanca", "Asia/Beirut"} {
		zones = append(zones, zone(t, name))
	}
	rapid.Check(t, func(t *rapid.T) {
		z := rapid.SampledFrom(zones).Draw(t, "zone")
		period := rapid.SampledFrom(domain.BudgetPeriods).Draw(t, "period")
		at := time.Unix(rapid.Int64Range(946684800, 2208988800).Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		start, end := budget.Window(period, z, at)
		if at.Before(start) || !at.Before(end) {
			t.Fatalf("%s is not in %s to %s", at.In(z), start.In(z), end.In(z))
		}
		if again, to := budget.Window(period, z, start); !again.Equal(start) || !to.Equal(end) {
			t.Fatalf("%s to %s: its first instant is in %s to %s", start.In(z), end.In(z), again.In(z), to.In(z))
		}
		if next, _ := budget.Window(period, z, end); !next.Equal(end) {
			t.Fatalf("%s to %s: the next window begins at %s", start.In(z), end.In(z), next.In(z))
		}
	})
}

// At the pace of the window, 60 of 100 after an hour of a day are used up after 40 minutes.
func TestExhaustionIsPredicted(t *testing.T) {
	t.Parallel()
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	b := domain.Budget{BudgetSpec: domain.BudgetSpec{Period: "day", Hard: 100, Unit: "tokens"},
		Window: domain.BudgetWindow{Start: start, End: start.Add(24 * time.Hour), Used: 60}}
	at := start.Add(time.Hour)
	if when, ok := budget.Exhausted(b, at); !ok || !when.Equal(at.Add(40*time.Minute)) {
		t.Errorf("%s %t", when, ok)
	}
	if got := budget.Predicted(b, at); got != 60*24 {
		t.Errorf("predicted %v", got)
	}
	b.Hard = 10_000
	if when, ok := budget.Exhausted(b, at); ok {
		t.Errorf("it lasts for the window, not until %s", when)
	}
	b.Hard = 50
	if when, ok := budget.Exhausted(b, at); !ok || !when.Equal(at) {
		t.Errorf("it is used up: %s %t", when, ok)
	}
	if w := budget.Current(b, start.Add(25*time.Hour)); w.Used != 0 || !w.Start.Equal(start.Add(24*time.Hour)) {
		t.Errorf("the next window: %+v", w)
	}
	if w := budget.Current(b, start.Add(-time.Hour)); w.Used != 60 {
		t.Errorf("a clock that was set back begins no window: %+v", w)
	}
}
