package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// sse writes server-sent events. If a client does not receive one in time, the stream ends. It
// keeps the first error.
type sse struct {
	w       http.ResponseWriter
	timeout time.Duration
	err     error
	buf     bytes.Buffer
}

func (s *sse) open() {
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	// The read timeout of the server is meant for requests, and would end the stream.
	_ = http.NewResponseController(s.w).SetReadDeadline(time.Time{}) // not every connection can
	s.w.WriteHeader(http.StatusOK)
	s.raw([]byte("retry: 2000\n\n"))
	s.flush()
}

// close resets the deadlines of the connection for the next request.
func (s *sse) close() { _ = http.NewResponseController(s.w).SetWriteDeadline(time.Time{}) }

// send writes an event and flushes.
func (s *sse) send(e domain.Event) {
	s.write(e)
	s.flush()
}

func (s *sse) write(e domain.Event) {
	data, err := json.Marshal(e)
	if err != nil {
		s.err = err
		return
	}
	s.buf.Reset()
	if e.ID != "" && !e.Ephemeral { // its id is not a position, and a client would send it as one
		s.field("id", e.ID)
	}
	s.field("event", e.Type)
	s.buf.WriteString("data: ")
	s.buf.Write(data) // JSON has no line breaks
	s.buf.WriteString("\n\n")
	s.raw(s.buf.Bytes())
}

func (s *sse) comment(text string) {
	s.raw([]byte(": " + text + "\n\n"))
	s.flush()
}

var oneLine = strings.NewReplacer("\n", " ", "\r", " ", "\x00", " ")

func (s *sse) field(name, value string) {
	s.buf.WriteString(name + ": " + oneLine.Replace(value) + "\n")
}

func (s *sse) raw(b []byte) {
	if s.err != nil {
		return
	}
	// Each write has its own deadline, because that of the server would end the stream.
	_ = http.NewResponseController(s.w).SetWriteDeadline(time.Now().Add(s.timeout)) // not every connection can
	_, s.err = s.w.Write(b)
}

func (s *sse) flush() {
	if s.err == nil {
		s.err = http.NewResponseController(s.w).Flush()
	}
}
