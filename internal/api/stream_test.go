package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/domain"
)

// message is one server-sent event.
type message struct{ id, event, data string }

// stream reads server-sent events.
type stream struct {
	resp  *http.Response
	lines *bufio.Scanner
	beats int // number of comments
}

func (s *server) listen(t *testing.T, as, path string, headers ...string) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+api.Base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+as)
	r.Header.Set("Accept", "text/event-stream")
	for _, h := range headers {
		k, v, _ := strings.Cut(h, ": ")
		r.Header.Set(k, v)
	}
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return &stream{resp: resp, lines: bufio.NewScanner(resp.Body)}
}

// next returns the next event; false at the end of the stream.
func (s *stream) next(t *testing.T) (m message, ok bool) {
	t.Helper()
	for s.lines.Scan() {
		field, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch field {
		case "id":
			m.id = value
		case "event":
			m.event = value
		case "data":
			m.data = value
		case "":
			if value != "" {
				s.beats++
			} else if m.event != "" {
				return m, true
			}
		}
	}
	return m, false
}

func (s *stream) want(t *testing.T, id, event string) {
	t.Helper()
	m, ok := s.next(t)
	if !ok || m.id != id || m.event != event {
		t.Fatalf("next event is %+v (%v), want %s %s", m, ok, id, event)
	}
	var e domain.Event
	if err := json.Unmarshal([]byte(m.data), &e); err != nil || e.Type != event {
		t.Errorf("data %s: %v", m.data, err)
	}
}

func TestEventsResume(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for range 3 {
		s.world.emit("tick")
	}
	for name, from := range map[string][]string{
		"Last-Event-ID": {"/events", "Last-Event-ID: abc-1"},
		"after=id":      {"/events?after=abc-1"},
		"after=number":  {"/events?after=1"},
	} {
		st := s.listen(t, "viewer", from[0], from[1:]...)
		if ct := st.resp.Header.Get("Content-Type"); st.resp.StatusCode != 200 || ct != "text/event-stream" {
			t.Fatalf("%s: %d %s", name, st.resp.StatusCode, ct)
		}
		st.want(t, "abc-2", "tick")
		st.want(t, "abc-3", "tick")
	}
	now := s.listen(t, "viewer", "/events")
	for _, from := range []string{
		"zzz-1",  // A45: another generation
		"abc-99", // A45: the future
	} {
		st := s.listen(t, "viewer", "/events", "Last-Event-ID: "+from)
		st.want(t, "abc-3", "reset")
	}
	s.world.emit("live")
	now.want(t, "abc-4", "live")

	run := s.world.runs[0].ID
	st := s.listen(t, "viewer", "/runs/"+run+"/events")
	st.want(t, "abc-1", "tick") // a run's stream starts with the run
	a := s.ask(t, "viewer", "GET /runs/"+run+"/events?limit=2", "")
	if items := a.json["items"].([]any); a.status != 200 || len(items) != 2 || a.json["hasMore"] != true {
		t.Errorf("as JSON: %d %s", a.status, a.text)
	}
	a = s.ask(t, "viewer", "GET /runs/"+run+"/events?limit=1&cursor="+a.json["nextCursor"].(string), "")
	if items := a.json["items"].([]any); len(items) != 1 || items[0].(map[string]any)["eventId"] != "abc-3" {
		t.Errorf("the next page: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "viewer", "GET /runs/"+run+"/events?after=abc-1", ""); a.status != 400 || a.json["reason"] != "event.stream" {
		t.Errorf("a list with the position of a stream: %d %s", a.status, a.text)
	}
}

func TestSlowListenerIsCutOffAndCatchesUp(t *testing.T) {
	t.Parallel()
	s := serve(t)
	st := s.listen(t, "viewer", "/events?after=0")
	// The client reads nothing while more events occur than all buffers can hold.
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s.world.listeners() > 0 {
			for range 100 {
				s.world.emit(strings.Repeat("x", 500))
			}
		}
	}()
	<-done // emitting does not wait for the client
	last, reset := "", false
	for {
		m, ok := st.next(t)
		if !ok {
			break
		}
		if m.event == "reset" {
			reset = true
		} else {
			last = m.id
		}
	}
	if !reset || last == "" {
		t.Fatalf("A45: the slow listener saw %q last and reset=%v", last, reset)
	}
	again := s.listen(t, "viewer", "/events", "Last-Event-ID: "+last)
	if m, ok := again.next(t); !ok || m.id == "" || m.event == "reset" && m.id == last {
		t.Errorf("catching up after %s returned %+v", last, m)
	}
}

func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	s := serve(t, func(c *api.Config) { c.Recheck, c.Heartbeat = 10*time.Millisecond, 5*time.Millisecond })
	st := s.listen(t, "operator", "/events")
	s.world.emit("one")
	st.want(t, "abc-1", "one")
	s.world.mu.Lock()
	delete(s.world.tokens, "operator")
	s.world.mu.Unlock()
	if m, ok := st.next(t); ok {
		t.Errorf("event after the token was revoked: %+v", m)
	}
	if st.beats == 0 {
		t.Error("an idle stream has no heartbeat")
	}
	other := s.listen(t, "viewer", "/events")
	s.api.Close()
	if m, ok := other.next(t); ok {
		t.Errorf("event after Close: %+v", m)
	}
}

// A07: each event has a deadline of its own, and the stream has none.
func TestStreamsOutliveTheTimeoutsOfRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, func(c *api.Config) { c.Heartbeat = 20 * time.Millisecond })
	short := httptest.NewUnstartedServer(s.Config.Handler)
	short.Config.ReadTimeout, short.Config.WriteTimeout = time.Second, time.Second
	short.Start()
	t.Cleanup(short.Close)
	s.Server = short
	st := s.listen(t, "viewer", "/events")
	conn, _, err := dial(t, s, "/ws", "viewer")
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(1500*time.Millisecond, func() { s.world.emit("late") })
	st.want(t, "abc-1", "late")
	if e := readEvent(t, conn); e.Type != "late" {
		t.Errorf("the socket received %+v", e)
	}
	if st.beats < 5 {
		t.Errorf("only %d heartbeats in more than a second", st.beats)
	}
	go func() { _, _, _ = conn.Read(t.Context()) }() // receives the close frame
	s.api.Close()                                    // before the servers, which wait for their streams
}

func TestStreamsAreCapped(t *testing.T) {
	t.Parallel()
	s := serve(t, func(c *api.Config) { c.MaxStreams = 2 })
	s.listen(t, "viewer", "/events")
	second := s.listen(t, "viewer", "/events")
	a := s.ask(t, "viewer", "GET /events", "", "Accept: text/event-stream")
	if a.status != 503 || a.header.Get("Retry-After") == "" {
		t.Errorf("A45: the third stream of two returned %d %s", a.status, a.text)
	}
	second.resp.Body.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil { // until the server has noticed
		if a := s.listen(t, "viewer", "/events"); a.resp.StatusCode == 200 {
			return
		}
	}
	t.Error("a closed stream still counts")
}

// One principal can have an eighth of all streams, on all routes together. Other principals can
// still open streams.
func TestOnePrincipalCannotHoldAllStreams(t *testing.T) {
	t.Parallel()
	s := serve(t, func(c *api.Config) { c.MaxStreams = 40 })
	for range 4 {
		if a := s.listen(t, "viewer", "/events"); a.resp.StatusCode != 200 {
			t.Fatal(a.resp.Status)
		}
	}
	if _, resp, err := dial(t, s, "/ws", "viewer"); err != nil {
		t.Fatal(resp, err)
	}
	for _, path := range []string{"GET /events", "GET /runs/" + s.world.runs[0].ID + "/events"} {
		a := s.ask(t, "viewer", path, "", "Accept: text/event-stream")
		if a.status != 429 || a.header.Get("Retry-After") == "" || !strings.Contains(a.text, "5 open event streams") {
			t.Errorf("%s beyond the share: %d %s", path, a.status, a.text)
		}
	}
	if _, resp, err := dial(t, s, "/ws", "viewer"); err == nil || resp == nil || resp.StatusCode != 429 {
		t.Errorf("a WebSocket beyond the share: %v, %v", resp, err)
	}
	if a := s.listen(t, "operator", "/events"); a.resp.StatusCode != 200 {
		t.Errorf("another principal: %s", a.resp.Status)
	}
}

func dial(t *testing.T, s *server, path, as string, headers ...string) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	h := http.Header{"Authorization": {"Bearer " + as}}
	for _, x := range headers {
		k, v, _ := strings.Cut(x, ": ")
		h.Set(k, v)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	conn, resp, err := websocket.Dial(ctx, s.URL+api.Base+path, &websocket.DialOptions{HTTPHeader: h})
	if err == nil {
		t.Cleanup(func() { _ = conn.CloseNow() })
	}
	return conn, resp, err
}

func readEvent(t *testing.T, conn *websocket.Conn) domain.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, text, err := conn.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var e domain.Event
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestWebSocket(t *testing.T) {
	t.Parallel()
	s := serve(t, func(c *api.Config) { c.Recheck = 10 * time.Millisecond })
	for range 3 {
		s.world.emit("tick")
	}
	conn, _, err := dial(t, s, "/ws?after=abc-1", "operator")
	if err != nil {
		t.Fatal(err)
	}
	if e := readEvent(t, conn); e.ID != "abc-2" {
		t.Errorf("the first event is %+v", e)
	}
	if e := readEvent(t, conn); e.ID != "abc-3" {
		t.Errorf("the second event is %+v", e)
	}
	s.world.emit("live")
	if e := readEvent(t, conn); e.ID != "abc-4" || e.Type != "live" {
		t.Errorf("the third event is %+v", e)
	}
	lost, _, err := dial(t, s, "/ws?after=zzz-4", "viewer")
	if err != nil {
		t.Fatal(err)
	}
	if e := readEvent(t, lost); e.Type != "reset" || e.ID != "abc-4" {
		t.Errorf("A45: an unknown generation: %+v", e)
	}
	s.world.mu.Lock()
	s.world.tokens["operator"] = domain.Actor{Name: "token operator"}
	s.world.mu.Unlock()
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Errorf("without a role: %v", err)
	}
	for name, c := range map[string]struct {
		as      string
		headers []string
		status  int
	}{
		"anonymous":     {"", nil, 401},
		"no role":       {"nobody", nil, 403},
		"foreign page":  {"viewer", []string{"Origin: http://evil.example"}, 403},
		"opaque origin": {"viewer", []string{"Origin: null"}, 403},
	} {
		_, resp, err := dial(t, s, "/ws", c.as, c.headers...)
		if err == nil || resp == nil || resp.StatusCode != c.status {
			t.Errorf("%s: %v %v, want %d", name, resp, err, c.status)
		}
	}
	closed := make(chan error, 1)
	go func() {
		_, _, err := lost.Read(t.Context())
		closed <- err
	}()
	s.api.Close()
	if err := <-closed; websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("after Close: %v", err)
	}
}

// TestAnonymousBodyIsNotRead sends the head of a request without its body.
func TestAnonymousBodyIsNotRead(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, head := range []string{
		"POST /api/v1/plans HTTP/1.1\r\nHost: x\r\nContent-Type: application/yaml\r\nContent-Length: 1000\r\n\r\n",
		"POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer viewer\r\n" +
			"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
		"POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n" +
			"Content-Type: application/json\r\nContent-Length: 99999999\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, head); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.Contains(line, " 401 ") && !strings.Contains(line, " 403 ") && !strings.Contains(line, " 413 ") {
			t.Errorf("S01: %q returned %q, %v", head[:30], line, err)
		}
		conn.Close()
	}
}
