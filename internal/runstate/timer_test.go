package runstate

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/planner/jsonvalue"
)

func TestTimerInput(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]string{
		`{"for": "10m"}`:                         "2026-01-02T03:14:05Z",
		`{"until": "2026-02-03T00:00:00Z"}`:      "2026-02-03T00:00:00Z",
		`{"until": "2026-02-03T00:00:00+01:00"}`: "2026-02-02T23:00:00Z",
		`{"for": "-1s"}`:                         "",
		`{"for": "soon"}`:                        "",
		`{"for": 3}`:                             "",
		`{"until": "tomorrow"}`:                  "",
		`{}`:                                     "",
		`"10m"`:                                  "",
		`{"for": "1s", "until": "x"}`:            "",
	} {
		v, err := jsonvalue.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		due, err := timerDue(now, v)
		if got := due.Format(time.RFC3339); (want == "") != (err != nil) || want != "" && got != want {
			t.Errorf("%s: got %s, %v; want %q", text, got, err, want)
		}
	}
}
