package query

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// slowly is a step that takes so long, or until it is broken off.
func slowly(took time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(took):
			return nil
		}
	}
}

// A step that takes too long ends the search where it began, and no sooner than one
// step was done: a list must come further with every page.
func TestASearchIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		took  []time.Duration
		done  []bool
		total time.Duration
	}{
		{"quick steps", []time.Duration{8 * time.Millisecond, 8 * time.Millisecond, 8 * time.Millisecond}, []bool{true, true, true}, 24 * time.Millisecond},
		{"a slow step behind quick ones", []time.Duration{10 * time.Millisecond, time.Second}, []bool{true, false}, 35 * time.Millisecond},
		{"a slow step that ends in time", []time.Duration{10 * time.Millisecond, 24 * time.Millisecond}, []bool{true, true}, 34 * time.Millisecond},
		{"the first is slow", []time.Duration{time.Second, 4 * time.Millisecond, 4 * time.Millisecond, 4 * time.Millisecond}, []bool{false, true, true, true}, 47 * time.Millisecond},
		{"the first and a later one are slow", []time.Duration{time.Second, 4 * time.Millisecond, time.Second}, []bool{false, true, false}, 60 * time.Millisecond},
		{"all is slow", []time.Duration{time.Second, 200 * time.Millisecond}, []bool{false, true}, 235 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			s := newSearch(scanWindow, 2, Quickly)
			for i, took := range c.took {
				if s.over() {
					t.Errorf("%s: over before step %d", c.name, i)
				}
				if done, err := s.step(t.Context(), slowly(took)); err != nil || done != c.done[i] {
					t.Errorf("%s: step %d: %v, %v", c.name, i, done, err)
				}
			}
			if took := time.Since(began); !s.over() || took != c.total {
				t.Errorf("%s: %v, over: %v", c.name, took, s.over())
			}
		})
	}
}

func TestASearchEndsWithItsQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if done, err := newSearch(scanWindow, 2, Quickly).step(ctx, slowly(time.Second)); done || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, %v", done, err)
		}
		failure := errors.New("no page")
		if done, err := newSearch(scanWindow, 2, Quickly).step(t.Context(), func(context.Context) error { return failure }); done || !errors.Is(err, failure) {
			t.Errorf("%v, %v", done, err)
		}
	})
}
