package web_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/web/webtest"
)

// FuzzHTTP sends raw bytes to the whole site, anonymously and with a session. The server must
// respond or close the connection, without an internal error, and keep serving.
func FuzzHTTP(f *testing.F) {
	site := webtest.New(f)
	site.Seed(f)
	b := site.Browser(f).Login()
	cookie := ""
	for _, c := range b.Cookies() {
		cookie += c.Name + "=" + c.Value + "; "
	}
	host := strings.TrimPrefix(site.URL, "http://")
	for _, s := range []string{"GET / HTTP/1.1\r\nHost: HOST\r\n\r\n",
		"GET /runs?q=status%3Afailed HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\n\r\n",
		"POST /runs HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\nContent-Type: application/x-www-form-urlencoded\r\n" +
			"Content-Length: 9\r\n\r\ncsrf=x&a=",
		"POST /api/v1/runs HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n0\r\n\r\n",
		"GET http://other/ HTTP/1.1\r\nHost: other\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: HOST\r\n\r\n",
		"GET /../../etc/passwd HTTP/1.0\r\n\r\n", "GET /%2e%2e/ HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x00\xa5\x01",
		"GET /api/v1/events HTTP/1.1\r\nHost: HOST\r\nAccept: text/event-stream\r\nLast-Event-ID: x-9\r\n\r\n",
		"GET /runs/%00 HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\nHX-Request: true\r\n\r\n",
		"GET /plans/x/versions/99999999999999999999 HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\n\r\n", "\r\n\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: HOST\r\nContent-Length: -1\r\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = bytes.ReplaceAll(bytes.ReplaceAll(raw, []byte("HOST"), []byte(host)), []byte("COOKIE"), []byte(cookie))
		c, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatalf("the server no longer responds: %v", err)
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(raw) // the server may have closed the connection
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			return
		}
		for in := bufio.NewReader(c); ; {
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
					t.Errorf("%q: the server neither responds nor closes the connection", raw)
				}
				return
			}
			if resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented &&
				resp.StatusCode != http.StatusHTTPVersionNotSupported {
				t.Errorf("%q: got status %s", raw, resp.Status)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				return // truncated
			}
		}
	})
}
