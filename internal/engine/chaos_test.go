package engine_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/internal/testing/proof"
)

// Operators pause, resume, and cancel runs, and restart the daemon, while random plans run. No
// completed step runs again, and the live state equals the fold. When the operators stop, each run
// ends as if they had changed nothing (A41).
func TestConcurrentOperators(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	count := 0
	defer func() { proof.Figure(t, "random plans", count) }()
	rapid.Check(t, func(rt *rapid.T) {
		src := plans(rt)
		reg := scriptedRegistry()
		e := enginetest.OpenOn(t, s, reg, engine.Options{})
		v, err := save(e, src)
		if err != nil {
			e.Close()
			rt.Skip("not a plan")
		}
		count++
		straight := e.Begin(v, propertyInput)
		e.Settle(straight.ID)
		want := resultOf(rt, e, straight.ID)
		if want.Status != domain.RunCompleted {
			e.Close()
			return // the steps that a failing run settles depend on timing
		}
		run := e.Begin(v, propertyInput)
		verbs := rapid.SliceOfN(rapid.SampledFrom([]domain.Action{domain.ActionPause, domain.ActionUnpause, domain.ActionCancel,
			domain.ActionResume, domain.ActionRetryNow, "restart"}), 1, 6).Draw(rt, "verbs")
		for _, verb := range verbs {
			if verb == "restart" {
				e.Close()
				e = enginetest.OpenOn(t, s, reg, engine.Options{})
				continue
			}
			var wg sync.WaitGroup
			for range 2 { // two operators request the same action
				wg.Go(func() {
					switch _, err := e.Do(run.ID, verb); domain.CodeOf(err) {
					case "", domain.CodeConflict:
					default:
						rt.Errorf("%s: %v", verb, err)
					}
				})
			}
			wg.Wait()
		}
		r := unblock(rt, e, run.ID)
		got := resultOf(rt, e, run.ID)
		if slices.Contains(verbs, domain.ActionCancel) { // the second of two cancels may end finally steps
			want, got = withoutFinally(want), withoutFinally(got)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("%s\nafter %v, untouched (-) and touched (+) differ:\n%s\n%s", src, verbs, diff, e.Journal(r.ID))
		}
		onlyOnce(rt, s, run.ID)
		e.Close()
	})
}

// withoutFinally removes the results of finally steps.
func withoutFinally(o outcome) outcome {
	last := func(name string) bool { return strings.HasPrefix(name, "f") }
	o.Path, o.Failed = slices.DeleteFunc(slices.Clone(o.Path), last), slices.DeleteFunc(slices.Clone(o.Failed), last)
	o.Outputs = maps.Clone(o.Outputs)
	maps.DeleteFunc(o.Outputs, func(name, _ string) bool { return last(name) })
	return o
}

func resultOf(rt *rapid.T, e *enginetest.Engine, run string) outcome {
	r, err := e.Result(context.Background(), run)
	if err != nil {
		rt.Fatal(err)
	}
	return outcomeOf(r)
}

// unblock acts as a person would until the run has ended.
func unblock(rt *rapid.T, e *enginetest.Engine, run string) domain.Run {
	ctx := context.Background()
	for range 50 {
		r := e.Settle(run)
		var err error
		d, detailErr := e.Detail(ctx, run)
		if detailErr != nil {
			rt.Fatal(detailErr)
		}
		switch {
		case r.Status == domain.RunCompleted:
			return r
		case len(d.Waits) > 0 && hasDoubt(d.Waits):
			for _, w := range d.Waits {
				if w.Reason == domain.WaitInDoubt {
					_, err = e.Resolve(
						ctx,
						enginetest.Operator,
						domain.ResolveRequest{Run: run, Node: w.Node, Visit: w.Visit, Item: w.Item, Action: "retry"},
					)
				}
			}
		case r.Paused:
			_, err = e.Do(run, domain.ActionUnpause)
		default:
			_, err = e.Do(run, domain.ActionResume)
		}
		if err != nil && domain.CodeOf(err) != domain.CodeConflict {
			rt.Fatalf("letting go of a run that is %s %s: %v\n%s", r.Status, r.WaitReason, err, e.Journal(run))
		}
	}
	rt.Fatalf("the run does not end\n%s", e.Journal(run))
	return domain.Run{}
}

func hasDoubt(waits []domain.Wait) bool {
	for _, w := range waits {
		if w.Reason == domain.WaitInDoubt {
			return true
		}
	}
	return false
}

// onlyOnce checks that no visit or item completed twice.
func onlyOnce(rt *rapid.T, s *store.Store, run string) {
	rows, err := s.Journal(context.Background(), run, 0)
	if err != nil {
		rt.Fatal(err)
	}
	done := map[enginetest.Call]bool{}
	for _, row := range rows {
		if !row.Final || row.Status != domain.NodeCompleted {
			continue
		}
		k := enginetest.Call{Node: row.Node, Visit: row.Visit, Item: row.Item}
		if done[k] {
			rt.Fatalf("%+v completed twice", k)
		}
		done[k] = true
	}
	checks, err := recovery.Doctor(context.Background(), s)
	if err != nil {
		rt.Fatal(err)
	}
	for _, c := range checks {
		if len(c.Problems) > 0 && c.Name != "space" {
			rt.Fatalf("doctor: %s: %v", c.Name, c.Problems)
		}
	}
}
