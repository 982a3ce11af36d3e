package tail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func attemptOf(n int) Tail {
	return Tail{Run: "run", Session: "session", Node: "a", Visit: 1, Item: noItem, Attempt: n, StartedAt: start}
}

func event(typ string, data map[string]any) domain.Event {
	return domain.Event{Type: typ, At: start.Add(time.Second), Data: data}
}

func logged(r *Recorder, message string) {
	r.Add(event("node_log", map[string]any{"level": "info", "message": message}))
}

func text(list []domain.Event) string {
	var all []string
	for _, e := range list {
		switch e.Type {
		case "node_log":
			all = append(all, fmt.Sprint("log ", e.Data["message"]))
		case "node_progress":
			all = append(all, fmt.Sprint("progress ", e.Data["done"], "/", e.Data["total"]))
		case "node_text":
			all = append(all, fmt.Sprint("text ", e.Data["text"]))
		case "worker_wait":
			all = append(all, fmt.Sprint("waits ", e.Data["steps"]))
		}
	}
	return strings.Join(all, ", ")
}

// A tail contains the last output, and the output after a position is published once.
func TestATailHasTheLastOutput(t *testing.T) {
	t.Parallel()
	r := NewRecorder(attemptOf(1))
	logged(r, "one")
	r.Add(event("node_progress", map[string]any{"done": int64(1), "total": int64(3), "message": ""}))
	r.Add(event("node_text", map[string]any{"text": "Hel"}))
	r.Add(event("node_text", map[string]any{"text": "lo"}))
	select {
	case <-r.Changed():
	default:
		t.Error("new output is not signalled")
	}
	first := r.Tail()
	logged(r, "two")
	r.Add(event("node_text", map[string]any{"text": " wörld"}))
	second := r.Tail()
	if got := text(first.events(position{})); got != "log one, progress 1/3, text Hello" {
		t.Errorf("first: %s", got)
	}
	if got := text(second.events(first.end())); got != "log two, text  wörld" {
		t.Errorf("then: %s", got)
	}
	if got := second.events(second.end()); got != nil {
		t.Errorf("published twice: %s", text(got))
	}
	e := second.events(position{})[0]
	if e.Run != "run" || e.Session != "session" || e.Data["node"] != "a" || e.Data["visit"] != 1 || e.Data["attempt"] != 1 ||
		e.Data["item"] != nil || !e.At.Equal(start.Add(time.Second)) {
		t.Errorf("%+v", e)
	}
}

// However much a step writes, a tail stays small. It keeps what was written last.
func TestATailIsLimited(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{"short": "x", "lines": strings.Repeat("ä", 100), "long": strings.Repeat("é", 50_000)} {
		r := NewRecorder(attemptOf(1))
		for i := range 3000 {
			logged(r, fmt.Sprint(i, message))
			r.Add(event("node_text", map[string]any{"text": message}))
			r.Add(event("node_progress", map[string]any{"done": int64(i), "total": int64(0), "message": message}))
		}
		got := r.Tail()
		raw, err := json.Marshal(got)
		if err != nil || len(raw) > 96<<10 {
			t.Errorf("%s: %d bytes, %v", name, len(raw), err)
		}
		n := len(got.Log.Lines)
		if n == 0 || got.Skipped+n != 3000 || !strings.HasPrefix(got.Log.Lines[n-1].Message, "2999") || len(got.Text) > MaxText ||
			!strings.HasSuffix(message, last(got.Text, 1)) || got.Log.Progress.Done != 2999 {
			t.Errorf("%s: %d lines after %d, %d bytes of text", name, n, got.Skipped, len(got.Text))
		}
	}
}

// source returns tails in the place of a server.
type source struct {
	mu    sync.Mutex
	tails []Tail
	waits []domain.WorkerWait
	err   error
	reads int
	// If begun is not nil, each read sends to it, and then waits for wait.
	begun, wait chan struct{}
}

func (s *source) read(ctx context.Context, _ string) (Active, error) {
	if s.begun != nil {
		select {
		case s.begun <- struct{}{}:
			<-s.wait
		case <-ctx.Done():
			return Active{}, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return Active{Tails: s.tails, Attempts: len(s.tails), Waits: s.waits}, s.err
}

func (s *source) set(tails ...Tail) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tails = tails
}

// following follows the run with pauses that a test ends. step reads once, and returns what was published.
func following(t *testing.T, s *source) (f *Follower, step func() string, stop func()) {
	t.Helper()
	s.begun, s.wait = make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var sent []domain.Event
	f = NewFollower(Config{Read: s.read, Pause: time.Nanosecond, Rest: time.Nanosecond, Publish: func(e domain.Event) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, e)
	}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Follow(ctx, "run")
	}()
	<-s.begun
	stop = sync.OnceFunc(func() {
		cancel()
		s.wait <- struct{}{}
		<-done
	})
	t.Cleanup(stop)
	return f, func() string {
		s.wait <- struct{}{}
		<-s.begun // the next read
		mu.Lock()
		defer mu.Unlock()
		got := text(sent)
		sent = nil
		return got
	}, stop
}

// Output from before the first read is not published. After it, each event is published once, also those of attempts that begin
// later. Heartbeats of a lost worker stay, and are not published again.
func TestAFollowerPublishesOnce(t *testing.T) {
	t.Parallel()
	one, two := NewRecorder(attemptOf(1)), NewRecorder(attemptOf(2))
	logged(one, "before")
	s := &source{tails: []Tail{one.Tail()}}
	_, step, _ := following(t, s)
	logged(two, "second attempt")
	for i, want := range []string{"", "log after", "", "log second attempt", ""} {
		switch i {
		case 1:
			logged(one, "after")
			s.set(one.Tail())
		case 3:
			s.set(two.Tail())
		}
		if got := step(); got != want {
			t.Errorf("read %d: published %q, and not %q", i, got, want)
		}
	}
}

// While the source fails, nothing is published, and pages show what was read before.
func TestAFollowerOfAFailingSource(t *testing.T) {
	t.Parallel()
	r := NewRecorder(attemptOf(1))
	logged(r, "one")
	s := &source{tails: []Tail{r.Tail()}}
	f, step, stop := following(t, s)
	step()
	s.mu.Lock()
	s.err = errors.New("unreachable")
	s.mu.Unlock()
	logged(r, "two")
	s.set(r.Tail())
	if got := step(); got != "" {
		t.Errorf("published %q", got)
	}
	s.mu.Lock()
	s.err = nil
	s.mu.Unlock()
	if got := step(); got != "log two" {
		t.Errorf("published %q after the failure", got)
	}
	stop()
	reads := s.reads
	if f.runs["run"].readers != 0 {
		t.Error("the run still has readers")
	}
	f.Wake("run") // reads nothing, because the run has no reader
	if s.reads != reads {
		t.Error("a run without readers is read")
	}
}

// A page shows the logs of active attempts, and reads them if they are old. An attempt that has ended keeps its stored log.
func TestPagesShowActiveLogs(t *testing.T) {
	t.Parallel()
	r := NewRecorder(attemptOf(1))
	logged(r, "one")
	s := &source{tails: []Tail{r.Tail()}}
	f := NewFollower(Config{Read: s.read, Publish: func(domain.Event) {}, Pause: time.Hour})
	rows := func() []domain.Entry {
		return []domain.Entry{{Kind: domain.EntryIntent, Node: "a", Visit: 1, Item: noItem, Attempt: 1}}
	}
	for range 2 {
		journal := rows()
		f.Describe(t.Context(), "run", journal)
		if l := domain.ReadLog(journal[0].Log); len(l.Lines) != 1 || l.Lines[0].Message != "one" {
			t.Errorf("log %s", journal[0].Log)
		}
	}
	if s.reads != 1 {
		t.Errorf("%d reads in an hour", s.reads)
	}
	ended := append(rows(), domain.Entry{Kind: domain.EntryResult, Node: "a", Visit: 1, Item: noItem, Attempt: 1})
	f.Describe(t.Context(), "run", ended)
	if ended[0].Log != nil {
		t.Errorf("the log of an attempt that has ended: %s", ended[0].Log)
	}
}

// Readers are notified when steps begin and end to wait for a worker.
func TestWaitsForWorkers(t *testing.T) {
	t.Parallel()
	s := &source{}
	f, step, _ := following(t, s)
	for i, steps := range []int{0, 2, 2, 0} {
		s.mu.Lock()
		if s.waits = nil; steps > 0 {
			s.waits = []domain.WorkerWait{{Queue: "gpu", Steps: steps, Since: start}}
		}
		s.mu.Unlock()
		want := []string{"", "waits 2", "", "waits 0"}[i]
		if got := step(); got != want {
			t.Errorf("read %d: published %q, and not %q", i, got, want)
		}
	}
	f.c.Pause = time.Hour
	if got := f.Describe(t.Context(), "run", nil); got != nil {
		t.Errorf("waits %+v", got)
	}
}
