package provider_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/provider"
	"github.com/kairosd/kairosd/planner"
)

var (
	down    = &planner.Failure{Code: provider.CodeUnavailable, Message: "no connection"}
	limited = &planner.Failure{Code: provider.CodeRateLimited}
	wrong   = &planner.Failure{Code: provider.CodeRejected, Permanent: true}
)

// After five failures in a row nothing is called; then one call is tried (L07).
func TestBreaker(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := &provider.Breaker{}
	call := func(err error) {
		t.Helper()
		trial, wait := b.Enter(now)
		if wait > 0 {
			t.Fatalf("refused for %s", wait)
		}
		b.Leave(now, trial, err)
	}
	is := func(want provider.Circuit) {
		t.Helper()
		if got, _, row := b.State(now); got != want {
			t.Fatalf("%s after %d failures, want %s", got, row, want)
		}
	}
	for range 3 {
		for range 4 {
			call(down)
		}
		call(limited) // a server that answers is not down
		call(context.Canceled)
		call(wrong)
		is(provider.Closed)
	}
	slow, wait := b.Enter(now) // a call that is under way when the breaker opens
	if slow || wait > 0 {
		t.Fatal("refused")
	}
	for range 4 {
		call(down)
	}
	call(context.DeadlineExceeded)
	is(provider.Open)
	if _, wait := b.Enter(now.Add(time.Second)); wait != 29*time.Second {
		t.Errorf("wait %s, want 29s", wait)
	}
	b.Leave(now, slow, down)
	if _, until, _ := b.State(now); until != now.Add(30*time.Second) {
		t.Errorf("a late failure moves the end to %s", until)
	}

	now = now.Add(30 * time.Second)
	is(provider.HalfOpen)
	trial, wait := b.Enter(now)
	if !trial || wait > 0 {
		t.Fatal("nothing is tried")
	}
	if _, wait := b.Enter(now); wait <= 0 {
		t.Error("two calls are tried at once")
	}
	b.Leave(now, trial, context.Canceled) // nothing was learned: the next one tries
	is(provider.HalfOpen)
	call(down)
	is(provider.Open)
	if _, wait := b.Enter(now); wait != time.Minute {
		t.Errorf("the second pause is %s", wait)
	}
	now = now.Add(time.Minute)
	call(nil)
	is(provider.Closed)
	for range 4 {
		call(down)
	}
	is(provider.Closed)
}

func TestBreakerSettingsAndRestart(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	never := &provider.Breaker{Failures: -1}
	quick := &provider.Breaker{Failures: 1, Rest: time.Second}
	for range 100 {
		never.Leave(now, false, down)
	}
	quick.Leave(now, false, down)
	if c, _, row := never.State(now); c != provider.Closed || row != 100 {
		t.Errorf("%s, %d", c, row)
	}
	c, until, row := quick.State(now)
	if c != provider.Open || until != now.Add(time.Second) {
		t.Fatalf("%s until %s", c, until)
	}
	again := &provider.Breaker{Failures: 1}
	again.Restore(c, row, now)
	if trial, wait := again.Enter(now); !trial || wait > 0 {
		t.Error("the first call after a restart is not tried")
	}
	if f := provider.Refused("x", time.Hour, ""); f.RetryAfter != provider.MaxRetryAfter || f.Permanent || !f.NoEffect || errors.Is(f, context.Canceled) {
		t.Errorf("%+v", f)
	}
}
