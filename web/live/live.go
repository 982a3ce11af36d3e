// Package live notifies open pages when their fragments may have changed. It owns the event stream,
// its limits, and the positions at which streams resume.
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

// Ports are the dependencies of streams.
type Ports struct {
	Events Events
	// Limit limits the streams of a principal together with those of the API. If it is nil, only
	// the streams of a session are limited.
	Limit Limit
	// Login returns the current principal of a stream's session. Without a valid session, the
	// principal has no name.
	Login func(c *ui.Context) (ui.Principal, error)
	// Beat is the interval of heartbeats. 0 means 15 seconds.
	Beat time.Duration
}

// Events is the source of hints.
type Events interface {
	// Subscribe delivers events until the context ends. It sends a "reset" event to a listener that
	// falls behind, and closes its channel.
	Subscribe(ctx context.Context, after int64, run string) (<-chan domain.Event, error)
	// Published returns the number of events published so far; see domain.Event.
	Published() int64
}

// Limit limits the number of streams of each principal.
type Limit interface {
	Enter(principal string) error
	Leave(principal string)
}

// Streams serves the live streams of a server.
type Streams struct {
	Ports
	boot     string // identifies this process in positions
	sessions sessions
	closing  context.Context
	close    context.CancelFunc
}

// New returns a server of live streams. Close ends them.
func New(p Ports) *Streams {
	p.Beat = cmp.Or(p.Beat, defaultBeat)
	s := &Streams{Ports: p, boot: kit.NewID()}
	s.closing, s.close = context.WithCancel(context.Background())
	return s
}

// Close ends all streams.
func (s *Streams) Close() { s.close() }

// IsTopic reports whether streams may send hints for a topic.
func IsTopic(name string) bool { return name == "day" || events.IsTopic(name) }

// Path is the address of the stream.
const Path = "/live"

// Section returns the section with the route of the stream.
func (s *Streams) Section() ui.Section {
	return ui.Section{Routes: []ui.Route{{Get: Path, Operation: app.FollowPages, Handle: s.follow}}}
}

// Position returns the position of the last published event, for the stream of a page.
func (s *Streams) Position() string { return s.positionAfter(s.Events.Published()) }

// positionAfter returns the position after the given number of events of this process.
func (s *Streams) positionAfter(heard int64) string {
	return s.boot + "-" + strconv.FormatInt(heard, 10)
}

// follow streams hints. A hint names a topic that changed, without its content, and the page
// reloads its fragments. Package events defines the topics. Streams also send "day" once a minute.
// A client sends its position in Last-Event-ID or after=. If it differs from the current one, the
// client must reload all fragments, so that no hint is lost between the page and its stream, or
// between two streams.
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
	l := &stream{w: w, control: http.NewResponseController(w), streams: s, topics: map[string]bool{}}
	for _, t := range topics {
		l.topics[t] = true
	}
	if !s.sessions.enter(c.Principal.Secret) {
		w.WriteHeader(http.StatusOK)
		_ = l.send("poll", "1") // or the browser has disconnected
		return nil
	}
	defer s.sessions.leave(c.Principal.Secret)
	if s.Limit != nil {
		if s.Limit.Enter(c.Principal.Name) != nil {
			w.WriteHeader(http.StatusOK)
			_ = l.send("poll", "1") // the page polls instead
			return nil
		}
		defer s.Limit.Leave(c.Principal.Name)
	}
	feed, err := s.Events.Subscribe(c, -1, only)
	if err != nil {
		return err
	}
	l.position = s.Events.Published() // after subscribing, so that an event in between is sent twice rather than never
	w.WriteHeader(http.StatusOK)
	err = l.send("hello", s.boot)
	if known := cmp.Or(c.Echo.Request().Header.Get("Last-Event-ID"), c.Query("after")); err == nil && known != s.positionAfter(l.position) {
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
				if ok, problem := s.sessionValid(c); problem != nil || !ok {
					return nil // the next request shows the reason
				}
			}
			if err = l.send("beat", "1"); err == nil && beats%beatsPerCheck == 0 { // for content that depends on the time
				err = l.hints([]string{"day", "system"})
			}
			beats++
		case e, ok := <-feed:
			if !ok {
				return nil
			}
			l.position = max(l.position, e.Published)
			if e.Type == "reset" {
				err = l.send("resync", "1")
			} else {
				err = l.hints(events.Topics(e))
			}
		}
	}
	return nil // the browser has disconnected
}

const (
	// defaultBeat is the interval of heartbeats.
	defaultBeat = 15 * time.Second
	// beatsPerCheck is the number of heartbeats between checks of the session. With the default
	// interval, a stream checks once a minute, which also counts as activity of the session.
	beatsPerCheck = 4
)

// sessionValid reports whether the session of a stream is still valid and still allows the stream.
func (s *Streams) sessionValid(c *ui.Context) (bool, error) {
	now, err := s.Login(c)
	if err != nil {
		c.Site.Logger.Error("a live stream ends: its login cannot be read", "err", err)
		return false, err
	}
	return now.Name == c.Principal.Name && app.May(now.Actor(), c.Op), nil
}

// stream is the stream of hints to one reader.
type stream struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	streams  *Streams
	topics   map[string]bool
	position int64 // position of the reader
}

func (l *stream) send(event, data string) error {
	if err := l.control.SetWriteDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(l.w, "id: %s\nevent: %s\ndata: %s\n\n", l.streams.positionAfter(l.position), event, data); err != nil {
		return err
	}
	return l.control.Flush()
}

func (l *stream) hints(topics []string) error {
	for _, t := range topics {
		if l.topics[t] {
			if err := l.send("hint", t); err != nil {
				return err
			}
		}
	}
	return nil
}

// streamsPerSession leaves pages two of the six connections that a browser opens to one host over
// HTTP/1.1. With six streams, the seventh tab would not load.
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
