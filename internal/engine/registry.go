package engine

import (
	"sync"

	"github.com/kairosd/kairosd/internal/domain"
)

// registry finds the runner of a run, and brings a run back that only waits. It is safe
// for concurrent use: mu guards all fields but make and launch, which are set once.
type registry struct {
	// make returns a new runner, launch starts its goroutine. Both are called under mu.
	make   func(run string) *runner
	launch func(*runner)

	mu     sync.Mutex
	active map[string]*runner
	// created are the queued runs that no runner has picked up since they were
	// created, as they were created; nil: being created.
	created map[string]*domain.Run
	// defective are runs whose runner ended by a panic. Only a person's action, or
	// the next start, takes them up again.
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

// open lets runs be picked up; false: they are already, or the engine stops.
func (r *registry) open() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opened || r.stopping {
		return false
	}
	r.opened = true
	return true
}

// stop lets no run be picked up any more. It returns the runners at work, and whether this
// is the first stop.
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

// get is the runner of a run; nil: it has none.
func (r *registry) get(run string) *runner {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active[run]
}

// count is how many runs have a runner.
func (r *registry) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.active)
}

// post hands a message to a run's runner, bringing the run back if it only
// waits. It reports false when the engine does not execute (any more).
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

// tell hands a message to a run that has a runner; one that only waits is left alone.
func (r *registry) tell(run string, m message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.active[run]; a != nil {
		a.inbox.post(m)
	}
}

// nudge wakes all runners.
func (r *registry) nudge() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.active {
		a.inbox.nudge()
	}
}

// granted notifies a run that it may work; false: no one takes the slot, which must be given
// back. While the engine stops, the slot goes with it.
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

// begin brings a run back to deal with a message. The caller holds mu.
func (r *registry) begin(run string, m message) {
	a := r.make(run)
	// The first runner has the run as it was created; the first row of its journal
	// outdates that.
	a.created = r.created[run]
	delete(r.created, run)
	r.active[run] = a
	a.inbox.post(m)
	r.launch(a)
}

// evict forgets a runner if nothing was posted to it meanwhile.
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

// setDefective marks a run whose runner ends by a panic.
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

// notCreated takes the announcement back.
func (r *registry) notCreated(run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.created, run)
}

// untouched reports whether a run is as it was created and queued: no runner has taken it up.
func (r *registry) untouched(run string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.created[run] != nil
}

// keepCreated keeps an announced run, as it was stored, for its first runner, unless it
// has had one already. It reports whether the engine takes runs up.
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
