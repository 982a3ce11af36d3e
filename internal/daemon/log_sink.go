package daemon

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// logSink writes lines in its own goroutine, so that a slow or stopped reader of the log never
// blocks the daemon. Lines that do not fit are dropped and counted. The count is written when there
// is room again.
type logSink struct {
	w       io.Writer
	lines   chan []byte
	dropped atomic.Int64
	stop    chan struct{}
	ended   chan struct{}
	once    sync.Once
}

// logRoom is the number of lines that wait for a slow reader.
const logRoom = 4096

// logFlush is how long Close waits for the last lines to be written.
const logFlush = 2 * time.Second

func newLogSink(w io.Writer) *logSink {
	s := &logSink{w: w, lines: make(chan []byte, logRoom), stop: make(chan struct{}), ended: make(chan struct{})}
	go s.run()
	return s
}

// Write queues a line. It never fails, because an error of the log could not be reported.
func (s *logSink) Write(p []byte) (int, error) {
	select {
	case s.lines <- bytes.Clone(p):
	default:
		s.dropped.Add(1)
	}
	return len(p), nil
}

// Close writes the remaining lines. It gives up after logFlush.
func (s *logSink) Close() {
	s.once.Do(func() { close(s.stop) })
	select {
	case <-s.ended:
	case <-time.After(logFlush):
	}
}

func (s *logSink) run() {
	defer close(s.ended)
	for {
		select {
		case line := <-s.lines:
			s.put(line)
		case <-s.stop:
			for {
				select {
				case line := <-s.lines:
					s.put(line)
				default:
					return
				}
			}
		}
	}
}

func (s *logSink) put(line []byte) {
	if n := s.dropped.Swap(0); n > 0 {
		if _, err := fmt.Fprintf(s.w, "{\"time\":%q,\"level\":\"WARN\",\"msg\":\"log lines were dropped: the reader was too slow for "+
			"them\",\"lines\":%d}\n", time.Now().UTC().Format(time.RFC3339), n); err != nil {
			s.dropped.Add(n)
		}
	}
	if _, err := s.w.Write(line); err != nil {
		s.dropped.Add(1)
	}
}
