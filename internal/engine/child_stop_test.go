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

// heldRead is a store that answers the first read of a cancelled run late, after arm.
type heldRead struct {
	*store.Store
	mu          sync.Mutex
	run         string
	asked, free chan struct{}
}

func (s *heldRead) Run(ctx context.Context, id string) (domain.Run, error) {
	r, err := s.Store.Run(ctx, id)
	s.mu.Lock()
	hold := id == s.run && r.Status == domain.RunCancelled
	if hold {
		s.run = ""
	}
	s.mu.Unlock()
	if hold {
		close(s.asked)
		<-s.free
	}
	return r, err
}

// A run is resumed, and cancelled again before its child run is resumed. The child run ends, too.
func TestACancellationBeforeAChildRunIsResumed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), filepath.Join(dir, "kairos.db"), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		held := &heldRead{Store: s, asked: make(chan struct{}), free: make(chan struct{})}
		e := enginetest.OpenWith(t, s, held, enginetest.NewRegistry(), engine.Options{})
		e.Save(`{id: child, nodes: {a: {type: approval, input: {message: "go on?"}}}}`)
		run := e.Begin(e.Save(`{nodes: {sub: {type: plan, plan: child}}}`), "")
		e.Until(run.ID, domain.RunWaiting, domain.WaitChild)
		synctest.Wait()
		child := liveChild(t, s, run.ID)
		if _, err := e.Do(run.ID, domain.ActionCancel); err != nil {
			t.Fatal(err)
		}
		e.Settle(child)
		synctest.Wait()
		held.mu.Lock()
		held.run = child
		held.mu.Unlock()
		if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
			t.Fatal(err)
		}
		<-held.asked
		if _, err := e.Do(run.ID, domain.ActionCancel); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		close(held.free)
		synctest.Wait()
		if r, err := s.Run(t.Context(), child); err != nil || r.Status != domain.RunCancelled {
			t.Errorf("its run is cancelled, and the child run is %s %v\n%s", r.Status, err, e.Journal(child))
		}
		e.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func liveChild(t *testing.T, s *store.Store, run string) string {
	t.Helper()
	list, err := s.LiveChildren(t.Context(), run)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return list[0]
}
