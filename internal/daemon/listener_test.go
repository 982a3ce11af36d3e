package daemon_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/daemon"
)

// listening starts the daemon's own server with another handler, on a local port.
func listening(t *testing.T, handler http.Handler, most int, change func(*http.Server)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listeningOn(t, ln, handler, most, change)
}

// listeningOn starts the daemon's own server on a listener of the test.
func listeningOn(t *testing.T, ln net.Listener, handler http.Handler, most int, change func(*http.Server)) string {
	t.Helper()
	s := daemon.SiteServer(handler, slog.New(slog.DiscardHandler))
	if change != nil {
		change(s)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(daemon.Bounded(ln, most)) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return ln.Addr().String()
}

// send writes bytes unchanged and reads the response until the connection ends or is silent for a
// long time.
func send(t *testing.T, address, text string) (status int, answer string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil && text[:3] != "BIG" {
		return 0, err.Error() // the server closed the connection during the write
	}
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return res.StatusCode, err.Error()
	}
	return res.StatusCode, string(b)
}

// A04, A08, A10, A46: an ambiguous request is rejected before any page or route handles it. An
// accepted request contains no trace of another interpretation.
func TestAmbiguousRequestsAreRefused(t *testing.T) {
	t.Parallel()
	address := listening(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %d %v %q %v", r.Method, r.Host, r.ContentLength, r.TransferEncoding, b, err)
	}), 64, nil)
	const host = "Host: a\r\nConnection: close\r\n"
	for name, c := range map[string]struct {
		text   string
		status int
		want   string
	}{
		"A04 two lengths":            {"POST / HTTP/1.1\r\n" + host + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400, ""},
		"A04 two hosts":              {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, ""},
		"A04 no host":                {"GET / HTTP/1.1\r\n\r\n", 400, ""},
		"A04 gzip, chunked":          {"POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, ""},
		"A04 NUL in a header":        {"GET / HTTP/1.1\r\n" + host + "X: a\x00b\r\n\r\n", 400, ""},
		"A04 line break in a name":   {"GET / HTTP/1.1\r\n" + host + "X\n Y: a\r\n\r\n", 400, ""},
		"A04 a blank before a colon": {"POST / HTTP/1.1\r\n" + host + "Content-Length : 3\r\n\r\nabc", 400, ""},
		"A04 a length and chunks": {"POST / HTTP/1.1\r\n" + host + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n" +
			"\r\n4\r\nabcd\r\n0\r\n\r\n", 200, `POST a -1 [chunked] "abcd" <nil>`},
		"A04 a negative length":     {"POST / HTTP/1.1\r\n" + host + "Content-Length: -3\r\n\r\n", 400, ""},
		"A04 no HTTP at all":        {"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400, ""},
		"A08 a header of 64 KiB":    {"GET / HTTP/1.1\r\n" + host + "X: " + strings.Repeat("a", 64<<10) + "\r\n\r\n", 431, ""},
		"A08 a thousand headers":    {"GET / HTTP/1.1\r\n" + host + strings.Repeat("X-Abcdefgh: 0123456789\r\n", 1000) + "\r\n", 431, ""},
		"A08 an address of 64 KiB":  {"GET /" + strings.Repeat("a", 64<<10) + " HTTP/1.1\r\n" + host + "\r\n", 431, ""},
		"A10 another method's word": {"GET / HTTP/1.1\r\n" + host + "X-HTTP-Method-Override: DELETE\r\n\r\n", 200, "GET a"},
		"A46 an upgrade": {"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, close\r\n" +
			"Upgrade: h2c, websocket\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n", 200, "GET a"},
	} {
		if status, answer := send(t, address, c.text); status != c.status || !strings.Contains(answer, c.want) {
			t.Errorf("%s: %d %q, want %d %q", name, status, answer, c.status, c.want)
		}
	}
	if status, answer := send(t, address, "GET / HTTP/1.1\r\n"+host+"X: "+strings.Repeat("a", 3<<20)+"\r\n\r\n"); status != 431 &&
		status != 0 {
		t.Errorf("A08 a header of 3 MiB: %d %q", status, answer)
	}
}

// A06, A07: A client that sends headers or a body slowly, or never reads, is disconnected. Other
// clients do not wait for it.
func TestSlowClientsAreDisconnected(t *testing.T) {
	t.Parallel()
	s := daemon.SiteServer(nil, slog.New(slog.DiscardHandler))
	if s.ReadHeaderTimeout != 5*time.Second || s.ReadTimeout != time.Minute || s.IdleTimeout != time.Minute || s.MaxHeaderBytes != 16<<10 {
		t.Errorf(
			"the daemon waits %s for headers, %s for requests, %s for idle connections, and takes %d bytes of headers",
			s.ReadHeaderTimeout,
			s.ReadTimeout,
			s.IdleTimeout,
			s.MaxHeaderBytes,
		)
	}
	read := make(chan error, 1)
	address := listening(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_, err := io.ReadAll(r.Body)
			read <- err
		}
	}), 64, func(s *http.Server) { s.ReadHeaderTimeout, s.ReadTimeout = 200*time.Millisecond, 400*time.Millisecond })
	for name, text := range map[string]string{
		"A06 nothing":               "",
		"A06 half a header":         "GET / HTTP/1.1\r\nHost: a\r\nX: ",
		"A06 an open header":        "GET / HTTP/1.1\r\nHost: a\r\n",
		"A07 a body without end":    "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc",
		"A07 chunks without an end": "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
	} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, c); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: the connection is still open: %v", name, err)
		}
		if strings.Contains(text, "/body") {
			if err := <-read; err == nil {
				t.Errorf("%s: the handler read a whole body", name)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// counting is a listener that counts its open connections.
type counting struct {
	net.Listener
	open, peak atomic.Int64
}

func (l *counting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	n := l.open.Add(1)
	for p := l.peak.Load(); n > p && !l.peak.CompareAndSwap(p, n); p = l.peak.Load() {
	}
	return &counted{Conn: c, of: l}, nil
}

type counted struct {
	net.Conn
	of   *counting
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.of.open.Add(-1) })
	return c.Conn.Close()
}

// A09: the number of open connections is limited. Further connections wait until one ends.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 8
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &counting{Listener: ln}
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "here") })
	address := listeningOn(t, l, hello, most, nil)
	idle := make([]net.Conn, 200)
	for i := range idle {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		idle[i] = c
	}
	for end := time.Now().Add(time.Minute); l.open.Load() < most; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d connections are open, want %d", l.open.Load(), most)
		}
	}
	for _, c := range idle {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if status, answer := send(t, address, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); status != 200 || answer != "here" {
		t.Errorf("after them: %d %q", status, answer)
	}
	if n := l.peak.Load(); n != most {
		t.Errorf("%d connections were open at once, want %d", n, most)
	}
}
