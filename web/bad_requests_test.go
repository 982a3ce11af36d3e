package web_test

import (
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// sendRaw sends a request with an unnormalized path and with headers that no browser sends.
func sendRaw(t *testing.T, site *webtest.Site, b *webtest.Browser, method, path, body string, header ...string) webtest.Page {
	t.Helper()
	req, err := http.NewRequest(method, site.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Opaque = "//" + strings.TrimPrefix(site.URL, "http://") + path
	req.Header.Set("Origin", site.URL)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return b.Do(req)
}

const formType = "application/x-www-form-urlencoded"

// A02, A10, A11, A34: pages accept forms only by GET and POST at their own addresses.
func TestPagesTakeNothingElse(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	rerun := "/runs/" + seed.Failed.ID + "/rerun"
	form := b.Get(rerun).Hidden()
	form.Set("do", "act")
	for kind, body := range map[string]string{"application/json": fmt.Sprintf(`{"csrf": %q, "idem": "x", "do": "act"}`,
		form.Get("csrf")), "text/plain": form.Encode(), "": form.Encode(),
		"multipart/form-data; boundary=x": "--x\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\n" + form.Get("csrf") +
			"\r\n--x--\r\n"} {
		if p := sendRaw(t, site, b, http.MethodPost, rerun, body, "Content-Type", kind); p.Code != http.StatusUnsupportedMediaType {
			t.Errorf("A02 a form as %q: got status %d, want %d", kind, p.Code, http.StatusUnsupportedMediaType)
		}
	}
	for _, method := range []string{http.MethodTrace, http.MethodPut, http.MethodDelete, http.MethodPatch, "PROPFIND"} {
		if p := sendRaw(t, site, b, method, rerun, ""); p.Code != http.StatusMethodNotAllowed && p.Code != http.StatusForbidden {
			t.Errorf("A10 %s: got status %d, want %d", method, p.Code, http.StatusMethodNotAllowed)
		}
	}
	over := url.Values{"csrf": {form.Get("csrf")}, "_method": {"DELETE"}}
	if p := sendRaw(t, site, b, http.MethodPost, "/runs/"+seed.Failed.ID, over.Encode(), "Content-Type", formType,
		"X-HTTP-Method-Override", "DELETE"); p.Code != http.StatusMethodNotAllowed {
		t.Errorf("A10 a method in a form: status %d", p.Code)
	}
	for _, path := range []string{"/static/..%2f..%2fetc/passwd", "/static/%2e%2e/%2e%2e/etc/passwd",
		"/static/x/..%5c..%5cetc%5cpasswd", "/static/x/k.css%00.png", "//evil.example/", "/%09/evil.example/",
		"/%5cevil.example/", "/.%2e/", "/runs/../../../etc/passwd", "/runs//evil.example"} {
		if p := sendRaw(t, site, b, http.MethodGet, path, ""); p.Code < 400 || p.Code >= 500 || p.Location != "" {
			t.Errorf("A11 %s: status %d to %q", path, p.Code, p.Location)
		}
	}
	for _, next := range []string{"//evil.example", "https://evil.example", "/\\evil.example", "/\t/evil.example",
		"javascript:alert(1)", "\\\\evil.example"} {
		if p := site.Browser(t).Post("/login", url.Values{"csrf": {"anonymous"}, "name": {"marta"},
			"password": {webtest.Password}, "next": {next}}); p.Code != http.StatusSeeOther ||
			p.Location != "/" {
			t.Errorf("A11 on to %q: status %d %q", next, p.Code, p.Location)
		}
	}
	// The name of a download contains nothing from the request path.
	for _, path := range []string{"/runs/" + seed.Failed.ID + "/raw/1/input%0d%0aSet-Cookie:%20a=b", "/runs/" + seed.Failed.ID +
		"/raw/1/%22;filename=%22evil.exe", "/runs/" + seed.Failed.ID + "/raw/1/..%2f..%2fx", "/runs.csv?q=%0d%0a"} {
		p := sendRaw(t, site, b, http.MethodGet, path, "")
		if disposition := p.Header.Get("Content-Disposition"); disposition != "" {
			_, params, err := mime.ParseMediaType(disposition)
			if err != nil || strings.ContainsAny(params["filename"], "/\\\r\n\";") || strings.Contains(params["filename"], "evil") {
				t.Errorf("A34 %s: %q", path, disposition)
			}
		}
		if p.Header.Get("Set-Cookie") != "" {
			t.Errorf("A34 %s sets a cookie", path)
		}
	}
}

// A13, A18: without a trusted proxy, forwarding headers are ignored. Login replaces a session ID
// that was chosen before it.
func TestLoginsBelieveNoHeader(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	login := url.Values{"csrf": {"anonymous"}, "name": {"marta"}, "password": {webtest.Password}}.Encode()
	p := sendRaw(
		t,
		site,
		b,
		http.MethodPost,
		"/login",
		login,
		"Content-Type",
		formType,
		"X-Forwarded-For",
		"203.0.113.66",
		"X-Real-IP",
		"203.0.113.66",
		"Forwarded",
		"for=203.0.113.66;host=evil.example;proto=https",
		"X-Forwarded-Host",
		"evil.example",
		"X-Forwarded-Proto",
		"https",
	)
	if p.Code != http.StatusSeeOther && p.Code != http.StatusForbidden || strings.Contains(p.Location, "evil") {
		t.Errorf("A13: got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Location)
	}
	other := site.Browser(t)
	if p := sendRaw(t, site, other, http.MethodPost, "/login", login, "Content-Type", formType, "X-Forwarded-For",
		"203.0.113.66", "Forwarded", "for=203.0.113.66"); p.Code != http.StatusSeeOther {
		t.Errorf("A13: status %d", p.Code)
	}
	if p := b.Get("/me"); strings.Contains(p.Body, "203.0.113.66") || !strings.Contains(p.Body, "127.0.0.1") {
		t.Errorf("A13: the address of a login is taken from its header:\n%s", webtest.Text(p.Body))
	}
	if p := b.Get("/audit"); strings.Contains(p.Body, "203.0.113.66") {
		t.Error("A13: the audit log contains an address from a header")
	}
	const chosen = "chosen-by-somebody-else-0123456789abcdef"
	fixed := sendRaw(t, site, site.Browser(t), http.MethodPost, "/login", login, "Content-Type", formType, "Cookie", "kairos="+chosen)
	if set := fixed.Header.Get("Set-Cookie"); fixed.Code != http.StatusSeeOther || !strings.HasPrefix(set, "kairos=") ||
		strings.Contains(set, chosen) ||
		!strings.Contains(set, "HttpOnly") ||
		!strings.Contains(set, "SameSite=Strict") {
		t.Errorf("A18: got status %d, want %d, the cookie after the login is %q", fixed.Code, http.StatusSeeOther, set)
	}
	if p := sendRaw(t, site, site.Browser(t), http.MethodGet, "/runs", "", "Cookie", "kairos="+chosen); p.Code != http.StatusSeeOther ||
		!strings.HasPrefix(p.Location, "/login") {
		t.Errorf("A18: a session ID chosen by the client is accepted: status %d, Location %s", p.Code, p.Location)
	}
}
