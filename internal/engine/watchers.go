package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/kairosd/kairosd/internal/domain"
)

// watchers wait for a change of a run's status. It is safe for concurrent use.
type watchers struct {
	// These fields are set once. created reports whether a run has had no runner since it was
	// created.
	read    func(ctx context.Context, run string) (domain.Run, error)
	created func(run string) bool
	stopped <-chan struct{}

	mu    sync.Mutex
	byRun map[string][]watch // guarded by mu
}

type watch struct {
	changed chan struct{}
	// atRest ignores changes to queued and running.
	atRest bool
}

// watch returns a channel that is closed at the next status change of the run, and a function that
// ends the watch. atRest ignores changes to queued and running.
func (w *watchers) watch(run string, atRest bool) (changed <-chan struct{}, forget func()) {
	c := make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byRun == nil {
		w.byRun = map[string][]watch{}
	}
	w.byRun[run] = append(w.byRun[run], watch{c, atRest})
	return c, func() { w.remove(run, func(other watch) bool { return other.changed == c }) }
}

// changed notifies the watchers of a run that it has a new status.
func (w *watchers) changed(run string, status domain.RunStatus) {
	moving := status == domain.RunQueued || status == domain.RunRunning
	w.remove(run, func(other watch) bool {
		if other.atRest && moving {
			return false
		}
		close(other.changed)
		return true
	})
}

// remove ends the watches of a run that are done.
func (w *watchers) remove(run string, done func(watch) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list, ok := w.byRun[run]
	if !ok {
		return
	}
	if list = slices.DeleteFunc(list, done); len(list) == 0 {
		delete(w.byRun, run)
		return
	}
	w.byRun[run] = list
}

// await returns when wanted accepts the run. If the context ends, it returns the run as it was last
// read. atRest ignores changes to queued and running, and does not read a run before it has a
// runner.
func (w *watchers) await(ctx context.Context, run string, atRest bool, wanted func(*domain.Run) bool) (domain.Run, error) {
	for {
		changed, forget := w.watch(run, atRest)
		r, err := domain.Run{Status: domain.RunQueued}, error(nil)
		if !atRest || !w.created(run) {
			if r, err = w.read(ctx, run); err != nil {
				forget()
				return domain.Run{}, err
			}
			if wanted(&r) {
				forget()
				return r, nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-w.stopped:
			err = domain.Errorf(domain.CodeUnavailable, "the engine stopped while run %s was %s", run, r.Status)
		}
		forget()
		if err != nil {
			return r, err
		}
	}
}
