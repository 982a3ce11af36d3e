package engine_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/planner/walk"
)

// slowLookup is a store that answers late that a run does not exist.
type slowLookup struct {
	*store.Store
	asked, answer chan struct{}
	once          sync.Once
}

func (s *slowLookup) Run(ctx context.Context, id string) (domain.Run, error) {
	r, err := s.Store.Run(ctx, id)
	if domain.CodeOf(err) == domain.CodeNotFound {
		s.once.Do(func() { close(s.asked) })
		<-s.answer
	}
	return r, err
}

// A child run that cannot start because the server stops starts after the next start of the server. Its step
// does not fail.
func TestAStopBeforeAChildRunStarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), filepath.Join(dir, "kairos.db"), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		registry := enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo).
			Handle("hold", walk.EffectPure, func(context.Context, *engine.Call) (engine.Result, error) {
				<-release // so that the run is still loaded
				return engine.Result{}, nil
			})
		slow := &slowLookup{Store: s, asked: make(chan struct{}), answer: make(chan struct{})}
		e := enginetest.OpenWith(t, s, slow, registry, engine.Options{})
		e.Save(`{id: child, nodes: {a: {type: call, input: done}}}`)
		run := e.Begin(e.Save(`{nodes: {h: {type: hold}, sub: {type: plan, plan: child}}, result: "${output.sub}"}`), "")
		<-slow.asked
		synctest.Wait()
		go e.Close()
		synctest.Wait()
		close(slow.answer)
		synctest.Wait()
		close(release)
		e.Close()
		e = enginetest.OpenOn(t, s, registry, engine.Options{})
		if run = e.Settle(run.ID); run.Status != domain.RunCompleted || string(run.Output) != `"done"` {
			t.Errorf("%s %s %+v\n%s", run.Status, run.Output, run.Error, e.Journal(run.ID))
		}
		e.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
