// Package live notifies open pages which of their parts may have changed. It owns the stream of events, its
// limits, and the position from which a stream continues.
package live

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/events"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are what streams need of the server.
type Ports struct {
	Events Events
	// Limit bounds the streams of a principal together with those of the API; nil: only
	// those of a session are bounded.
	Limit Limit
	// Login returns the current principal of a stream's session; without a name: none.
	Login func(c *ui.Context) (ui.Principal, error)
	// Beat is the interval of heartbeats; 0: every 15 seconds.
	Beat time.Duration
}

// Events are where hints come from.
type Events interface {
	// Subscribe delivers events until the context ends. A listener that does
	// not keep up gets its channel closed after a "reset" event.
	Subscribe(ctx context.Context, after int64, run string) (<-chan domain.Event, error)
	// Published is how many events were published so far; see domain.Event.
	Published() int64
}

// Limit bounds streams.
type Limit interface {
	Enter(principal string) error
	Leave(principal string)
}

// Streams are the live streams of a server.
type Streams struct {
	Ports
	boot     string // names this process to its streams
	sessions sessions
	closing  context.Context
	close    context.CancelFunc
}

// New makes streams. They end when they are closed.
func New(p Ports) *Streams {
	p.Beat = cmp.Or(p.Beat, defaultBeat)
	s := &Streams{Ports: p, boot: kit.NewID()}
	s.closing, s.close = context.WithCancel(context.Background())
	return s
}

// Close ends all streams.
func (s *Streams) Close() { s.close() }

// IsTopic reports whether a stream may hint at a topic.
func IsTopic(name string) bool { return name == "day" || events.IsTopic(name) }

// Path is the address of the stream.
const Path = "/live"

// Section returns the stream's address.
func (s *Streams) Section() ui.Section {
	return ui.Section{Routes: []ui.Route{{Get: Path, Operation: app.FollowPages, Handle: s.follow}}}
}

// Position is the position of the last published event, for a page's stream.
func (s *Streams) Position() string { return s.at(s.Events.Published()) }

// at names a moment of this process: how many events it had published.
func (s *Streams) at(heard int64) string { return s.boot + "-" + strconv.FormatInt(heard, 10) }

// follow streams hints: which topic has changed, never its content. The page fetches its own parts again.
// Package events names the topics, and streams add "day", once a minute. A client sends its position by
// Last-Event-ID or after=. Unless nothing happened since, it must fetch all its parts once, so that no hint
// is lost between a page and its stream, or between two streams.
func (s *Streams) follow(c *ui.Context) error {
	if from := c.Echo.Request().Header.Get("Origin"); from != "" && from != c.Site.Origin(c.Echo.Request()) {
		return domain.Errorf(domain.CodeForbidden, "pages of other sites cannot open event streams")
	}
	topics := strings.Split(c.Query("t"), ",")
	only := ""
	if len(topics) == 1 {
		only, _ = strings.CutPrefix(topics[0], "run-")
		if !domain.ValidID(only) {
			only = ""
		}
	}
	w := c.Echo.Response()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	l := &stream{w: w, control: http.NewResponseController(w), streams: s, wanted: map[string]bool{}}
	for _, t := range topics {
		l.wanted[t] = true
	}
	if !s.sessions.enter(c.Who.Secret) {
		w.WriteHeader(http.StatusOK)
		_ = l.send("poll", "1") // or the browser has gone
		return nil
	}
	defer s.sessions.leave(c.Who.Secret)
	if s.Limit != nil {
		if s.Limit.Enter(c.Who.Name) != nil {
			w.WriteHeader(http.StatusOK)
			_ = l.send("poll", "1") // the page polls now and then
			return nil
		}
		defer s.Limit.Leave(c.Who.Name)
	}
	feed, err := s.Events.Subscribe(c, -1, only)
	if err != nil {
		return err
	}
	l.heard = s.Events.Published() // after the subscription: an event between is sent twice, not never
	w.WriteHeader(http.StatusOK)
	err = l.send("hello", s.boot)
	if known := cmp.Or(c.Echo.Request().Header.Get("Last-Event-ID"), c.Query("after")); err == nil && known != s.at(l.heard) {
		err = l.send("resync", "1")
	}
	beat := time.NewTicker(s.Beat)
	defer beat.Stop()
	for beats := 1; err == nil; {
		select {
		case <-c.Done():
			return nil
		case <-s.closing.Done():
			return nil
		case <-beat.C:
			if beats%beatsPerCheck == 0 {
				if ok, problem := s.stillIn(c); problem != nil || !ok {
					return nil // the next request gets the reason
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
			l.heard = max(l.heard, e.Published)
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
	// defaultBeat is the interval of heartbeats.
	defaultBeat = 15 * time.Second
	// beatsPerCheck: once a minute a stream asks whether its reader is still logged
	// in, which also counts as use of the login.
	beatsPerCheck = 4
)

// stillIn asks again whether the login holds that a stream was opened with.
func (s *Streams) stillIn(c *ui.Context) (bool, error) {
	now, err := s.Login(c)
	if err != nil {
		c.Site.Logger.Error("a live stream ends: its login cannot be read", "err", err)
		return false, err
	}
	return now.Name == c.Who.Name && app.May(now.Actor(), c.Op), nil
}

// stream is one reader's stream of hints.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	streams *Streams
	wanted  map[string]bool
	heard   int64 // the reader's position
}

func (l *stream) send(event, data string) error {
	if err := l.control.SetWriteDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(l.w, "id: %s\nevent: %s\ndata: %s\n\n", l.streams.at(l.heard), event, data); err != nil {
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

// sessions counts the open live streams of each session. A client beyond the limit polls.
type sessions struct {
	mu   sync.Mutex
	open map[string]int
}

func (s *sessions) enter(session string) bool {
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

func (s *sessions) leave(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[session]--; s.open[session] == 0 {
		delete(s.open, session)
	}
}
