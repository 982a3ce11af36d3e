package tool_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

var loopback = tool.Config{HTTP: tool.HTTPConfig{AllowPrivate: []string{"127.0.0.0/8", "::1"}}}

// server returns a server on the loopback interface.
func server(tb testing.TB, h http.HandlerFunc) string {
	tb.Helper()
	s := httptest.NewServer(h)
	tb.Cleanup(s.Close)
	return s.URL
}

// Requests and responses have the expected form. Cookies are neither stored nor shown (M14).
func TestHTTP(t *testing.T) {
	t.Parallel()
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "a=b")
		json.NewEncoder(w).Encode(map[string]any{"method": r.Method, "path": r.URL.String(), "key": r.Header.Get("Idempotency-Key"),
			"type": r.Header.Get(
				"Content-Type",
			), "auth": r.Header.Get("Authorization"), "body": string(body), "n": json.Number("12345678901234567890")})
	})
	set := builtin(t, loopback, nil)
	for args, want := range map[string]string{
		`"method": "get", "query": {"q": "a b", "n": [1, 2]}`: `{"auth":"","body":"","key":"",` +
			`"method":"GET","n":12345678901234567890,"path":"/x?n=1&n=2&q=a+b","type":""}`,
		`"body": {"a": 1}, "headers": {"authorization": "Bearer t"}`: `{"auth":"Bearer ` +
			`t","body":"{\"a\":1}","key":"key-1","method":"POST","n":12345678901234567890,"path":"/x","type":"application/json"}`,
		`"method": "PUT", "body": "text", "headers": {"Content-Type": "text/csv"}`: `{"auth":"","body":"text","key":"key-1",` +
			`"method":"PUT","n":12345678901234567890,"path":"/x","type":"text/csv"}`,
	} {
		got, f := call(t, set, "http", `{"url": "`+url+`/x", `+args+`}`)
		if f != nil {
			t.Errorf("%s: %v", args, f)
			continue
		}
		v, err := jsonvalue.Decode([]byte(got))
		if err != nil {
			t.Fatal(err)
		}
		m := v.(map[string]any)
		if body := jsonvalue.Text(m["body"]); body != want || jsonvalue.Text(m["status"]) != "200" {
			t.Errorf("%s: got %s, want %s", args, body, want)
		}
		if headers := m["headers"].(map[string]any); headers["content-type"] != "application/json" || headers["set-cookie"] != nil {
			t.Errorf("headers %v", headers)
		}
	}
}

func TestHTTPEffects(t *testing.T) {
	t.Parallel()
	set := builtin(t, tool.Config{}, nil)
	for args, want := range map[string]walk.Effect{
		`{"url": "x"}`: "read", `{"method": "HEAD"}`: "read", `{"method": "PUT"}`: "idempotent",
		`{"method": "DELETE"}`: "idempotent", `{"method": "POST"}`: "unsafe", `{"method": "PATCH"}`: "unsafe",
		`{"body": 1}`: "unsafe", `{"method": "${input.method}"}`: "unsafe", `{"method": 5}`: "unsafe", `no object`: "unsafe",
	} {
		if got := set.Effect("http", args); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

// The status determines whether a retry is possible and whether the call is in doubt.
func TestHTTPStatuses(t *testing.T) {
	t.Parallel()
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		var status int
		fmt.Sscanf(r.URL.Path, "/%d", &status)
		w.Header().Set("Retry-After", "7")
		if status/100 == 3 {
			w.Header().Set("Location", "/200")
		}
		w.WriteHeader(status)
		if status != http.StatusNoContent && status != http.StatusNotModified {
			io.WriteString(w, "the reason")
		}
	})
	set := builtin(t, loopback, nil)
	for status, want := range map[int]struct {
		permanent, noEffect bool
		after               time.Duration
	}{
		400: {true, true, 0}, 401: {true, true, 0}, 404: {true, true, 0}, 409: {true, true, 0}, 422: {true, true, 0},
		408: {false, false, 7 * time.Second}, 425: {false, true, 7 * time.Second}, 429: {false, true, 7 * time.Second},
		500: {false, false, 7 * time.Second}, 502: {false, false, 7 * time.Second}, 503: {false, false, 7 * time.Second},
		302: {true, false, 0},
	} {
		_, f := call(t, set, "http", fmt.Sprintf(`{"url": "%s/%d", "method": "POST"}`, url, status))
		if f == nil || f.Permanent != want.permanent || f.NoEffect != want.noEffect || f.RetryAfter != want.after ||
			f.Code != fmt.Sprintf("http_%d", status) ||
			f.Detail != "the reason" {
			t.Errorf("%d: got %+v, want %+v", status, f, want)
		}
	}
	for _, args := range []string{`/204"`, `/304"`, `/201"`, `/404", "expect": [200, 404]`, `/302", "redirects": 1`,
		`/500", "expect": [500]`} {
		if _, f := call(t, set, "http", `{"url": "`+url+args+`}`); f != nil {
			t.Errorf("%s: %v", args, f)
		}
	}
	if _, f := call(t, set, "http", `{"url": "`+url+`/200", "expect": [404]}`); f == nil || f.Code != "http_200" {
		t.Errorf("an unexpected 200: %v", f)
	}
}

// A34, C12, M08, M10, M12, M14, M15: the address is checked at the socket, once per connection, so
// that a DNS answer cannot change in between. Every address that is not a public web server is
// rejected.
func TestHTTPRefusesAddresses(t *testing.T) {
	t.Parallel()
	set := builtin(t, tool.Config{}, nil)
	for url, want := range map[string]string{
		"http://127.0.0.1:8080/": "not a public address", "http://[::1]:8080/": "not a public address",
		"http://0.0.0.0:8080/": "not a public address", "http://[::ffff:127.0.0.1]:8080/": "not a public address",
		"http://[64:ff9b::7f00:1]:8080/": "not a public address", "http://[2002:7f00:1::]:8080/": "not a public address",
		"http://169.254.169.254/latest/meta-data": "not a public address",
		"http://[fe80::1%25lo]:8080/":             "not a public address", "http://①②⑦.0.0.1:8080/": "not a public address",
		"http://LOCALHOST:8080/": "not a public address", "http://10.0.0.1/": "not a public address",
		"http://192.168.1.1/": "not a public address", "http://172.16.0.1/": "not a public address",
		"http://100.64.0.1/": "not a public address", "http://[fd00::1]/": "not a public address",
		"http://[::]:8080/":       "not a public address",
		"http://255.255.255.255/": "not a public address", "http://224.0.0.1/": "not a public address",
		"http://[ff02::1]/": "not a public address", "http://198.18.0.1/": "not a public address",
		"http://[64:ff9b:1::1]/": "not a public address", "http://[2001:db8::1]/": "not a public address",
		"http://[2001::1]/": "not a public address", "http://[::127.0.0.1]:8080/": "not a public address",
		"http://8.8.8.8:22/": "not for HTTP", "http://8.8.8.8:25/": "not for HTTP",
		"file:///etc/passwd": "only http and https", "gopher://8.8.8.8/": "only http and https",
		"ftp://8.8.8.8/": "only http and https", "//8.8.8.8/": "only http and https", "8.8.8.8": "only http and https",
		"javascript:alert(1)":       "only http and https",
		"http://user:pass@8.8.8.8/": "user information", "http://127.0.0.1@8.8.8.8/": "user information", "http:///x": "no host",
		"http://": "no host", "http://8.8.8.8:99999/": "not a port", "http://exa mple/": "url", "http://x\\r\\ny/": "url", "%zz": "url",
	} {
		f := refuses(t, set, "http", `{"url": "`+url+`", "timeout": "5s"}`, want)
		if strings.Contains(f.Message, "pass") {
			t.Errorf("%s: the message repeats a password: %s", url, f.Message)
		}
	}
	// Forms of addresses that only a C resolver understands are rejected too.
	for _, host := range []string{"127.1", "2130706433", "0x7f000001", "0177.0.0.1"} {
		if out, f := call(t, set, "http", `{"url": "http://`+host+`:8080/", "timeout": "5s"}`); f == nil || !f.NoEffect {
			t.Errorf("%s: got %s, %v", host, out, f)
		}
	}
	for args, want := range map[string]string{
		`"headers": {"X-A": "a\r\nHost: b"}`: "control character", `"headers": {"X\r\nY": "a"}`: "not a header name",
		`"headers": {"": "a"}`: "not a header name", `"headers": {"Host": "a"}`: "may not be set",
		`"headers": {"transfer-encoding": "chunked"}`: "may not be set", `"headers": {"Proxy-Authorization": "x"}`: "may not be set",
		`"method": "TRACE"`: "method", `"timeout": "soon"`: "not a duration",
		`"redirects": 20`: "redirects", `"expect": [7]`: "expect", `"colour": 1`: "unknown key",
	} {
		refuses(t, set, "http", `{"url": "http://8.8.8.8/", `+args+`}`, want)
	}
}

// kairosd's own listeners are refused even when their address is allow-listed
// (M15).
func TestHTTPNeverReachesKairosdItself(t *testing.T) {
	t.Parallel()
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	guard := &tool.Guard{}
	set := builtin(t, tool.Config{HTTP: tool.HTTPConfig{AllowPrivate: []string{"0.0.0.0/0", "::/0"}}}, guard)
	guard.Listeners(own.Addr())
	_, port, _ := net.SplitHostPort(own.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]"} {
		refuses(t, set, "http", `{"url": "http://`+host+`:`+port+`/", "timeout": "5s"}`, "kairosd's own address")
	}
	hop := server(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+own.Addr().String(), http.StatusFound)
	})
	if _, f := call(t, set, "http", `{"url": "`+hop+`", "redirects": 1}`); f == nil || f.Code != tool.CodeBlocked || f.NoEffect {
		t.Errorf("by a redirect: %+v", f)
	}
}

// M10: redirects are followed only on request, and checked at every hop.
func TestHTTPRedirects(t *testing.T) {
	t.Parallel()
	var seen http.Header
	target := server(t, func(w http.ResponseWriter, r *http.Request) { seen = r.Header.Clone(); io.WriteString(w, "here") })
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, target, http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/file":
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		case "/private":
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}
	})
	set := builtin(t, loopback, nil)
	if out, f := call(t, set, "http", `{"url": "`+url+`/away", "redirects": 2, "headers": {"X-Api-Key": "k", `+
		`"Authorization": "t"}}`); f != nil ||
		!strings.Contains(out, "here") {
		t.Errorf("got %s, %v", out, f)
	}
	if seen.Get("X-Api-Key") != "" || seen.Get("Authorization") != "" {
		t.Errorf("credentials went to another host: %v", seen)
	}
	for path, want := range map[string]string{"/away": "302 Found to " + target,
		"/loop\", \"redirects\": 5, \"method\": \"GET":    "more than 5 redirects",
		"/file\", \"redirects\": 1, \"method\": \"GET":    "only http and https",
		"/private\", \"redirects\": 1, \"method\": \"GET": "not a public address"} {
		if _, f := call(t, set, "http", `{"url": "`+url+path+`"}`); f == nil || !f.Permanent || !strings.Contains(f.Message, want) {
			t.Errorf("%s: got %v, want %q", path, f, want)
		}
	}
}

// M13: large, endless, and slow responses are limited.
func TestHTTPLimits(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			chunk := make([]byte, 64<<10)
			for range 200 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			chunk := make([]byte, 64<<10)
			for range 200 {
				z.Write(chunk)
			}
			z.Close()
		case "/trickle":
			w.Write([]byte("a"))
			w.(http.Flusher).Flush()
			<-release
		case "/silent":
			<-release
		case "/short":
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("a"))
		case "/reset":
			c, _, _ := w.(http.Hijacker).Hijack()
			c.Close()
		case "/headers":
			for i := range 5000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("a", 100))
			}
		case "/notjson":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, "{oops")
		case "/binary":
			w.Write([]byte{0xff, 0x00})
		}
	})
	t.Cleanup(func() { close(release) })
	set := builtin(t, loopback, nil)
	for path, code := range map[string]string{"/large": tool.CodeTooLarge, "/bomb": tool.CodeTooLarge, "/trickle": walk.CodeTimeout,
		"/silent": walk.CodeTimeout, "/short": tool.CodeUnreachable, "/reset": tool.CodeUnreachable, "/headers": tool.CodeUnreachable} {
		timeout := ""
		if code == walk.CodeTimeout { // the others fail because of their content, however long that takes
			timeout = `, "timeout": "2s"`
		}
		_, f := call(t, set, "http", `{"url": "`+url+path+`", "method": "POST"`+timeout+`}`)
		if f == nil || f.Code != code || f.NoEffect {
			t.Errorf("%s: got %+v, want %s, with an effect that is not excluded", path, f, code)
		}
	}
	if out, f := call(t, set, "http", `{"url": "`+url+`/notjson"}`); f != nil || !strings.Contains(out, `"body":"{oops"`) {
		t.Errorf("malformed JSON: %s, %v", out, f)
	}
	if _, f := call(t, set, "http", `{"url": "`+url+`/notjson", "response": "json"}`); f == nil || f.Code != "not_json" {
		t.Errorf("malformed JSON where JSON was asked for: %v", f)
	}
	if out, f := call(t, set, "http", `{"url": "`+url+`/binary"}`); f != nil ||
		!strings.Contains(out, `"body":"/wA=","encoding":"base64"`) {
		t.Errorf("binary: %s, %v", out, f)
	}
}

func TestHTTPProvesThatNothingWasSent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	set := builtin(t, loopback, nil)
	for _, url := range []string{"http://" + closed, "http://nobody.invalid/"} {
		_, f := call(t, set, "http", `{"url": "`+url+`", "method": "POST", "timeout": "5s"}`)
		if f == nil || f.Permanent || !f.NoEffect {
			t.Errorf("%s: got %+v, want a failure without effect that may heal", url, f)
		}
	}
	// A server with an untrusted certificate receives nothing.
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	if _, f := call(t, set, "http", `{"url": "`+s.URL+`", "method": "POST"}`); f == nil || f.Code != "certificate" || !f.NoEffect ||
		!f.Permanent {
		t.Errorf("got %+v", f)
	}
}

// M11: the environment's proxy is not used. Not parallel, because it sets the environment.
func TestHTTPIgnoresProxies(t *testing.T) {
	proxy := server(t, func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") })
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("http_proxy", proxy)
	url := server(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "direct") })
	if out, f := call(t, builtin(t, loopback, nil), "http", `{"url": "`+url+`"}`); f != nil || !strings.Contains(out, "direct") {
		t.Errorf("got %s, %v", out, f)
	}
}
