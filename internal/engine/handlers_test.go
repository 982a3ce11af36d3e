package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine/timing"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// testHandlers returns handlers of a run "one" that has a runner, and the events that they send.
func testHandlers(t *testing.T) (h *handlers, inbox *mailbox, sent func() []domain.Event) {
	t.Helper()
	var mu sync.Mutex
	var events []domain.Event
	runs, begun := testRegistry()
	runs.open()
	runs.post("one", timerMsg{})
	inbox = &(*begun)[0].inbox
	inbox.take()
	h = &handlers{
		clock: timing.New(), setup: new(atomic.Pointer[setup]), runs: runs, log: slog.New(slog.DiscardHandler),
		live: func(ev domain.Event) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, ev)
		},
		instanceKey: func() []byte { return []byte("key") },
		stopping:    t.Context().Done(), stopped: t.Context().Done(), wg: new(sync.WaitGroup),
	}
	h.setup.Store(&setup{})
	return h, inbox, func() []domain.Event {
		mu.Lock()
		defer mu.Unlock()
		return events
	}
}

// testAttempt returns an attempt of step "a" of run "one".
func testAttempt(h *handlers, inbox *mailbox, timeout time.Duration, f HandlerFunc) *attempt {
	t := &attempt{handlers: h, inbox: inbox, run: "one", handler: f, live: h.live}
	node := &walk.ProgramNode{ID: "a"}
	node.Timeout = timeout
	t.Attempt = runstate.Attempt{Spec: node, Number: 1}
	t.Visit, t.Item = 1, runstate.NoItem
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	t.log.t = t
	t.call.Log = t.log.line
	return t
}

// next waits for the next messages to a runner.
func next(inbox *mailbox) []message {
	for {
		if mail := inbox.take(); len(mail) > 0 {
			return mail
		}
		<-inbox.wake
	}
}

// A handler's result is sent to its runner. While the handler runs, its log can be read.
func TestHandlersReportResults(t *testing.T) {
	t.Parallel()
	h, inbox, sent := testHandlers(t)
	logged, finish := make(chan struct{}), make(chan struct{})
	h.start(testAttempt(h, inbox, 0, func(_ context.Context, c *Call) (Result, error) {
		c.Log("info", "half done")
		close(logged)
		<-finish
		return Result{Output: 7}, nil
	}))
	<-logged
	journal := []domain.Entry{{Kind: domain.EntryIntent, Node: "a", Visit: 1, Item: runstate.NoItem, Attempt: 1}}
	if h.describe(t.Context(), "one", journal); !h.executes("one") || h.executes("two") || journal[0].Log == nil {
		t.Errorf("run one executes %v, its log is %s", h.executes("one"), journal[0].Log)
	}
	if list := sent(); len(list) != 1 || list[0].Type != "node_log" || list[0].Data["message"] != "half done" {
		t.Errorf("sent %+v", list)
	}
	close(finish)
	if m, ok := next(inbox)[0].(doneMsg); !ok || m.err != nil || m.result.Output != 7 {
		t.Errorf("reported %+v", m)
	}
	h.wg.Wait()
	if h.executes("one") {
		t.Error("a handler that has returned still counts")
	}
}

// A panic of a handler is a failure of its attempt, and does not affect other handlers.
func TestHandlersReportPanics(t *testing.T) {
	t.Parallel()
	h, inbox, _ := testHandlers(t)
	h.start(testAttempt(h, inbox, 0, func(context.Context, *Call) (Result, error) { panic("boom") }))
	m, ok := next(inbox)[0].(doneMsg)
	if _, panicked := errors.AsType[*panicError](m.err); !ok || !panicked {
		t.Errorf("reported %+v", m)
	}
}

// An attempt whose handler ignores its timeout is abandoned. Its later result is late.
func TestHandlersAbandonAttempts(t *testing.T) {
	t.Parallel()
	h, inbox, _ := testHandlers(t)
	finish := make(chan struct{})
	h.start(testAttempt(h, inbox, time.Millisecond, func(context.Context, *Call) (Result, error) {
		<-finish
		return Result{Output: "too late"}, nil
	}))
	if m, ok := next(inbox)[0].(abandonMsg); !ok {
		t.Fatalf("reported %+v", m)
	}
	close(finish)
	if m, ok := next(inbox)[0].(lateMsg); !ok || m.output != "too late" {
		t.Errorf("reported %+v", m)
	}
	h.wg.Wait()
}

// The runner is notified once that an attempt shows no activity, and once that it shows activity
// again.
func TestHandlersReportSilence(t *testing.T) {
	t.Parallel()
	h, inbox, _ := testHandlers(t)
	a := testAttempt(h, inbox, 0, nil)
	h.running.Store(a, struct{}{})
	a.lastActivity.Store(h.now().Add(-2 * domain.SilentAfter).UnixMicro())
	notified := map[string]bool{}
	h.reportSilent(notified)
	h.reportSilent(notified)
	if mail := inbox.take(); len(mail) != 1 || mail[0].(silenceMsg).node != "a" {
		t.Errorf("reported %+v", mail)
	}
	a.touch()
	h.reportSilent(notified)
	if mail := inbox.take(); len(mail) != 1 || !mail[0].(silenceMsg).since.IsZero() {
		t.Errorf("reported %+v", mail)
	}
}

// The idempotency key of a step is the same in every attempt, and differs between runs,
// steps, visits, and items.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	h, _, _ := testHandlers(t)
	key := h.idempotencyKey("one", "a", 1, runstate.NoItem)
	if again := h.idempotencyKey("one", "a", 1, runstate.NoItem); again != key {
		t.Errorf("%s, then %s", key, again)
	}
	seen := map[string]bool{key: true}
	for _, other := range []string{h.idempotencyKey("two", "a", 1, runstate.NoItem), h.idempotencyKey("one", "b", 1, runstate.NoItem),
		h.idempotencyKey("one", "a", 2, runstate.NoItem), h.idempotencyKey("one", "a", 1, 0)} {
		if seen[other] {
			t.Errorf("%s is the key of two steps", other)
		}
		seen[other] = true
	}
}
