package daemon_test

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/kairosd/kairosd/internal/daemon"
)

// A46: a client that opens HTTP/2 streams and resets each at once cannot exceed the limit of open
// requests, and is disconnected. Other clients are answered in the meantime.
func TestAFloodOfStreamResets(t *testing.T) {
	t.Parallel()
	var working, most atomic.Int64
	release := make(chan struct{})
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/slow" {
			return
		}
		n := working.Add(1)
		defer working.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-release // it continues even if the client has gone
	})
	keys := httptest.NewUnstartedServer(nil)
	keys.StartTLS()
	defer keys.Close()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := daemon.SiteServer(handler, slog.New(slog.DiscardHandler))
	served := make(chan error, 1)
	go func() {
		served <- s.Serve(tls.NewListener(plain, &tls.Config{Certificates: keys.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}))
	}()
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		<-served
	}()
	trust := keys.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	trust.NextProtos = []string{"h2"}
	c, err := tls.Dial("tcp", plain.Addr().String(), trust)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if p := c.ConnectionState().NegotiatedProtocol; p != "h2" {
		t.Fatalf("the server speaks %q", p)
	}
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	frames := http2.NewFramer(c, c)
	if err := frames.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	goodbye := make(chan http2.ErrCode, 1)
	go func() {
		code := http2.ErrCodeNo
		for {
			f, err := frames.ReadFrame()
			if err != nil {
				goodbye <- code
				return
			}
			if g, ok := f.(*http2.GoAwayFrame); ok {
				code = g.ErrCode
			}
		}
	}()
	var head strings.Builder
	pack := hpack.NewEncoder(&head)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":path", "/slow"}, {":authority", "a"}} {
		if err := pack.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: true}); err != nil {
			t.Fatal(err)
		}
	}
	opened := 0
	for id := uint32(1); id < 200_000; id += 2 {
		if err := errors.Join(frames.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte(head.String()),
			EndHeaders: true, EndStream: true}),
			frames.WriteRSTStream(id, http2.ErrCodeCancel)); err != nil {
			break // the server closed the connection
		}
		opened++
	}
	select {
	case code := <-goodbye:
		if code != http2.ErrCodeEnhanceYourCalm {
			t.Errorf("it was hung up on after %d streams with %v", opened, code)
		}
	case <-time.After(time.Minute):
		t.Errorf("after %d streams that were reset the peer may go on", opened)
	}
	if n := most.Load(); n == 0 || n > 250 {
		t.Errorf("%d requests of one peer were worked on at a time", n)
	}
	res, err := keys.Client().Get("https://" + plain.Addr().String() + "/")
	if err != nil {
		t.Fatalf("somebody else: %v", err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("somebody else: %d, %v", res.StatusCode, err)
	}
	close(release)
}
