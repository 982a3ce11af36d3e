package web

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/events"
)

// live streams hints: which topic has changed, never what it says. The page
// fetches its own parts again. Topics are "runs", "run-<id>", "drafts",
// "draft-<id>", "circuits" and the bands of home. Who asks says by Last-Event-ID, or
// after=, up to where it knows; unless nothing happened since, it is told to ask for
// all its parts once, so that no hint is lost between a page and its stream, or between
// two streams.
func (r *request) live() error {
	if from := r.c.Request().Header.Get("Origin"); from != "" && from != r.Site.Origin(r.c.Request()) {
		return domain.Errorf(domain.CodeForbidden, "pages of other sites may not listen")
	}
	topics := strings.Split(r.c.QueryParam("t"), ",")
	only := ""
	if len(topics) == 1 {
		only, _ = strings.CutPrefix(topics[0], "run-")
		if !domain.ValidID(only) {
			only = ""
		}
	}
	w := r.c.Response()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	l := &stream{w: w, control: http.NewResponseController(w), server: r.s, wanted: map[string]bool{}}
	for _, t := range topics {
		l.wanted[t] = true
	}
	if !r.s.streams.enter(r.who.secret) {
		w.WriteHeader(http.StatusOK)
		_ = l.send("poll", "1") // or the browser has gone
		return nil
	}
	defer r.s.streams.leave(r.who.secret)
	if s := r.s.Streams; s != nil {
		if s.Enter(r.who.Name) != nil {
			w.WriteHeader(http.StatusOK)
			_ = l.send("poll", "1") // the page asks by itself now and then
			return nil
		}
		defer s.Leave(r.who.Name)
	}
	feed, err := r.s.Engine.Subscribe(r.ctx, -1, only)
	if err != nil {
		return err
	}
	l.heard = r.s.Engine.Heard() // after the subscription: what comes between is heard twice, not never
	w.WriteHeader(http.StatusOK)
	err = l.send("hello", r.s.boot)
	if known := cmp.Or(r.c.Request().Header.Get("Last-Event-ID"), r.c.QueryParam("after")); err == nil && known != r.s.position(l.heard) {
		err = l.send("resync", "1")
	}
	beat := time.NewTicker(r.s.Beat)
	defer beat.Stop()
	for beats := 1; err == nil; {
		select {
		case <-r.ctx.Done():
			return nil
		case <-r.s.closing.Done():
			return nil
		case <-beat.C:
			if beats%beatsPerCheck == 0 {
				if ok, problem := r.stillIn(); problem != nil || !ok {
					return nil // the next request says why
				}
			}
			if err = l.send("beat", "1"); err == nil && beats%beatsPerCheck == 0 { // what changes with time alone
				err = l.hints([]string{"day", "system"})
			}
			beats++
		case e, ok := <-feed:
			if !ok {
				return nil
			}
			l.heard = max(l.heard, e.Heard)
			if e.Type == "reset" {
				err = l.send("resync", "1")
			} else {
				err = l.hints(events.Topics(e))
			}
		}
	}
	return nil // the browser has gone
}

const (
	// defaultBeat is how often a stream says that it is there.
	defaultBeat = 15 * time.Second
	// beatsPerCheck: once a minute a stream asks whether its reader is still logged
	// in, which also counts as use of the login.
	beatsPerCheck = 4
)

// stillIn asks again whether the login holds that a stream was opened with.
func (r *request) stillIn() (bool, error) {
	was := r.who
	r.who = principal{}
	if err := r.identify(); err != nil {
		r.s.Logger.Error("a live stream ends: its login cannot be read", "err", err)
		return false, err
	}
	return r.who.Name == was.Name && r.may(r.Op), nil
}

// position names a moment of this process: how many events it had published.
func (s *Server) position(heard int64) string { return s.boot + "-" + strconv.FormatInt(heard, 10) }

// stream is one reader's stream of hints.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	server  *Server
	wanted  map[string]bool
	heard   int64 // up to where the reader knows
}

func (l *stream) send(event, data string) error {
	if err := l.control.SetWriteDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(l.w, "id: %s\nevent: %s\ndata: %s\n\n", l.server.position(l.heard), event, data); err != nil {
		return err
	}
	return l.control.Flush()
}

func (l *stream) hints(topics []string) error {
	for _, t := range topics {
		if l.wanted[t] {
			if err := l.send("hint", t); err != nil {
				return err
			}
		}
	}
	return nil
}

// streamsPerSession leaves two of the six connections that a browser opens to one
// host (HTTP/1.1) for pages: with six streams the seventh tab would not load.
const streamsPerSession = 4

// streams counts the live streams that each session has open. Whoever comes too
// late polls.
type streams struct {
	mu   sync.Mutex
	open map[string]int
}

func (s *streams) enter(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[session] >= streamsPerSession {
		return false
	}
	if s.open == nil {
		s.open = map[string]int{}
	}
	s.open[session]++
	return true
}

func (s *streams) leave(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[session]--; s.open[session] == 0 {
		delete(s.open, session)
	}
}
