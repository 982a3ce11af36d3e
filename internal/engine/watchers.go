package engine

import (
	"slices"
	"sync"
)

// watchers are those who wait for a change of a run's status. It is safe for concurrent
// use.
type watchers struct {
	mu    sync.Mutex
	byRun map[string][]chan struct{} // guarded by mu
}

// watch returns a channel that is closed at the run's next change, and a function that
// ends the watch.
func (w *watchers) watch(run string) (changed <-chan struct{}, forget func()) {
	c := make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byRun == nil {
		w.byRun = map[string][]chan struct{}{}
	}
	w.byRun[run] = append(w.byRun[run], c)
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		list := slices.DeleteFunc(w.byRun[run], func(other chan struct{}) bool { return other == c })
		if w.byRun[run] = list; len(list) == 0 {
			delete(w.byRun, run)
		}
	}
}

// changed wakes those who wait for a run.
func (w *watchers) changed(run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.byRun[run] {
		close(c)
	}
	delete(w.byRun, run)
}
