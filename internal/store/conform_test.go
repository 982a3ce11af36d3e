package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// The rules of a store are checked with two implementations that share no code: the real store, and
// a model in memory. Each case states what a caller sees. The real store is then closed and
// opened again, and must show the same.

var (
	_ engine.Store = (*storetest.Model)(nil)
	_ engine.Store = (*store.Store)(nil)
)

// Every rule holds for the model and for the real store, also after the real store was closed and
// opened again.
func TestConformance(t *testing.T) {
	t.Parallel()
	if len(rules) < 80 {
		t.Errorf("%d rules", len(rules))
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			model := newCaller(t, storetest.NewModel())
			r.do(model)
			if got := strings.Join(model.messages, "|"); got != r.want {
				t.Errorf("the model says\n%s, want\n%s", got, r.want)
			}
			path := filepath.Join(t.TempDir(), "kairos.db")
			s, err := store.Open(t.Context(), path, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			real := newCaller(t, s)
			r.do(real)
			if got := strings.Join(real.messages, "|"); got != r.want {
				t.Errorf("the store says\n%s, want\n%s", got, r.want)
			}
			before := real.everything()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			real.s = storetest.OpenAt(t, path)
			if after := real.everything(); after != before {
				t.Errorf("before it was closed\n%s\nafter it was opened again\n%s", before, after)
			}
		})
	}
}

// After random valid and invalid actions, the model and the real store are equal, whenever the real
// store is closed and opened again.
func TestTheStoreIsTheModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n), "kairos.db")
		s, err := store.Open(context.Background(), path, store.Options{})
		if err != nil {
			rt.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				rt.Error(err)
			}
		}()
		model, real := newCaller(t, storetest.NewModel()), newCaller(t, s)
		both := func(do func(c *caller)) {
			rt.Helper()
			model.messages, real.messages = nil, nil
			do(model)
			do(real)
			if a, b := strings.Join(model.messages, "|"), strings.Join(real.messages, "|"); a != b {
				rt.Fatalf("the model says\n%s, the store\n%s", a, b)
			}
		}
		chains := []*[2]domain.Chain{nil, {}, {}}
		for range rapid.IntRange(1, 25).Draw(rt, "acts") {
			switch act := rapid.IntRange(0, 9).Draw(rt, "act"); {
			case act == 0:
				v := newVersion(
					rapid.SampledFrom([]string{"p", "q"}).Draw(rt, "plan"),
					fmt.Sprint("h", rapid.IntRange(1, 6).Draw(rt, "hash")),
				)
				v.Base = rapid.SampledFrom([]string{"", "", "h1", "h2"}).Draw(rt, "base")
				v.Origin = rapid.SampledFrom([]string{"upload", "replan"}).Draw(rt, "origin")
				both(func(c *caller) { c.put(v) })
			case act < 3 || len(model.runs) == 0:
				r := domain.NewRun{
					ID:       domain.NewID(),
					Hash:     rapid.SampledFrom([]string{"h1", "h1", "h2"}).Draw(rt, "of"),
					Priority: rapid.IntRange(-1, 1).Draw(rt, "priority"),
					Key: rapid.SampledFrom([]string{"", "", "k"}).
						Draw(rt, "key"),
					Audit: []domain.AuditRecord{{Action: "run.created", Actor: "marta"}},
				}
				if rapid.Bool().Draw(rt, "concurrency") {
					r.Concurrency = &domain.Concurrency{
						Key:        rapid.SampledFrom([]string{"one", "two"}).Draw(rt, "concurrency key"),
						Limit:      1,
						OnConflict: rapid.SampledFrom([]string{"queue", "skip", "cancel_oldest"}).Draw(rt, "on conflict"),
					}
				}
				both(func(c *caller) { c.create(r) })
			case act == 3:
				if err := s.Close(); err != nil {
					rt.Fatal(err)
				}
				if s, err = store.Open(context.Background(), path, store.Options{}); err != nil {
					rt.Fatal(err)
				}
				real.s = s
			default:
				at := rapid.IntRange(0, len(model.runs)-1).Draw(rt, "run")
				r, err := model.s.Run(context.Background(), model.runs[at])
				if err != nil {
					rt.Fatal(err)
				}
				k := drawCheckpoint(rt, r)
				chain := rapid.SampledFrom(chains).Draw(rt, "chain")
				both(func(c *caller) {
					k := k
					k.Run = c.runs[at]
					if chain != nil { // each store has its own
						k.Chain = &chain[0]
						if c == real {
							k.Chain = &chain[1]
						}
					}
					for i := range k.Entries {
						k.Entries[i].Seq = 0
					}
					c.commit(k)
				})
			}
		}
		if a, b := model.everything(), real.everything(); a != b {
			rt.Fatalf("the model has\n%s\nthe store has\n%s", a, b)
		}
		checks, err := recovery.Verify(context.Background(), s)
		if err != nil {
			rt.Fatal(err)
		}
		for _, c := range checks {
			if len(c.Problems) > 0 {
				rt.Fatalf("%s: %v", c.Name, c.Problems)
			}
		}
	})
}

// drawCheckpoint draws a checkpoint that is usually valid for a run.
func drawCheckpoint(rt *rapid.T, r domain.Run) domain.Checkpoint {
	k := domain.Checkpoint{Fence: r.LastSeq}
	if rapid.IntRange(0, 7).Draw(rt, "misses") == 0 {
		k.Fence += int64(rapid.IntRange(-1, 1).Draw(rt, "by"))
	}
	for i := range rapid.IntRange(0, 3).Draw(rt, "rows") {
		e := entry(
			rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "node"),
			rapid.SampledFrom([]string{"1", `{"x":[1,2]}`, text(5000), "null"}).Draw(rt, "value"),
		)
		e.Visit, e.At, e.StartedAt = int(r.LastSeq)+i+1, noon, noon
		k.Entries = append(k.Entries, e)
	}
	if rapid.Bool().Draw(rt, "patched") {
		p := &domain.RunPatch{
			AddSteps: int64(rapid.IntRange(0, 2).Draw(rt, "steps")),
			AddPath:  rapid.SampledFrom([]string{"", "c", "ff"}).Draw(rt, "path"),
		}
		if rapid.Bool().Draw(rt, "moves") {
			p.Status = rapid.SampledFrom(domain.RunStatuses).Draw(rt, "status")
			if p.Status == domain.RunWaiting {
				p.WaitReason = rapid.SampledFrom(domain.WaitReasons).Draw(rt, "reason")
			}
		}
		if rapid.IntRange(0, 3).Draw(rt, "says") == 0 {
			p.Headline, p.Output = ptr("headline"), domain.RawJSON(text(4500))
		}
		if rapid.IntRange(0, 3).Draw(rt, "costs") == 0 {
			p.AddUsage = domain.Usage{InputTokens: 3, Cost: 0.5}
		}
		k.Patch = p
	}
	if rapid.IntRange(0, 4).Draw(rt, "noted") == 0 {
		k.Audit = []domain.AuditRecord{{Action: "note", Actor: "w"}}
	}
	return k
}
