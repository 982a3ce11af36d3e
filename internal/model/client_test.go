package model

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// An answer that does not start, stalls, or arrives one byte at a time is abandoned (L11). Each case
// has its own limit, and the other limits are much higher.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	const far = time.Hour
	drip := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "."); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-r.Context().Done():
			case <-time.After(time.Millisecond):
			}
		}
	}
	silent := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	stalls := func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "data: {")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		wait  timeouts
		cause error
	}{
		"no first byte":       {silent, timeouts{50 * time.Millisecond, far, far}, nil},
		"stalls":              {stalls, timeouts{far, 50 * time.Millisecond, far}, errIdle},
		"a byte now and then": {drip, timeouts{far, far, 100 * time.Millisecond}, errEndless},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(c.serve)
			t.Cleanup(s.Close)
			client := client(c.wait)
			t.Cleanup(client.CloseIdleConnections)
			resp, err := client.Get(s.URL)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if err == nil || c.cause != nil && !errors.Is(err, c.cause) {
				t.Fatalf("got %v, want %v", err, c.cause)
			}
			f := walk.AsFailure(Failure(context.Background(), "slow", err))
			if f.Code != CodeUnavailable || f.Permanent || !f.NoEffect {
				t.Errorf("%+v", f)
			}
		})
	}
}

// Usage that is missing, negative, or absurd is estimated and marked. Sums stay within the range of
// the counters (L14).
func TestUsageIsSane(t *testing.T) {
	t.Parallel()
	r := llm.Request{Messages: []llm.Message{{Text: "twelve chars"}}}
	answer := llm.Response{Text: "four"}
	for _, c := range []struct {
		in, out int64
		want    llm.Usage
	}{
		{7, 3, llm.Usage{InputTokens: 7, OutputTokens: 3}},
		{0, 0, llm.Usage{InputTokens: 3, OutputTokens: 1, Estimated: true}},
		{-5, -5, llm.Usage{InputTokens: 3, OutputTokens: 1, Estimated: true}},
		{1 << 62, 1 << 62, llm.Usage{InputTokens: maxTokens, OutputTokens: maxTokens}},
	} {
		if got := Count(r, answer, c.in, c.out); got != c.want {
			t.Errorf("%d, %d: got %+v, want %+v", c.in, c.out, got, c.want)
		}
	}
	sum := domain.Usage{}
	for range 3 {
		sum = sum.Add(domain.Usage{InputTokens: 1 << 62, OutputTokens: -1, Cost: 1.7e308})
	}
	if sum.InputTokens != 1<<63-1 || sum.OutputTokens != 0 || sum.Cost <= 1.7e308 {
		t.Errorf("%+v", sum)
	}
	if _, err := jsonvalue.Encode(map[string]any{"cost": sum.Cost}); err != nil {
		t.Errorf("the sum cannot be written: %v", err)
	}
}
