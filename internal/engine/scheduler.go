package engine

import (
	"cmp"
	"container/heap"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Load is the load of an engine.
type Load struct {
	Working      int       // runs that hold a slot
	Queued       int       // runs that wait for one
	Oldest       time.Time // when the oldest of these was created; zero if none waits
	Nodes        int       // nodes that hold a slot
	NodesWaiting int       // runs that wait for a node slot
}

// ticket is the position of a run in the queue.
type ticket struct {
	run      string
	priority int
	age      time.Time
	key      string // concurrency key
	limit    int
	index    int
}

func ticketOf(r *domain.Run) *ticket {
	t := &ticket{run: r.ID, priority: r.Priority, age: r.CreatedAt}
	if c := r.Concurrency; c != nil && c.Key != "" {
		t.key, t.limit = c.Key, max(c.Limit, 1)
	}
	return t
}

// scheduler manages two kinds of slots: at most maxRuns runs are active at once, and at most
// maxNodes nodes run at once. The others wait by priority, then by age. A run with a concurrency
// key is admitted only while fewer runs than its limit are active, and stays admitted until it is
// final.
//
// A token identifies a slot that a run holds. A message notifies the runner of a granted slot. When
// the message arrives, the token shows whether the run still holds that slot. Returning a slot also
// requires its token.
type scheduler struct {
	grant func(slotGrant)

	mu      sync.Mutex
	maxRuns int
	working map[string]slotToken // runs that hold a slot
	tokens  slotToken            // the last token
	atWork  atomic.Int64         // number of runs in working
	queue   ticketHeap
	queued  map[string]*ticket
	active  map[string]map[string]bool // concurrency key → admitted runs
	blocked map[string][]*ticket       // tickets that wait for their key
	stopped bool
	closed  bool // for maintenance: no slot is granted

	maxNodes  int
	freeNodes int
	nodeQueue waiterHeap
}

// slotToken identifies a slot that a run holds. 0 means none.
type slotToken int64

// slotGrant is a slot that a queued run got.
type slotGrant struct {
	run   string
	token slotToken
}

func newScheduler(maxRuns, maxNodes int, granted func(slotGrant)) *scheduler {
	return &scheduler{grant: granted, maxRuns: maxRuns, working: map[string]slotToken{}, queued: map[string]*ticket{},
		active: map[string]map[string]bool{}, blocked: map[string][]*ticket{}, maxNodes: maxNodes, freeNodes: maxNodes}
}

// enqueue adds a run to the queue. It gets a slot at once if one is free.
func (s *scheduler) enqueue(t *ticket) {
	s.mu.Lock()
	if s.stopped || s.working[t.run] != 0 || s.queued[t.run] != nil {
		s.mu.Unlock()
		return
	}
	s.queued[t.run] = t
	heap.Push(&s.queue, t)
	granted := s.pump()
	s.mu.Unlock()
	s.hand(granted)
}

// try takes a slot if one is free and no other run is first. It returns 0 otherwise. If the run has
// a granted slot of which it has not been notified, try returns that slot.
func (s *scheduler) try(t *ticket) slotToken {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.working[t.run] != 0 {
		return s.take(t)
	}
	if s.stopped || s.closed || len(s.working) >= s.maxRuns || len(s.queue) > 0 && before(s.queue[0], t) || !s.admitted(t) {
		return 0
	}
	s.drop(t.run)
	return s.take(t)
}

// holds reports whether a run still holds the slot of a token.
func (s *scheduler) holds(run string, token slotToken) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return token != 0 && s.working[run] == token
}

// release returns the slot of a run, if the run still holds it.
func (s *scheduler) release(run string, token slotToken) {
	s.mu.Lock()
	if s.working[run] != token {
		s.mu.Unlock()
		return
	}
	s.leave(run)
	granted := s.pump()
	s.mu.Unlock()
	s.hand(granted)
}

// ended removes a final run from the queue and from its concurrency key.
func (s *scheduler) ended(run, key string) {
	s.mu.Lock()
	s.leave(run)
	s.drop(run)
	if key != "" {
		delete(s.active[key], run)
		if len(s.active[key]) == 0 {
			delete(s.active, key)
		}
		for _, t := range s.blocked[key] {
			heap.Push(&s.queue, t)
		}
		delete(s.blocked, key)
	}
	granted := s.pump()
	s.mu.Unlock()
	s.hand(granted)
}

// forget removes a run from the queue.
func (s *scheduler) forget(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(run)
}

// withdraw removes a run from the queue. It returns false if the run was admitted.
func (s *scheduler) withdraw(run, key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active[key][run] {
		return false
	}
	s.drop(run)
	return true
}

// hasKey reports whether a run counts as active under its concurrency key.
func (s *scheduler) hasKey(key, run string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active[key][run]
}

// holdKey counts a run as active under its concurrency key.
func (s *scheduler) holdKey(key, run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admit(key, run)
}

// setClosed stops granting slots, or grants slots to waiting runs again.
func (s *scheduler) setClosed(on bool) (granted []slotGrant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = on
	return s.pump()
}

func (s *scheduler) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.queue, s.queued, s.blocked = nil, map[string]*ticket{}, map[string][]*ticket{}
}

// load returns the load.
func (s *scheduler) load() Load {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := Load{Working: len(s.working), Queued: len(s.queued), NodesWaiting: len(s.nodeQueue), Nodes: s.maxNodes - s.freeNodes}
	for _, t := range s.queued {
		if l.Oldest.IsZero() || t.age.Before(l.Oldest) {
			l.Oldest = t.age
		}
	}
	return l
}

func (s *scheduler) hand(granted []slotGrant) {
	for _, g := range granted {
		s.grant(g)
	}
}

func (s *scheduler) pump() []slotGrant {
	var granted []slotGrant
	for !s.stopped && !s.closed && len(s.working) < s.maxRuns && len(s.queue) > 0 {
		t := heap.Pop(&s.queue).(*ticket)
		if s.queued[t.run] != t {
			continue
		}
		if !s.admitted(t) {
			s.blocked[t.key] = append(s.blocked[t.key], t)
			continue
		}
		delete(s.queued, t.run)
		granted = append(granted, slotGrant{t.run, s.take(t)})
	}
	return granted
}

func (s *scheduler) admitted(t *ticket) bool {
	if t.key == "" {
		return true
	}
	active := s.active[t.key]
	return active[t.run] || len(active) < t.limit
}

func (s *scheduler) admit(key, run string) {
	if s.active[key] == nil {
		s.active[key] = map[string]bool{}
	}
	s.active[key][run] = true
}

func (s *scheduler) take(t *ticket) slotToken {
	s.tokens++
	s.working[t.run] = s.tokens
	s.atWork.Store(int64(len(s.working)))
	if t.key != "" {
		s.admit(t.key, t.run)
	}
	return s.tokens
}

// leave is the opposite of take. The concurrency key stays until the run ends.
func (s *scheduler) leave(run string) {
	delete(s.working, run)
	s.atWork.Store(int64(len(s.working)))
}

func (s *scheduler) drop(run string) {
	t := s.queued[run]
	if t == nil {
		return
	}
	delete(s.queued, run)
	if t.index >= 0 && t.index < len(s.queue) && s.queue[t.index] == t {
		heap.Remove(&s.queue, t.index)
	}
}

// acquireNode takes a node slot. If none is free, it registers granted, which is called when the
// run gets a slot. The run must then use the slot or return it.
func (s *scheduler) acquireNode(granted func() bool, priority int, age time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.freeNodes > 0 {
		s.freeNodes--
		return true
	}
	heap.Push(&s.nodeQueue, &waiter{granted, priority, age})
	return false
}

// releaseNode passes a node slot to the first waiting run, or frees it.
func (s *scheduler) releaseNode() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.freeNodes++
	s.pumpNodes()
}

func (s *scheduler) pumpNodes() {
	for s.freeNodes > 0 && len(s.nodeQueue) > 0 {
		w := heap.Pop(&s.nodeQueue).(*waiter)
		if w.granted() {
			s.freeNodes--
		}
	}
}

// resize changes the limits. Slots in use stay in use. Above a lower limit, no slot is granted
// until enough have been returned.
func (s *scheduler) resize(maxRuns, maxNodes int) {
	s.mu.Lock()
	s.freeNodes += maxNodes - s.maxNodes
	s.maxRuns, s.maxNodes = maxRuns, maxNodes
	s.pumpNodes()
	granted := s.pump()
	s.mu.Unlock()
	s.hand(granted)
}

// slots returns the active limits.
func (s *scheduler) slots() (runs, nodes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.maxRuns, s.maxNodes
}

func before(a, b *ticket) bool {
	return cmp.Or(cmp.Compare(b.priority, a.priority), a.age.Compare(b.age), cmp.Compare(a.run, b.run)) < 0
}

type ticketHeap []*ticket

func (h ticketHeap) Len() int           { return len(h) }
func (h ticketHeap) Less(i, j int) bool { return before(h[i], h[j]) }
func (h ticketHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *ticketHeap) Push(x any) { t := x.(*ticket); t.index = len(*h); *h = append(*h, t) }
func (h *ticketHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.index = -1
	return t
}

// waiter is a run that waits for a node slot. granted notifies it, and returns false if the run has
// ended.
type waiter struct {
	granted  func() bool
	priority int
	age      time.Time
}

type waiterHeap []*waiter

func (h waiterHeap) Len() int { return len(h) }
func (h waiterHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[j].priority, h[i].priority), h[i].age.Compare(h[j].age)) < 0
}
func (h waiterHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *waiterHeap) Push(x any)   { *h = append(*h, x.(*waiter)) }
func (h *waiterHeap) Pop() any {
	old := *h
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return w
}
