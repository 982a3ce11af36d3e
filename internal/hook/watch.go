package hook

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// WatchStore reads the hooks that watch files, and stores which files were delivered.
type WatchStore interface {
	// WatchingHooks lists hooks with the scheme HookFiles that are not paused.
	WatchingHooks(ctx context.Context) ([]domain.Hook, error)
	// WatchedFiles lists the events of files that were delivered, and exist as far as it is known.
	WatchedFiles(ctx context.Context, hook string) ([]string, error)
	// WasDelivered reports whether a file was delivered.
	WasDelivered(ctx context.Context, hook, event string) (bool, error)
	// MarkFiles stores which of the delivered files exist.
	MarkFiles(ctx context.Context, hook string, files []domain.WatchedFile) error
}

// WatchConfig configures a [Watcher]. All fields except Sleep are required.
type WatchConfig struct {
	Store WatchStore
	// Executing reports whether a new run would be executed now. Otherwise, files wait.
	Executing func(ctx context.Context) (bool, error)
	// Directories returns the directories in which hooks may watch files.
	Directories func() []string
	// Now is a clock that does not go back.
	Now func() time.Time
	// Sleep waits, or returns an error when the context ends. The default sleeps.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Watcher delivers new files to hooks. A file is delivered when its size and its modification time
// have been the same for some seconds. The delivery is stored with the run that it starts, and with
// the file, so that each file is delivered once.
type Watcher struct {
	WatchConfig
	r     *Receiver
	hooks map[string]*watch // by ID
}

// watch is the state of one hook.
type watch struct {
	pattern   string
	delivered map[string]bool      // events of files that were delivered and exist
	pending   map[string]time.Time // events of other files, and since when they have been unchanged
	problem   string               // the last one, which was stored
	retry     time.Time            // no scan before this time
}

const (
	// scanEvery is the interval of scans. It grows with their duration, so that scans use a tenth of the time.
	scanEvery = time.Second
	// retryAfter is how long a hook waits after a problem.
	retryAfter = 10 * time.Second
)

// Watch returns a watcher that delivers files to hooks of the receiver. Run starts it.
func (r *Receiver) Watch(c WatchConfig) *Watcher {
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	return &Watcher{WatchConfig: c, r: r, hooks: map[string]*watch{}}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Run delivers files until the context ends.
func (w *Watcher) Run(ctx context.Context) {
	for {
		begun := w.Now()
		if err := w.Tick(ctx); err != nil && ctx.Err() == nil {
			w.r.Log.Error("watch files", "err", err)
		}
		if w.Sleep(ctx, max(scanEvery, 9*w.Now().Sub(begun))) != nil {
			return
		}
	}
}

// Tick scans the files of all hooks once.
func (w *Watcher) Tick(ctx context.Context) error {
	executing, err := w.Executing(ctx)
	if err != nil || !executing {
		return err
	}
	hooks, err := w.Store.WatchingHooks(ctx)
	if err != nil {
		return err
	}
	known := map[string]*watch{}
	var errs []error
	for _, h := range hooks {
		s := w.hooks[h.ID]
		if s == nil || s.pattern != h.Files {
			if s, err = w.load(ctx, h); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		if known[h.ID] = s; w.Now().Before(s.retry) {
			continue
		}
		if err := w.scan(ctx, h, s); err != nil {
			s.retry = w.Now().Add(retryAfter)
			w.keepProblem(ctx, h, s, err)
		} else {
			s.problem = ""
		}
	}
	w.hooks = known
	return errors.Join(errs...)
}

func (w *Watcher) load(ctx context.Context, h domain.Hook) (*watch, error) {
	events, err := w.Store.WatchedFiles(ctx, h.ID)
	s := &watch{pattern: h.Files, delivered: map[string]bool{}, pending: map[string]time.Time{}}
	for _, e := range events {
		s.delivered[e] = true
	}
	return s, err
}

// scan delivers the files of a hook that are ready. The error is a problem that a person should know.
func (w *Watcher) scan(ctx context.Context, h domain.Hook, s *watch) error {
	p, err := parsePattern(h.Files, w.Directories())
	if err != nil {
		return err
	}
	files, problem := p.scan()
	now, present, ready := w.Now(), map[string]bool{}, []file(nil)
	for _, f := range files {
		event := f.event()
		present[event] = true
		if s.delivered[event] {
			continue
		}
		since, known := s.pending[event]
		if !known {
			s.pending[event] = now
		} else if now.Sub(since) >= h.Settle {
			ready = append(ready, f)
		}
	}
	for event := range s.pending {
		if !present[event] { // it was deleted or changed
			delete(s.pending, event)
		}
	}
	if problem == nil {
		if err := w.forget(ctx, h, s, present); err != nil {
			return err
		}
	}
	slices.SortFunc(ready, func(a, b file) int { return cmp.Or(a.modified.Compare(b.modified), cmp.Compare(a.path, b.path)) })
	started := 0
	for _, f := range ready {
		if started == domain.MaxFileStarts || ctx.Err() != nil {
			break // the others follow
		}
		fresh, err := w.deliver(ctx, h, f)
		if err != nil {
			return err
		}
		s.delivered[f.event()] = true
		if delete(s.pending, f.event()); fresh {
			started++
		}
	}
	return problem
}

// forget marks the files that do not exist any more.
func (w *Watcher) forget(ctx context.Context, h domain.Hook, s *watch, present map[string]bool) error {
	var gone []domain.WatchedFile
	for event := range s.delivered {
		if !present[event] {
			gone = append(gone, domain.WatchedFile{Event: event, Gone: true})
		}
	}
	if len(gone) == 0 {
		return nil
	}
	if err := w.Store.MarkFiles(ctx, h.ID, gone); err != nil {
		return err
	}
	for _, f := range gone {
		delete(s.delivered, f.Event)
	}
	return nil
}

// deliver delivers a file, unless it was delivered before. An error means that it should be delivered
// later.
func (w *Watcher) deliver(ctx context.Context, h domain.Hook, f file) (fresh bool, err error) {
	event := f.event()
	before, err := w.Store.WasDelivered(ctx, h.ID, event)
	if err != nil {
		return false, err
	}
	if before { // it was gone for a while
		return false, w.Store.MarkFiles(ctx, h.ID, []domain.WatchedFile{{Event: event}})
	}
	content := f.content()
	d := domain.HookDelivery{ID: domain.NewID(), HookID: h.ID, Hook: h.Key, Key: event, Event: event, Size: int(f.size), Verified: true,
		ReceivedAt: w.Now().UTC().Truncate(time.Microsecond)}
	body, err := jsonvalue.Encode(content)
	if err != nil { // the name is not UTF-8
		err = refuse(domain.CodeInvalid, "hook.body", domain.Errorf(domain.CodeInvalid, "the name of the file: %w", err))
	} else {
		d.Body = string(w.r.Mask(body))
		err = w.r.take(ctx, h, &d, content)
	}
	switch {
	case err != nil && !permanent(err):
		return false, err
	case err != nil:
		w.r.explain(&d, err)
	case d.State == domain.DeliveryAccepted: // it is stored with its run or its signal
		return true, nil
	}
	return true, w.r.record(ctx, d)
}

// permanent reports whether an error would occur again if the same file were delivered later.
func permanent(err error) bool {
	switch domain.CodeOf(err) {
	case domain.CodeInvalid, domain.CodeTooLarge, domain.CodeNotFound, domain.CodeCorrupt:
		return true
	}
	return false
}

// keepProblem stores why files are not delivered, as a refused delivery, unless the hook has the same
// problem as before.
func (w *Watcher) keepProblem(ctx context.Context, h domain.Hook, s *watch, problem error) {
	if ctx.Err() != nil || problem.Error() == s.problem || !w.r.limits.hook(h.ID).stored.AllowN(w.Now(), 1) {
		return
	}
	d := domain.HookDelivery{ID: domain.NewID(), HookID: h.ID, Hook: h.Key, ReceivedAt: w.Now().UTC().Truncate(time.Microsecond)}
	w.r.explain(&d, problem)
	if err := w.r.record(ctx, d); err != nil {
		w.r.Log.Error("a problem of a hook cannot be stored", "hook", h.Key, "err", err, "problem", problem)
		return
	}
	s.problem = problem.Error()
}
