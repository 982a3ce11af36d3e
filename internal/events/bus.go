package events

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

const (
	listenerBuffer = 1024     // maximum number of journal rows in a listener's buffer
	listenerBytes  = 32 << 20 // maximum size of the values in them
	catchUpPage    = 500
)

// Store contains the methods that the bus uses.
type Store interface {
	Run(ctx context.Context, id string) (domain.Run, error)
	// Journal returns a run's rows with Seq > after, in order. If a row is damaged, the error is
	// CodeCorrupt, and the result contains the rows before it.
	Journal(ctx context.Context, run string, after int64) ([]domain.Entry, error)
	// EventsAfter returns at most limit audit events with Seq > after, in order, with their journal
	// rows. If run is not empty, it returns only events of that run.
	EventsAfter(ctx context.Context, after int64, run string, limit int) ([]domain.AuditEvent, error)
	// LastEvent returns the newest audit sequence number.
	LastEvent(ctx context.Context) (int64, error)
	// Generation returns the generation of the database. Event ids begin with it.
	Generation() string
}

// Agent is the displayed identity of an agent.
type Agent struct{ Name, Icon, Color string }

// Config configures a [Bus]. Every field except Follow is required.
type Config struct {
	Store Store
	// Program compiles a stored version.
	Program func(ctx context.Context, ref domain.ProgramRef) (*runstate.Compiled, error)
	// Agent returns the identity of an agent. It is zero for an unknown agent.
	Agent func(id string) Agent
	Now   func() time.Time
	Log   *slog.Logger
	// Follow, if not nil, runs while a run has listeners of its own. It returns when its context ends.
	Follow func(ctx context.Context, run string)
}

// Bus derives events from commits and delivers them to listeners. It never waits for a listener:
// one that does not keep up is disconnected and must start again. It is safe for concurrent use.
type Bus struct {
	c     Config
	facts *factsCache

	mu        sync.Mutex
	count     int64                         // number of published events, with or without listeners
	listeners map[string]map[*listener]bool // by run; "" for all runs
	followed  map[string]context.CancelFunc // ends Follow; by run
	stopped   chan struct{}
	once      sync.Once
}

// listener buffers undelivered events. All listeners share the buffered records.
type listener struct {
	run string

	mu       sync.Mutex
	buffer   []*published
	events   int // in buffer
	bytes    int
	overflow bool
	wake     chan struct{}
}

// published is a committed record, or an event that is not stored. The first listener that reads a
// record derives its events for all listeners, because the store's writer, which publishes it, must
// not wait for a read.
type published struct {
	live  *domain.Event
	count int64
	seq   int64 // of the record
	size  int   // number of journal rows, at least 1
	bytes int

	mu      sync.Mutex
	record  domain.AuditEvent
	derived []domain.Event
	done    bool
}

// events returns the events of the record.
func (p *published) events(ctx context.Context, b *Bus) ([]domain.Event, error) {
	if p.live != nil {
		return []domain.Event{*p.live}, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return p.derived, nil
	}
	list, err := b.Derive(ctx, p.record)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Published = p.count
	}
	p.derived, p.done, p.record = list, true, domain.AuditEvent{}
	return list, nil
}

// publishedOf keeps the parts of a committed record from which its events are derived.
func publishedOf(ev domain.AuditEvent, count int64) *published {
	p := &published{count: count, seq: ev.Seq, size: max(1, len(ev.Entries)), record: ev}
	p.record.Entry = nil
	p.record.Entries = slices.Clone(ev.Entries)
	for i := range p.record.Entries {
		row := &p.record.Entries[i]
		row.Log = nil
		if row.Kind != domain.EntrySubstep { // of these rows, only a handoff is an event
			row.Input = nil
		}
		p.bytes += len(row.Input) + len(row.Output) + len(row.Decision)
	}
	return p
}

// New returns a bus without listeners.
func New(c Config) *Bus {
	return &Bus{c: c, facts: newFactsCache(), listeners: map[string]map[*listener]bool{}, followed: map[string]context.CancelFunc{},
		stopped: make(chan struct{})}
}

func (b *Bus) add(l *listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listeners[l.run] == nil {
		b.listeners[l.run] = map[*listener]bool{}
		if b.c.Follow != nil && l.run != "" {
			ctx, cancel := context.WithCancel(context.Background())
			b.followed[l.run] = cancel
			go b.c.Follow(ctx, l.run)
		}
	}
	b.listeners[l.run][l] = true
}

func (b *Bus) remove(l *listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.listeners[l.run], l)
	if len(b.listeners[l.run]) == 0 {
		delete(b.listeners, l.run)
		if end := b.followed[l.run]; end != nil {
			end()
			delete(b.followed, l.run)
		}
	}
}

// Listeners returns the number of subscriptions.
func (b *Bus) Listeners() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, l := range b.listeners {
		n += len(l)
	}
	return n
}

// Stop ends all subscriptions.
func (b *Bus) Stop() { b.once.Do(func() { close(b.stopped) }) }

// HandleCommit is the store's commit hook. It is called after each commit, in order, with the audit
// events that became durable and their journal rows.
func (b *Bus) HandleCommit(events []domain.AuditEvent) {
	b.facts.forget(events)
	b.commit(events) //seed:announce
}

// commit runs in the goroutine of the store's writer.
func (b *Bus) commit(events []domain.AuditEvent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count += int64(len(events))
	if len(b.listeners) == 0 {
		return
	}
	var all []*published
	var own map[string][]*published // of runs that have their own listeners
	everybody := len(b.listeners[""]) > 0
	for i := range events {
		run := events[i].Run
		followed := run != "" && len(b.listeners[run]) > 0
		if !everybody && !followed {
			continue
		}
		p := publishedOf(events[i], b.count)
		if everybody {
			all = append(all, p)
		}
		if followed {
			if own == nil {
				own = map[string][]*published{}
			}
			own[run] = append(own[run], p)
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

// Live sends an event that is not stored.
func (b *Bus) Live(ev domain.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
	if len(b.listeners) == 0 {
		return
	}
	ev.ID, ev.Ephemeral, ev.Published = domain.NewID(), true, b.count
	one := []*published{{live: &ev, count: b.count, size: 1}}
	for l := range b.listeners[""] {
		l.push(one)
	}
	if ev.Run != "" {
		for l := range b.listeners[ev.Run] {
			l.push(one)
		}
	}
}

// Published returns the number of events that this process has published so far, including events
// that are not stored. If a caller gets the same number before it reads the store and after it
// subscribes, it has missed no event.
func (b *Bus) Published() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count
}

// Announce sends an event that is not stored to the listeners of all runs.
func (b *Bus) Announce(typ string, data map[string]any) {
	b.Live(domain.Event{Type: typ, At: b.c.Now(), Data: data})
}

func (l *listener) push(list []*published) {
	if len(list) == 0 {
		return
	}
	events, bytes := 0, 0
	for _, p := range list {
		events += p.size
		bytes += p.bytes
	}
	l.mu.Lock()
	if !l.overflow {
		// One commit may be larger than the buffer. A listener that keeps up receives it
		// completely.
		if l.events > 0 && (l.events+events > listenerBuffer || l.bytes+bytes > listenerBytes) {
			l.overflow, l.buffer, l.events, l.bytes = true, nil, 0, 0 //seed:overflow
		} else {
			l.buffer = append(l.buffer, list...)
			l.events += events
			l.bytes += bytes
		}
	}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take empties the buffer. overflow reports that events were lost since the last call.
func (l *listener) take() (list []*published, overflow bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, overflow = l.buffer, l.overflow
	l.buffer, l.events, l.bytes, l.overflow = nil, 0, 0, false
	return list, overflow
}

// Subscribe delivers events until the context ends: first the stored ones with Seq > after, then
// live ones, without a gap. If run is not empty, it delivers only events of that run. A negative
// after means only live events. A listener that does not keep up receives a "reset" event, and its
// channel is closed.
func (b *Bus) Subscribe(ctx context.Context, after int64, run string) (<-chan domain.Event, error) {
	last, err := b.c.Store.LastEvent(ctx)
	if err != nil {
		return nil, err
	}
	l := &listener{run: run, wake: make(chan struct{}, 1)}
	b.add(l)
	out := make(chan domain.Event, 64)
	reset := after > last // a position from another generation of the database
	if after < 0 || reset {
		after = last
	}
	go func() {
		defer close(out)
		defer b.remove(l)
		d := &delivery{b: b, l: l, out: out, after: after}
		if reset && !d.send(ctx, d.reset()) {
			return
		}
		d.run(ctx)
	}()
	return out, nil
}

// delivery feeds one listener's channel.
type delivery struct {
	b     *Bus
	l     *listener
	out   chan<- domain.Event
	after int64 // last stored event that was delivered
}

func (d *delivery) send(ctx context.Context, ev domain.Event) bool {
	select {
	case d.out <- ev:
		return true
	case <-ctx.Done():
	case <-d.b.stopped:
	}
	return false
}

func (d *delivery) run(ctx context.Context) {
	if !d.catchUp(ctx) {
		return
	}
	for {
		list, overflow := d.l.take()
		for _, p := range list {
			if p.live == nil && p.seq <= d.after {
				continue
			}
			events, err := p.events(ctx, d.b)
			if err != nil {
				d.broken(ctx, err)
				return
			}
			for _, ev := range events {
				if !d.send(ctx, ev) {
					return
				}
			}
			d.after = max(d.after, p.seq)
		}
		if overflow {
			select {
			case d.out <- d.reset():
			default: // the listener does not read; the closed channel is sufficient
			}
			return
		}
		select {
		case <-d.l.wake:
		case <-ctx.Done():
			return
		case <-d.b.stopped:
			return
		}
	}
}

// reset requires a listener to read its data again.
func (d *delivery) reset() domain.Event {
	return domain.Event{ID: domain.NewID(), Type: "reset", At: d.b.c.Now(), Ephemeral: true}
}

// broken ends a delivery whose events cannot be read.
func (d *delivery) broken(ctx context.Context, err error) {
	if ctx.Err() == nil {
		d.b.c.Log.Error("events cannot be read", "err", err)
		d.send(ctx, d.reset())
	}
}

// catchUp delivers stored events until the live buffer holds all newer ones.
func (d *delivery) catchUp(ctx context.Context) bool {
	for {
		page, err := d.b.c.Store.EventsAfter(ctx, d.after, d.l.run, catchUpPage)
		if err != nil {
			d.broken(ctx, err)
			return false
		}
		for i := range page {
			events, err := d.b.Derive(ctx, page[i])
			if err != nil {
				d.broken(ctx, err)
				return false
			}
			for _, ev := range events {
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
			d.l.overflow = false // the lost events are stored, and are read next
		}
		d.l.mu.Unlock()
		if !lost {
			return true
		}
	}
}

// Events returns the stored events after a position, in order, as Subscribe would replay them. It
// reads at most limit rows of the audit log and returns the last position that it read. If run is
// not empty, it returns only events of that run.
func (b *Bus) Events(ctx context.Context, after int64, run string, limit int) ([]domain.Event, int64, error) {
	rows, err := b.c.Store.EventsAfter(ctx, after, run, limit)
	if err != nil {
		return nil, after, err
	}
	var events []domain.Event
	for i := range rows {
		derived, err := b.Derive(ctx, rows[i])
		if err != nil {
			return events, after, err
		}
		events = append(events, derived...)
		after = rows[i].Seq
	}
	return events, after, nil
}
