package home

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// The situation is one sentence. It contains the number of problems and since when most of them
// exist, the number of pending requests, or that all is well.
func TestTheSituationIsOneSentence(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 31, 8, 0, 0, 0, time.UTC)
	ago := func(hours ...int) []time.Time {
		var out []time.Time
		for _, h := range hours {
			out = append(out, now.Add(-time.Duration(h)*time.Hour))
		}
		return out
	}
	c := &ui.Context{Site: &ui.Site{Now: func() time.Time { return now }}, Display: ui.Display{Lang: locale.English, Zone: time.UTC}}
	for _, k := range []struct {
		began    []time.Time
		requests int
		want     string
	}{
		{nil, 0, "All well"},
		{nil, 1, "No problems; 1 request waits for a decision"},
		{nil, 19, "No problems; 19 requests wait for a decision"},
		{ago(1), 3, "1 problem"},
		{ago(1, 2), 0, "2 problems"},
		{ago(70, 3, 1, 2), 0, "4 problems, most of them since 05:00"},
		{ago(1, 70, 71, 72), 0, "4 problems"},
	} {
		if got := (facts{k.began, k.requests, now}).state(c); got != k.want {
			t.Errorf("%v, %d requests: %q, want %q", k.began, k.requests, got, k.want)
		}
	}
}
