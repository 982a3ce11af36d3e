package engine

import (
	"context"
	"sync"

	"github.com/kairosd/kairosd/internal/kairos"
)

const (
	listenerBuffer = 1024 // events that a listener may be behind
	catchUpPage    = 500
)

// bus hands committed events to listeners. It never waits for one: a listener
// that does not keep up is told to start over and cut (SPEC 8).
type bus struct {
	store Store

	mu        sync.Mutex
	heard     int64                         // events published, whoever listened
	listeners map[string]map[*listener]bool // by run; "": of all runs
	stopped   chan struct{}
	once      sync.Once
}

// listener buffers what it has not delivered yet. What it buffers is shared by
// all listeners: it must not be changed.
type listener struct {
	run string

	mu       sync.Mutex
	buffer   [][]kairos.Event
	events   int // in buffer
	overflow bool
	wake     chan struct{}
}

func newBus(store Store) *bus {
	return &bus{store: store, listeners: map[string]map[*listener]bool{}, stopped: make(chan struct{})}
}

func (b *bus) add(l *listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listeners[l.run] == nil {
		b.listeners[l.run] = map[*listener]bool{}
	}
	b.listeners[l.run][l] = true
}

func (b *bus) remove(l *listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.listeners[l.run], l)
	if len(b.listeners[l.run]) == 0 {
		delete(b.listeners, l.run)
	}
}

// count is how many listen.
func (b *bus) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, l := range b.listeners {
		n += len(l)
	}
	return n
}

func (b *bus) stop() { b.once.Do(func() { close(b.stopped) }) }

// HandleCommit is the store's hook: it is called after each commit, in order,
// with the audit events that became durable and their journal rows.
func (e *Engine) HandleCommit(events []kairos.AuditEvent) {
	e.bus.commit(events, e.store, func(ev kairos.AuditEvent, incarnation string) []kairos.Event { return e.deriveLive(ev, incarnation) })
}

// commit runs on the store's writer: it derives each event once and gives every
// listener all of a commit at once, so that many listeners cost a run little.
func (b *bus) commit(events []kairos.AuditEvent, store Store, derive func(kairos.AuditEvent, string) []kairos.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heard += int64(len(events))
	if len(b.listeners) == 0 {
		return
	}
	incarnation := store.Incarnation()
	everybody := len(b.listeners[""]) > 0
	var all []kairos.Event
	var own map[string][]kairos.Event // of runs that have listeners of their own
	for i := range events {
		run := events[i].Run
		followed := run != "" && len(b.listeners[run]) > 0
		if !everybody && !followed {
			continue
		}
		derived := derive(events[i], incarnation)
		for j := range derived {
			derived[j].Heard = b.heard
		}
		if everybody {
			all = append(all, derived...)
		}
		if followed {
			if own == nil {
				own = map[string][]kairos.Event{}
			}
			own[run] = append(own[run], derived...)
		}
	}
	for l := range b.listeners[""] {
		l.push(all)
	}
	for run, list := range own {
		for l := range b.listeners[run] {
			l.push(list)
		}
	}
}

// live sends an event that is not stored.
func (b *bus) live(ev kairos.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heard++
	if len(b.listeners) == 0 {
		return
	}
	ev.Heard = b.heard
	one := []kairos.Event{ev}
	for l := range b.listeners[""] {
		l.push(one)
	}
	if ev.Run != "" {
		for l := range b.listeners[ev.Run] {
			l.push(one)
		}
	}
}

// Heard is how many events this process has published so far, those that are not
// stored among them. Whoever reads it before the store, and finds the same number
// once it listens, has missed nothing.
func (e *Engine) Heard() int64 {
	e.bus.mu.Lock()
	defer e.bus.mu.Unlock()
	return e.bus.heard
}

// Announce tells listeners of all runs something that is not stored.
func (e *Engine) Announce(typ string, data map[string]any) {
	e.bus.live(kairos.Event{Type: typ, At: e.now(), Data: data})
}

func (l *listener) push(events []kairos.Event) {
	if len(events) == 0 {
		return
	}
	l.mu.Lock()
	if !l.overflow {
		// One commit may hold more than the buffer; who keeps up takes it whole.
		if l.events > 0 && l.events+len(events) > listenerBuffer {
			l.overflow, l.buffer, l.events = true, nil, 0
		} else {
			l.buffer = append(l.buffer, events)
			l.events += len(events)
		}
	}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take empties the buffer; overflow says that events were lost since.
func (l *listener) take() (events [][]kairos.Event, overflow bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	events, overflow = l.buffer, l.overflow
	l.buffer, l.events, l.overflow = nil, 0, false
	return events, overflow
}

// Subscribe delivers events until the context ends: first those stored with
// Seq > after, then live ones, without a gap. run restricts to one run; a
// negative after means "only what happens from now on". A listener that does
// not keep up gets a "reset" event, and its channel is closed.
func (e *Engine) Subscribe(ctx context.Context, after int64, run string) (<-chan kairos.Event, error) {
	last, err := e.store.LastEvent(ctx)
	if err != nil {
		return nil, err
	}
	l := &listener{run: run, wake: make(chan struct{}, 1)}
	e.bus.add(l)
	out := make(chan kairos.Event, 64)
	reset := after > last // numbers of another life of the database
	if after < 0 || reset {
		after = last
	}
	go func() {
		defer close(out)
		defer e.bus.remove(l)
		d := &delivery{e: e, l: l, out: out, after: after}
		if reset && !d.send(ctx, kairos.Event{Type: "reset", At: e.now()}) {
			return
		}
		d.run(ctx)
	}()
	return out, nil
}

// delivery feeds one listener's channel.
type delivery struct {
	e     *Engine
	l     *listener
	out   chan<- kairos.Event
	after int64 // last stored event that was delivered
}

func (d *delivery) send(ctx context.Context, ev kairos.Event) bool {
	select {
	case d.out <- ev:
		return true
	case <-ctx.Done():
	case <-d.e.bus.stopped:
	}
	return false
}

func (d *delivery) run(ctx context.Context) {
	if !d.catchUp(ctx) {
		return
	}
	for {
		chunks, overflow := d.l.take()
		for _, events := range chunks {
			for _, ev := range events {
				if ev.Seq != 0 && ev.Seq <= d.after {
					continue
				}
				if !d.send(ctx, ev) {
					return
				}
			}
			d.after = max(d.after, lastSeq(events))
		}
		if overflow {
			select {
			case d.out <- kairos.Event{Type: "reset", At: d.e.now()}:
			default: // it does not even read; the closed channel tells it
			}
			return
		}
		select {
		case <-d.l.wake:
		case <-ctx.Done():
			return
		case <-d.e.bus.stopped:
			return
		}
	}
}

func lastSeq(events []kairos.Event) int64 {
	last := int64(0)
	for _, ev := range events {
		last = max(last, ev.Seq)
	}
	return last
}

// catchUp delivers stored events until the live buffer holds all newer ones.
func (d *delivery) catchUp(ctx context.Context) bool {
	incarnation := d.e.store.Incarnation()
	for {
		page, err := d.e.store.EventsAfter(ctx, d.after, d.l.run, catchUpPage)
		if err != nil {
			if ctx.Err() == nil {
				d.e.log.Error("events cannot be read", "err", err)
				d.send(ctx, kairos.Event{Type: "reset", At: d.e.now()})
			}
			return false
		}
		for i := range page {
			for _, ev := range d.e.derive(ctx, page[i], incarnation) {
				if !d.send(ctx, ev) {
					return false
				}
			}
			d.after = page[i].Seq
		}
		if len(page) == catchUpPage {
			continue
		}
		d.l.mu.Lock()
		lost := d.l.overflow
		if lost {
			d.l.overflow = false // what was lost is stored: read on
		}
		d.l.mu.Unlock()
		if !lost {
			return true
		}
	}
}
