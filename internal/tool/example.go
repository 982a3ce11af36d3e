package tool

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
)

// exampleHost is a host that the http tool serves itself if tools.http.examples is set. Names under
// .example are reserved and never resolve (RFC 6761).
const exampleHost = "kairos.example"

// examples serves exampleHost in this process, without a socket:
//
//	GET /ready  503, 503, 200, and so on: a service that needs time to start
type examples struct{ asked atomic.Int64 }

func (e *examples) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != "/ready":
		http.NotFound(w, r)
	case e.asked.Add(1)%3 != 0:
		http.Error(w, "starting", http.StatusServiceUnavailable)
	default:
		fmt.Fprintln(w, "ready")
	}
}

// dial connects a client to the server of the examples.
func (e *examples) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	go func() {
		server := &http.Server{Handler: e}
		server.SetKeepAlivesEnabled(false)
		_ = server.Serve(&one{conn: far}) // ends with the connection
	}()
	return near, nil
}

// one is a listener with a single connection.
type one struct {
	conn     net.Conn
	accepted atomic.Bool
}

func (o *one) Accept() (net.Conn, error) {
	if o.accepted.Swap(true) {
		return nil, net.ErrClosed
	}
	return o.conn, nil
}

func (*one) Close() error     { return nil }
func (o *one) Addr() net.Addr { return o.conn.LocalAddr() }
