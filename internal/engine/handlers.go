package engine

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"hash"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine/timing"
	"github.com/kairosd/kairosd/internal/tail"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// handlers runs the handlers of attempts and keeps a list of the running ones.
type handlers struct {
	clock       *timing.Clock
	setup       *atomic.Pointer[setup] // the active one
	runs        *registry
	live        func(domain.Event) // sends an event that is not stored
	budgets     *budgets
	instanceKey func() []byte // key from which idempotency keys are derived
	cancelGrace time.Duration
	stopping    <-chan struct{} // closed when the engine begins to stop
	stopped     <-chan struct{} // closed when the engine has stopped
	wg          *sync.WaitGroup // goroutines that Stop waits for
	log         *slog.Logger

	running sync.Map  // the *attempt values whose handlers run
	hashes  sync.Pool // of hash.Hash with instanceKey
}

// now returns the time as the journal stores it.
func (h *handlers) now() time.Time { return h.clock.Now() }

// current returns the active setup.
func (h *handlers) current() *setup { return h.setup.Load() }

// idempotencyKey returns the key of a visit or item. It is the same for all attempts, and differs
// for every rerun and fork, because these have another run ID.
func (h *handlers) idempotencyKey(run, node string, visit, item int) string {
	m, ok := h.hashes.Get().(hash.Hash)
	if !ok {
		m = hmac.New(sha256.New, h.instanceKey())
	}
	defer h.hashes.Put(m)
	return keyOf(m, run, node, visit, item)
}

// IdempotencyKey returns the key of a visit or item that is derived from the key of an instance.
func IdempotencyKey(instance []byte, run, node string, visit, item int) string {
	return keyOf(hmac.New(sha256.New, instance), run, node, visit, item)
}

func keyOf(m hash.Hash, run, node string, visit, item int) string {
	m.Reset()
	b := make([]byte, 0, 256)
	b = append(append(append(b, run...), 0), node...)
	b = strconv.AppendInt(append(b, 0), int64(visit), 10)
	b = strconv.AppendInt(append(b, 0), int64(item), 10)
	m.Write(b)
	return keyText.EncodeToString(m.Sum(b[:0])[:20])
}

// keyText is the encoding of idempotency keys.
var keyText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// start runs an attempt whose intent is durable. The timeout starts now.
func (h *handlers) start(t *attempt) {
	t.touch()
	h.running.Store(t, struct{}{})
	h.wg.Go(func() {
		defer h.running.Delete(t)
		defer t.leave() // also after an abandonment: only now the handler has ended
		ctx, stop := t.ctx, context.CancelFunc(func() {})
		if t.Spec.Timeout > 0 {
			ctx, stop = context.WithTimeoutCause(t.ctx, t.Spec.Timeout, ErrTimeout)
		}
		defer stop()
		t.limited = ctx
		unwatch := context.AfterFunc(ctx, func() {
			cause := context.Cause(ctx)
			grace := timeoutGrace
			switch {
			case errors.Is(cause, ErrCancelled):
				grace = h.cancelGrace
			case errors.Is(cause, ErrStopping):
				grace = abandonStopped
			case errors.Is(cause, ErrFenced):
				return
			}
			time.AfterFunc(grace, func() {
				if t.end() {
					t.inbox.post(abandonMsg{t})
				}
			})
		})
		result, err := guard(ctx, t)
		if errors.Is(context.Cause(ctx), ErrTimeout) {
			err = t.timedOut(result, err)
		}
		unwatch()
		if t.end() {
			t.inbox.post(doneMsg{t, result, err}) // The inbox exists until the runner has this message or has fenced the attempt.
		} else {
			t.late(result.Output, err)
		}
	})
}

// guard calls the handler and converts a panic to a failure of the node.
func guard(ctx context.Context, t *attempt) (r Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p, string(debug.Stack())}
		}
	}()
	call := t.call
	failpoint.Hit("exec.before")
	r, err = t.handler.Handle(ctx, &call)
	failpoint.Hit("exec.after")
	return r, err
}

// constant returns the handler of a built-in node that runs as an attempt.
func constant(out any) Handler {
	return HandlerFunc(func(context.Context, *Call) (Result, error) { return Result{Output: out}, nil })
}

// describe adds the current logs of running attempts to their intent rows, so that people can follow
// a run. The rows are a copy. No run waits for workers here.
func (h *handlers) describe(_ context.Context, run string, journal []domain.Entry) []domain.WorkerWait {
	for key := range h.running.Range {
		if t := key.(*attempt); t.run == run {
			if row, _ := tail.Intent(journal, t.Spec.ID, t.Visit, t.Item, t.Number); row != nil {
				row.Log = t.log.stored()
			}
		}
	}
	return nil
}

// executes reports whether an attempt of the run is active in this engine.
func (h *handlers) executes(run string) bool {
	for key := range h.running.Range {
		if key.(*attempt).run == run {
			return true
		}
	}
	return false
}
