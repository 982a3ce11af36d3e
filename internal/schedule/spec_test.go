package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

func mustParse(t *testing.T, expression, zone string) *Spec {
	t.Helper()
	s, err := Parse(expression, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Times follow the clock on the wall: a time in the gap of spring moves to the end of the gap, and a
// repeated time counts once. Expressions for each hour follow elapsed time.
//
// Bad input: S04.
func TestTimesAcrossChangesOfTheClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, expression, zone, after string
		want                          []string
	}{
		{"a day in the gap", "30 2 * * *", "America/New_York", "2026-03-07T03:00:00-05:00",
			[]string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"}},
		{"several times in the gap are one", "*/20 2 * * *", "America/New_York", "2026-03-07T03:00:00-05:00",
			[]string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:00:00-04:00"}},
		{"the gap and the time after it", "30 2,3 * * *", "America/New_York", "2026-03-07T04:00:00-05:00",
			[]string{"2026-03-08T03:00:00-04:00", "2026-03-08T03:30:00-04:00"}},
		{"each hour skips the gap", "30 * * * *", "America/New_York", "2026-03-08T00:45:00-05:00",
			[]string{"2026-03-08T01:30:00-05:00", "2026-03-08T03:30:00-04:00", "2026-03-08T04:30:00-04:00"}},
		{"a repeated time counts once", "30 1 * * *", "America/New_York", "2026-10-31T03:00:00-04:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"}},
		{"from between both", "30 1 * * *", "America/New_York", "2026-11-01T01:45:00-04:00",
			[]string{"2026-11-02T01:30:00-05:00"}},
		{"from after the change", "30 1 * * *", "America/New_York", "2026-11-01T01:15:00-05:00",
			[]string{"2026-11-02T01:30:00-05:00"}},
		{"each hour counts both", "30 * * * *", "America/New_York", "2026-11-01T00:45:00-04:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00", "2026-11-01T02:30:00-05:00"}},
		{"a gap of half an hour", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T03:00:00+10:30",
			[]string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}},
		{"midnight is in the gap", "0 0 * * *", "America/Sao_Paulo", "2018-11-03T01:00:00-03:00",
			[]string{"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}},
		{"a day that does not exist", "0 12 * * *", "Pacific/Apia", "2011-12-28T13:00:00-10:00",
			[]string{"2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00"}},
		{"29 February around 2100", "0 0 29 2 *", "", "2096-03-01T00:00:00Z", []string{"2104-02-29T00:00:00Z"}},
		{"day of month or day of week", "0 0 13 * 5", "", "2026-11-01T00:00:00Z",
			[]string{"2026-11-06T00:00:00Z", "2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z"}},
		{"a name", "@daily", "Europe/Madrid", "2026-11-01T12:00:00+01:00", []string{"2026-11-02T00:00:00+01:00"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			after, err := time.Parse(time.RFC3339, c.after)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, at := range mustParse(t, c.expression, c.zone).Times(after, len(c.want)) {
				got = append(got, at.Format(time.RFC3339))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Bad expressions and zones are rejected, with the reason.
//
// Bad input: S01, S02, S03.
func TestBadExpressionsAreNamed(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"":                           "it is empty",
		"* * * *":                    "5 fields",
		"* * * * * *":                "5 fields",
		"61 * * * *":                 "61",
		"*/0 * * * *":                "step",
		"0 0 30 2 *":                 "it matches no time",
		"0 0 31 4,6,9,11 *":          "it matches no time",
		"@every 1h":                  "@every has no fixed times",
		"@reboot":                    "@reboot",
		"TZ=Asia/Tokyo 0 1 * * *":    "the time zone is a setting of its own",
		"tomorrow":                   "fields",
		strings.Repeat("1,", 200):    "more than 200 characters",
		"0 0 * * MONDAY":             "MONDAY",
		"0 99999999999999999999 * *": "fields",
	} {
		_, err := Parse(expression, "")
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", expression, err, want)
		}
	}
	for _, zone := range []string{"Local", "Mars/Olympus", "../etc/passwd", "US/Pacific-New", "+01:00"} {
		if _, err := Parse("@daily", zone); domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "time zone") {
			t.Errorf("%q: %v", zone, err)
		}
	}
}

// Years of times are counted up to a limit, and the newest ones are kept.
//
// Bad input: S06.
func TestOnlyTheNewestTimesOfALongRangeAreKept(t *testing.T) {
	t.Parallel()
	s := mustParse(t, "* * * * *", "Europe/Madrid")
	to := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	times, more := s.Between(to.AddDate(-20, 0, 0), to, 1000)
	if !more || len(times) != 1000 || !times[999].Equal(to.Add(-time.Minute)) || !times[0].Equal(to.Add(-1000*time.Minute)) {
		t.Errorf("%d times, more %t: %v to %v", len(times), more, times[0], times[len(times)-1])
	}
	times, more = s.Between(to.Add(-10*time.Minute), to, 10)
	if more || len(times) != 10 || !times[0].Equal(to.Add(-10*time.Minute)) {
		t.Errorf("%d times, more %t", len(times), more)
	}
}

func TestTheJitterOfASlotIsFixed(t *testing.T) {
	t.Parallel()
	slot := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	seen := map[time.Duration]bool{}
	for i := range 100 {
		d := Delay("s", slot.Add(time.Duration(i)*time.Minute), 30*time.Second)
		if d < 0 || d >= 30*time.Second || d != Delay("s", slot.Add(time.Duration(i)*time.Minute), 30*time.Second) {
			t.Fatal(d)
		}
		seen[d] = true
	}
	if len(seen) < 90 {
		t.Errorf("100 slots have %d delays", len(seen))
	}
	if Delay("s", slot, 0) != 0 {
		t.Error("without jitter there is a delay")
	}
}
