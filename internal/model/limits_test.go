package model

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The headers of both families of servers are parsed. Invalid headers are ignored.
func TestLimitsOfAnswers(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 9, 2, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		head map[string]string
		want []Limit
	}{
		"x-ratelimit": {map[string]string{"x-ratelimit-limit-tokens": "30000", "x-ratelimit-remaining-tokens": "200",
			"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-limit-requests": "500", "x-ratelimit-remaining-requests": "499"},
			[]Limit{{Of: "requests", Limit: 500, Remaining: 499},
				{Of: "tokens", Limit: 30000, Remaining: 200, Reset: now.Add(6 * time.Minute)}}},
		"anthropic": {map[string]string{"anthropic-ratelimit-input-tokens-limit": "40000",
			"anthropic-ratelimit-input-tokens-remaining": "39000", "anthropic-ratelimit-input-tokens-reset": "2026-03-09T02:00:05Z"},
			[]Limit{{Of: "input tokens", Limit: 40000, Remaining: 39000, Reset: now.Add(5 * time.Second)}}},
		"nonsense": {map[string]string{"x-ratelimit-limit-tokens": "many", "x-ratelimit-remaining-tokens": "few",
			"x-ratelimit-limit-requests": "-1", "x-ratelimit-remaining-requests": "1"}, nil},
		"more left": {map[string]string{"x-ratelimit-limit-tokens": "10", "x-ratelimit-remaining-tokens": "99999",
			"x-ratelimit-reset-tokens": "soon"}, []Limit{{Of: "tokens", Limit: 10, Remaining: 10}}},
		"says nothing": {nil, nil},
	} {
		h := http.Header{}
		for k, v := range c.head {
			h.Set(k, v)
		}
		if diff := cmp.Diff(c.want, limits(h, now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
