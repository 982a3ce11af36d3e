package tail

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Config configures a [Follower].
type Config struct {
	// Read returns the active attempts of a run.
	Read func(ctx context.Context, run string) (Active, error)
	// Publish sends an event that is not stored to the readers of its run.
	Publish func(domain.Event)
	// Pause is the time between two reads of a run with active attempts, and Rest that of another run, or after an error. Zero means
	// the default.
	Pause, Rest time.Duration
}

const (
	defaultPause = time.Second
	defaultRest  = 10 * time.Second
	// readTimeout limits a read for the readers of a run, and pageTimeout one for a page.
	readTimeout, pageTimeout = 5 * time.Second, time.Second
	// maxReads is the number of reads at the same time.
	maxReads = 16
	// forgetAfter is the time after which the output of a run without readers is forgotten.
	forgetAfter = time.Minute
)

// Follower reads the output of runs while they have readers. It is safe for concurrent use.
type Follower struct {
	c     Config
	slots chan struct{} // of reads

	mu   sync.Mutex
	runs map[string]*followed // guarded by mu
}

// followed is the output of a run, as it was last read.
type followed struct {
	readers int       // streams that follow the run; guarded by Follower.mu
	used    time.Time // guarded by Follower.mu
	wake    chan struct{}

	reading chan struct{} // one read at a time

	mu    sync.Mutex
	read  time.Time // time of the last read; guarded by mu
	err   error     // of it; guarded by mu
	begun bool      // it was read before; guarded by mu
	now   Active    // guarded by mu
	// published is the position of each active attempt; guarded by mu.
	published map[key]position
}

// NewFollower returns a follower.
func NewFollower(c Config) *Follower {
	c.Pause, c.Rest = cmp.Or(c.Pause, defaultPause), cmp.Or(c.Rest, defaultRest)
	return &Follower{c: c, slots: make(chan struct{}, maxReads), runs: map[string]*followed{}}
}

// Follow publishes the output of a run until the context ends. Output from before the first read is not published, so that no event is
// sent twice.
func (f *Follower) Follow(ctx context.Context, run string) {
	r := f.use(run, 1)
	defer f.use(run, -1)
	for ctx.Err() == nil {
		pause := f.c.Rest
		if n, err := f.refresh(ctx, run, r, readTimeout); err == nil && n > 0 {
			pause = f.c.Pause
		}
		select {
		case <-time.After(f.c.Pause):
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(pause - f.c.Pause):
		case <-r.wake:
		case <-ctx.Done():
		}
	}
}

// Wake reads a run that is followed soon, because it has changed.
func (f *Follower) Wake(run string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.runs[run]; r != nil {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// Describe adds the logs of active attempts to their intent rows, and returns the waits for workers. The rows are a copy.
func (f *Follower) Describe(ctx context.Context, run string, journal []domain.Entry) []domain.WorkerWait {
	r := f.use(run, 0)
	r.mu.Lock()
	age := time.Since(r.read)
	fresh := age < f.c.Pause || r.err != nil && age < f.c.Rest
	r.mu.Unlock()
	if !fresh {
		_, _ = f.refresh(ctx, run, r, pageTimeout) // the page shows what was read before
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.now.Tails {
		t := &r.now.Tails[i]
		if len(t.Log.Lines) == 0 && t.Log.Progress == nil {
			continue
		}
		if row, ended := Intent(journal, t.Node, t.Visit, t.Item, t.Attempt); row != nil && !ended {
			if raw, err := json.Marshal(t.Log); err == nil {
				row.Log = raw
			}
		}
	}
	return r.now.Waits
}

// use returns the entry of a run, adds to the number of its readers, and forgets old entries.
func (f *Follower) use(run string, readers int) *followed {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	r := f.runs[run]
	if r == nil {
		for id, other := range f.runs {
			if other.readers == 0 && now.Sub(other.used) > forgetAfter {
				delete(f.runs, id)
			}
		}
		r = &followed{wake: make(chan struct{}, 1), reading: make(chan struct{}, 1), published: map[key]position{}}
		f.runs[run] = r
	}
	r.readers += readers
	r.used = now
	return r
}

// refresh reads the output of a run, publishes what is new, and returns the number of active attempts.
func (f *Follower) refresh(ctx context.Context, run string, r *followed, timeout time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, slot := range []chan struct{}{r.reading, f.slots} {
		select {
		case slot <- struct{}{}:
			defer func() { <-slot }()
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	now, err := f.c.Read(ctx, run)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read, r.err = time.Now(), err
	if err != nil {
		return 0, err
	}
	published := make(map[key]position, len(now.Tails))
	for i := range now.Tails {
		t := &now.Tails[i]
		if r.begun {
			for _, e := range t.events(r.published[t.key()]) {
				f.c.Publish(e)
			}
		}
		published[t.key()] = t.end()
	}
	if !slices.Equal(now.Waits, r.now.Waits) {
		steps := 0
		for _, w := range now.Waits {
			steps += w.Steps
		}
		f.c.Publish(domain.Event{Type: "worker_wait", Run: run, At: r.read.UTC(),
			Data: map[string]any{"waits": len(now.Waits), "steps": steps}})
	}
	r.begun, r.now, r.published = true, now, published
	return now.Attempts, nil
}
