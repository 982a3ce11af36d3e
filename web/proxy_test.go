package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/web"
	"github.com/kairosd/kairosd/web/webtest"
)

// A13, S31: only a trusted proxy can set the client's address, and state that the browser used TLS.
func TestOnlyTrustedProxiesAreBelieved(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Browser(t).Login()
	users, err := auth.New(auth.Config{Store: site.Store, Audit: site.Store})
	if err != nil {
		t.Fatal(err)
	}
	config := site.Web
	config.Auth, config.Hosts = users, []string{"kairos.example.com"}
	config.Proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	s, err := web.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for name, c := range map[string]struct {
		from, forwarded, proto, want string
		secure                       bool
	}{
		"a stranger who lies":        {"192.0.2.7:1000", "198.51.100.1", "https", "192.0.2.7", false},
		"a proxy":                    {"10.1.2.3:1000", "198.51.100.1", "https", "198.51.100.1", true},
		"a proxy, by HTTP":           {"10.1.2.3:1000", "198.51.100.1", "http", "198.51.100.1", false},
		"a client that lies to it":   {"10.1.2.3:1000", "127.0.0.1, 198.51.100.1", "https", "198.51.100.1", true},
		"two proxies":                {"10.1.2.3:1000", "198.51.100.1, 10.9.9.9", "https", "198.51.100.1", true},
		"a proxy that says nothing":  {"10.1.2.3:1000", "", "", "10.1.2.3", false},
		"a proxy that says nonsense": {"10.1.2.3:1000", "<script>", "https", "10.1.2.3", true},
		"a proxy over IPv6":          {"[fd00::1]:1000", "2001:db8::7", "https", "2001:db8::7", true},
		"a mapped address":           {"[::ffff:10.1.2.3]:1000", "198.51.100.1", "https", "198.51.100.1", true},
	} {
		req := httptest.NewRequest(
			http.MethodPost,
			"http://kairos.example.com/login",
			strings.NewReader(url.Values{"csrf": {"anonymous"}, "name": {"marta"}, "password": {webtest.Password}}.Encode()),
		)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.RemoteAddr = c.from
		if c.forwarded != "" {
			req.Header.Set("X-Forwarded-For", c.forwarded)
			req.Header.Set("X-Forwarded-Proto", c.proto)
		}
		req.Header.Set("X-Forwarded-Host", "evil.example")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, req)
		cookie := w.Header().Get("Set-Cookie")
		if secure := strings.HasPrefix(cookie, "__Host-kairos=") && strings.Contains(cookie, "Secure"); w.Code != http.StatusSeeOther ||
			secure != c.secure {
			t.Errorf("%s: got status %d, want %d: %s", name, w.Code, http.StatusSeeOther, cookie)
		}
		if hsts := w.Header().Get("Strict-Transport-Security") != ""; hsts != c.secure {
			t.Errorf("%s: Strict-Transport-Security: %v", name, hsts)
		}
		marta, err := site.Auth.User(t.Context(), "marta")
		if err != nil {
			t.Fatal(err)
		}
		sessions, err := site.Auth.Sessions(t.Context(), marta.ID)
		if err != nil || len(sessions) == 0 {
			t.Fatal(err)
		}
		found := false
		for _, v := range sessions {
			found = found || v.Address == c.want
		}
		if !found {
			t.Errorf("%s: no session from %s: %+v", name, c.want, sessions[0])
		}
	}
}
