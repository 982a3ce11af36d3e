package daemon_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/daemon"
)

// stuck is a log whose reader blocks until it is released.
type stuck struct {
	mu      sync.Mutex
	b       bytes.Buffer
	release chan struct{}
	wrote   chan struct{} // receives a value after every line
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.release
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		select {
		case s.wrote <- struct{}{}:
		default:
		}
	}()
	return s.b.Write(p)
}

func (s *stuck) contains(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.b.String(), text)
}

// O15: Writing to the log never waits for the reader of the log. Lines that did not fit are
// counted.
func TestALogWithoutAReader(t *testing.T) {
	t.Parallel()
	w := &stuck{release: make(chan struct{}), wrote: make(chan struct{}, 1)}
	sink := daemon.NewLogSink(w)
	log := slog.New(slog.NewJSONHandler(sink, nil))
	const lines = daemon.LogRoom + 1000
	for i := range lines { // nothing is read during this loop, so a call that waits for the reader never returns
		log.Info("line", "n", i)
	}
	close(w.release)
	for i, late := 0, time.After(time.Minute); !w.contains("were dropped"); i++ {
		select {
		case <-w.wrote: // there may be space now
			log.Info("later", "i", i)
		case <-late:
			t.Fatal("what was dropped is never said")
		}
	}
	sink.Close()
	var dropped int
	for line := range strings.Lines(w.b.String()) {
		var n int
		if _, rest, ok := strings.Cut(line, `"lines":`); ok {
			if _, err := fmt.Sscan(strings.TrimSuffix(strings.TrimSpace(rest), "}"), &n); err != nil {
				t.Fatal(err)
			}
			dropped += n
		}
	}
	if got := strings.Count(w.b.String(), `"msg":"line"`); got+dropped < lines {
		t.Errorf("%d lines written and %d said to be dropped, of %d", got, dropped, lines)
	}
	if _, err := io.WriteString(sink, "after the end"); err != nil {
		t.Error(err)
	}
}
