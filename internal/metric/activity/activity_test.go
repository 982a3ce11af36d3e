package activity_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/metric/activity"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

func down(code string) error { return &walk.Failure{Code: code, Message: "secret-value is wrong"} }

// Recorded calls are reported for the last hour and the last day, by kind, with their run. Calls
// older than a day are dropped.
func TestCallsOfADayAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := activity.New(func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "secret-value", "••••")) })
		ctx := activity.In(t.Context(), "run-1", "pay")
		log.Ended(ctx, "tool:http", activity.Call{Took: 80 * time.Millisecond, Err: down("unreachable")})
		time.Sleep(2 * time.Hour)
		for range 9 {
			log.Ended(ctx, "tool:http", activity.Call{Took: 10 * time.Millisecond, Usage: domain.Usage{InputTokens: 2, Cost: 0.5}})
		}
		log.Ended(ctx, "tool:http", activity.Call{Took: 3 * time.Second, Err: down("timeout")})
		log.Ended(ctx, "tool:http", activity.Call{Err: context.Canceled})
		a := log.Of("tool:http")
		if a.Calls != 12 || a.Failures != 2 || a.Hour.Calls != 11 || a.Hour.Failures != 1 {
			t.Errorf("counts: %+v, last hour %+v", a.CallCounts, a.Hour)
		}
		if len(a.Recent) != 2 || a.Recent[0].Code != "timeout" || a.Recent[0].Message != "•••• is wrong" || a.Recent[0].Run != "run-1" ||
			a.Recent[0].Node != "pay" {
			t.Errorf("recent: %+v", a.Recent)
		}
		if len(a.Errors) != 2 || a.Errors[0].Count != 1 || a.Usage.InputTokens != 18 {
			t.Errorf("errors %+v, usage %+v", a.Errors, a.Usage)
		}
		if a.P50.Duration() < 9*time.Millisecond || a.P50.Duration() > 12*time.Millisecond || a.P95.Duration() < 2700*time.Millisecond ||
			a.P95.Duration() > 3600*time.Millisecond {
			t.Errorf("p50 %v, p95 %v", a.P50, a.P95)
		}
		if n, u := a.Since(time.Now().Add(-time.Hour)); n.Calls != 11 || u.Cost != 4.5 {
			t.Errorf("since an hour: %+v %+v", n, u)
		}
		time.Sleep(25 * time.Hour)
		if a := log.Of("tool:http"); a.Calls != 0 || len(a.Recent) != 0 || a.LastCallAt.IsZero() {
			t.Errorf("a day later: %+v", a)
		}
	})
}

// A restart loses nothing that was stored, and disabled subjects stay disabled.
func TestARestartLosesNothing(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ctx := t.Context()
	before := activity.New(nil)
	done, err := before.Keep(ctx, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	before.Ended(
		ctx,
		"provider:one",
		activity.Call{Took: time.Second, Usage: domain.Usage{OutputTokens: 7}, Err: down("provider_unavailable")},
	)
	keep := func(key, value string) error { return s.SetSetting(ctx, key, value) }
	if err := before.Disable("tool:http", domain.Disablement{By: "marta", Reason: "they move"}, keep); err != nil {
		t.Fatal(err)
	}
	if err := before.Disable("tool:http", domain.Disablement{By: "otto"},
		func(string, string) error { return errors.New("stored again") }); err != nil {
		t.Errorf("disabled twice: %v", err)
	}
	done()
	after := activity.New(nil)
	done, err = after.Keep(ctx, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if a := after.Of("provider:one"); a.Calls != 1 || a.Failures != 1 || a.Usage.OutputTokens != 7 ||
		a.Errors[0].Code != "provider_unavailable" ||
		a.P95 == 0 {
		t.Errorf("after a restart: %+v", a)
	}
	by, ok := after.Disabled("tool:http")
	if !ok || by.By != "marta" || by.Reason != "they move" || by.Since.IsZero() {
		t.Errorf("after a restart: %+v %v", by, ok)
	}
	if err := after.Enable("tool:http", keep); err != nil {
		t.Fatal(err)
	}
	if _, ok := after.Disabled("tool:http"); ok {
		t.Error("it is still disabled")
	}
	again := activity.New(nil)
	end, err := again.Keep(ctx, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if _, ok := again.Disabled("tool:http"); ok {
		t.Error("it is disabled again after a restart")
	}
}

// Disabling has no effect when it cannot be stored.
func TestADisableThatIsNotStoredHasNoEffect(t *testing.T) {
	t.Parallel()
	log := activity.New(nil)
	broken := errors.New("no disk")
	refuse := func(string, string) error { return broken }
	if err := log.Disable("tool:http", domain.Disablement{By: "marta", Reason: "x"}, refuse); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if _, ok := log.Disabled("tool:http"); ok {
		t.Error("it is disabled although nothing was stored")
	}
}

// Quantiles of any calls lie between the shortest and a tenth above the longest.
func TestQuantilesAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log := activity.New(nil)
		low, high := time.Duration(1<<62), time.Duration(0)
		for _, ms := range rapid.SliceOfN(rapid.Int64Range(1, 3_600_000), 1, 200).Draw(t, "ms") {
			took := time.Duration(ms) * time.Millisecond
			low, high = min(low, took), max(high, took)
			log.Ended(context.Background(), "x", activity.Call{Took: took})
		}
		a := log.Of("x")
		if a.P50 > a.P95 || a.P50.Duration() < low-time.Millisecond || float64(a.P95) > 1.21*float64(high) {
			t.Fatalf("p50 %v, p95 %v of %v to %v", a.P50, a.P95, low, high)
		}
	})
}
