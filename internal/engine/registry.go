package engine

import (
	"sync"

	"github.com/kairosd/kairosd/internal/domain"
)

// registry finds the runner of a run, and starts one for a waiting run. It is safe for concurrent
// use. mu guards all fields except make and launch, which are set once.
type registry struct {
	// make returns a new runner, and launch starts its goroutine. Both are called with mu held.
	make   func(run string) *runner
	launch func(*runner)

	mu     sync.Mutex
	active map[string]*runner
	// created holds the queued runs that no runner has loaded since they were created. A nil value
	// means that the run is being created.
	created map[string]*domain.Run
	// defective holds runs whose runner panicked. Only an action of a person or the next start
	// loads them again.
	defective map[string]bool
	opened    bool
	stopping  bool
}

func newRegistry(make_ func(run string) *runner, launch func(*runner)) *registry {
	return &registry{
		make:      make_,
		launch:    launch,
		active:    map[string]*runner{},
		created:   map[string]*domain.Run{},
		defective: map[string]bool{},
	}
}

// open allows runs to be loaded. It returns false if that was allowed before, or if the engine is
// stopping.
func (r *registry) open() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opened || r.stopping {
		return false
	}
	r.opened = true
	return true
}

// stop prevents further runs from being loaded. It returns the active runners, and whether this is
// the first call.
func (r *registry) stop() (list []*runner, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first, r.stopping = !r.stopping, true
	for _, a := range r.active {
		list = append(list, a)
	}
	return list, first
}

func (r *registry) isStopping() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopping
}

// get returns the runner of a run, or nil.
func (r *registry) get(run string) *runner {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active[run]
}

// count returns the number of runners.
func (r *registry) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.active)
}

// post posts a message to the runner of a run, and starts one if the run is waiting. It returns
// false if the engine does not execute runs (any more).
func (r *registry) post(run string, m message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.active[run]; a != nil {
		a.inbox.post(m)
		return true
	}
	if r.stopping || !r.opened {
		return false
	}
	if r.defective[run] {
		switch m := m.(type) {
		case actionMsg, resolveMsg, decideMsg:
		case answerable:
			m.answer(ErrFenced)
			return true
		default:
			return true
		}
		delete(r.defective, run)
	}
	r.begin(run, m)
	return true
}

// postIfActive posts a message to a run with a runner. It does nothing for other runs.
func (r *registry) postIfActive(run string, m message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.active[run]; a != nil {
		a.inbox.post(m)
	}
}

// wakeOnce wakes all runners.
func (r *registry) wakeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.active {
		a.inbox.wakeOnce()
	}
}

// granted notifies a run that it has a slot. It returns false if the run has no use for the slot,
// so that the caller must release it. While the engine is stopping, the slot needs no release.
func (r *registry) granted(g slotGrant) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.active[g.run]; a != nil {
		a.inbox.post(slotMsg{g.token})
		return true
	}
	if r.defective[g.run] {
		return false
	}
	if !r.stopping {
		r.begin(g.run, slotMsg{g.token})
	}
	return true
}

// begin starts a runner with a message. The caller holds mu.
func (r *registry) begin(run string, m message) {
	a := r.make(run)
	// The first runner gets the run as it was created. The first journal row outdates that.
	a.created = r.created[run]
	delete(r.created, run)
	r.active[run] = a
	a.inbox.post(m)
	r.launch(a)
}

// evict removes a runner unless a message was posted to it meanwhile.
func (r *registry) evict(a *runner) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !a.inbox.close() {
		return false
	}
	if r.active[a.id] == a {
		delete(r.active, a.id)
	}
	return true
}

// setDefective marks a run whose runner panicked.
func (r *registry) setDefective(run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.defective[run] = true
}

// creating announces a run that is about to be stored.
func (r *registry) creating(run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.created[run] = nil
}

// notCreated withdraws the announcement.
func (r *registry) notCreated(run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.created, run)
}

// untouched reports whether no runner has loaded the run since it was created.
func (r *registry) untouched(run string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.created[run] != nil
}

// keepCreated keeps an announced run for its first runner, unless it has had one. It returns
// whether the engine loads runs.
func (r *registry) keepCreated(run *domain.Run, keep bool) (open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	open = r.opened && !r.stopping
	if _, untouched := r.created[run.ID]; untouched && open && keep {
		r.created[run.ID] = run
	} else {
		delete(r.created, run.ID)
	}
	return open
}
