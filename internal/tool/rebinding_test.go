package tool_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/kairosd/kairosd/internal/tool"
)

// fakeDNS answers each query for an IPv4 address with the next list of addresses. It repeats the
// last list. Other queries have empty answers.
type fakeDNS struct {
	mu      sync.Mutex
	answers [][]string
}

func (d *fakeDNS) next() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.answers[0]
	if len(d.answers) > 1 {
		d.answers = d.answers[1:]
	}
	return a
}

// serve starts the server on a loopback port and returns its address.
func (d *fakeDNS) serve(t *testing.T) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Authoritative, m.RecursionAvailable, m.Additionals = true, true, true, nil
			if m.Questions[0].Type == dnsmessage.TypeA {
				for _, a := range d.next() {
					m.Answers = append(
						m.Answers,
						dnsmessage.Resource{
							Header: dnsmessage.ResourceHeader{
								Name:  m.Questions[0].Name,
								Type:  dnsmessage.TypeA,
								Class: dnsmessage.ClassINET,
							},
							Body: &dnsmessage.AResource{A: [4]byte(net.ParseIP(a).To4())},
						},
					)
				}
			}
			if b, err := m.Pack(); err == nil {
				c.WriteTo(b, from)
			}
		}
	}()
	return c.LocalAddr().String()
}

// M09: The address is checked where the socket connects. A name whose answer changes between two
// queries, or that has several answers, reaches no forbidden address. Not parallel, because it sets
// the resolver of the whole process.
func TestHTTPChecksEveryAddressOfDNS(t *testing.T) {
	var host string
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/again" {
			w.Header().Set("Connection", "close")
			http.Redirect(w, r, "http://"+host+"/", http.StatusFound)
			return
		}
		w.Header().Set("Connection", "close")
		io.WriteString(w, "reached "+r.Context().Value(http.LocalAddrContextKey).(net.Addr).(*net.TCPAddr).IP.String())
	})
	ln, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(handler)
	s.Listener.Close()
	s.Listener = ln
	s.Start()
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	host = "rebind.example:" + port
	set := builtin(t, tool.Config{HTTP: tool.HTTPConfig{AllowPrivate: []string{"127.0.0.2"}}}, nil)
	before := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = before })
	for name, c := range map[string]struct {
		answers [][]string
		path    string
		want    string // the reached server, or the error
	}{
		"allowed":                            {[][]string{{"127.0.0.2"}}, "/", "reached 127.0.0.2"},
		"not allowed":                        {[][]string{{"127.0.0.1"}}, "/", "not a public address"},
		"both, the other one first":          {[][]string{{"127.0.0.1", "127.0.0.2"}}, "/", "reached 127.0.0.2"},
		"none of several":                    {[][]string{{"127.0.0.1", "127.0.0.3", "10.0.0.1"}}, "/", "not a public address"},
		"it changes between two requests":    {[][]string{{"127.0.0.2"}, {"127.0.0.1"}}, "/again", "not a public address"},
		"it changes back before the second":  {[][]string{{"127.0.0.2"}, {"127.0.0.2"}}, "/again", "reached 127.0.0.2"},
		"the metadata service of a provider": {[][]string{{"169.254.169.254"}}, "/", "not a public address"},
	} {
		dns := (&fakeDNS{answers: c.answers}).serve(t)
		net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "udp", dns)
		}}
		out, f := call(t, set, "http", `{"url": "http://`+host+c.path+`", "redirects": 1, "timeout": "30s"}`)
		got := out
		if f != nil {
			got = f.Message
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %q", name, got, c.want)
		}
	}
}
