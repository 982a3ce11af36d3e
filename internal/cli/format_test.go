package cli_test

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/cli"
)

func TestFutureTimes(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 2*3600)
	now := time.Date(2030, 1, 31, 7, 30, 0, 0, zone)
	for text, want := range map[string]string{
		"06:00": "2030-02-01T06:00:00+02:00", "08:00": "2030-01-31T08:00:00+02:00", "90m": "2030-01-31T09:00:00+02:00",
		"2030-03-01T06:00": "2030-03-01T06:00:00+02:00", "2030-03-01T06:00:00Z": "2030-03-01T06:00:00Z",
		"2030-03-01 06:00:30": "2030-03-01T06:00:30+02:00",
		"soon":                "", "": "", "25:00": "", "-2h": "",
	} {
		got, err := cli.Moment("--at", text, now)
		if want == "" && err == nil || want != "" && (err != nil || got.Format(time.RFC3339) != want) {
			t.Errorf("%q: %s %v, want %s", text, got.Format(time.RFC3339), err, want)
		}
	}
}
