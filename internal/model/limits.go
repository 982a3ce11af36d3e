package model

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// Limit is a rate limit that a server reports in an answer.
type Limit struct {
	Of               string // requests, tokens, input tokens, output tokens
	Limit, Remaining int64
	Reset            time.Time // time at which the whole limit is available again; zero: unknown
}

type limitsKey struct{}

// WithLimits returns a context in which tell is called with the rate limits of each answer that
// reports any.
func WithLimits(ctx context.Context, report func([]Limit)) context.Context {
	return context.WithValue(ctx, limitsKey{}, report)
}

func reportLimits(ctx context.Context, h http.Header) {
	report, ok := ctx.Value(limitsKey{}).(func([]Limit))
	if !ok {
		return
	}
	if list := limits(h, time.Now()); len(list) > 0 {
		report(list)
	}
}

// limits parses the headers of both families of servers: anthropic-ratelimit-tokens-limit and
// x-ratelimit-limit-tokens, with a time or a duration until the reset.
func limits(h http.Header, now time.Time) []Limit {
	var out []Limit
	for _, of := range []struct{ header, words string }{{"requests", "requests"}, {"tokens", "tokens"},
		{"input-tokens", "input tokens"}, {"output-tokens", "output tokens"}} {
		get := func(what string) string {
			if v := h.Get("anthropic-ratelimit-" + of.header + "-" + what); v != "" {
				return v
			}
			return h.Get("x-ratelimit-" + what + "-" + of.header)
		}
		limit, err := strconv.ParseInt(get("limit"), 10, 64)
		if err != nil || limit <= 0 {
			continue
		}
		left, err := strconv.ParseInt(get("remaining"), 10, 64)
		if err != nil {
			continue
		}
		l := Limit{Of: of.words, Limit: limit, Remaining: min(max(left, 0), limit)}
		if text := get("reset"); text != "" {
			if at, err := time.Parse(time.RFC3339, text); err == nil {
				l.Reset = at.UTC()
			} else if d, err := time.ParseDuration(text); err == nil && d >= 0 && d < 24*time.Hour*366 {
				l.Reset = now.Add(d).UTC().Truncate(time.Millisecond)
			}
		}
		out = append(out, l)
	}
	return out
}
