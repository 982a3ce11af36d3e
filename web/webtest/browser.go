package webtest

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// Browser returns a new browser without a session.
func (s *Site) Browser(tb testing.TB) *Browser {
	tb.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return &Browser{
		tb:   tb,
		site: s,
		http: http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// Cookies returns the cookies that the browser sends to the site.
func (b *Browser) Cookies() []*http.Cookie {
	b.tb.Helper()
	u, err := url.Parse(b.site.URL)
	if err != nil {
		b.tb.Fatal(err)
	}
	return b.http.Jar.Cookies(u)
}

// Page is a response.
type Page struct {
	Code     int
	Body     string
	Location string
	Header   http.Header
}

// Get opens an address.
func (b *Browser) Get(path string) Page {
	b.tb.Helper()
	req, err := http.NewRequest(http.MethodGet, b.site.URL+path, nil)
	if err != nil {
		b.tb.Fatal(err)
	}
	return b.Do(req)
}

// Fragment requests one region of a page, as its script does.
func (b *Browser) Fragment(t *testing.T, path, id string) Page {
	t.Helper()
	return b.Do(Request(t, http.MethodGet, b.site.URL+path, "", "HX-Request", "true", "HX-Target", id, "Sec-Fetch-Site", "same-origin"))
}

// Do sends a request unchanged.
func (b *Browser) Do(req *http.Request) Page {
	b.tb.Helper()
	resp, err := b.http.Do(req)
	if err != nil {
		b.tb.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.tb.Fatal(err)
	}
	return Page{resp.StatusCode, string(body), resp.Header.Get("Location"), resp.Header}
}

// Head sends a request and returns the response without reading its body, which may be a stream.
func (b *Browser) Head(req *http.Request) *http.Response {
	b.tb.Helper()
	resp, err := b.http.Do(req)
	if err != nil {
		b.tb.Fatal(err)
	}
	resp.Body.Close()
	return resp
}

// Post submits a form with the headers of a same-origin request.
func (b *Browser) Post(path string, form url.Values) Page {
	b.tb.Helper()
	req, err := http.NewRequest(http.MethodPost, b.site.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.tb.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", b.site.URL)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.Do(req)
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)

// Hidden returns the hidden fields of a page. If forms share a field name, the last one counts.
func (p Page) Hidden() url.Values {
	v := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(p.Body, -1) {
		v.Set(m[1], html.UnescapeString(m[2]))
	}
	return v
}

// LoginAs logs in as an existing user, and reports whether the login succeeded.
func (b *Browser) LoginAs(name, password string) bool {
	b.tb.Helper()
	return b.Post("/login", url.Values{"csrf": {"anonymous"}, "name": {name}, "password": {password}}).Code == http.StatusSeeOther
}

// Login logs in as the first user, and creates that user on a new server.
func (b *Browser) Login() *Browser {
	b.tb.Helper()
	p := b.Post("/setup", url.Values{"csrf": {"anonymous"}, "token": {b.site.Setup}, "name": {"marta"}, "password": {Password}})
	if p.Code != http.StatusSeeOther {
		p = b.Post("/login", url.Values{"csrf": {"anonymous"}, "name": {"marta"}, "password": {Password}})
	}
	if p.Code != http.StatusSeeOther {
		b.tb.Fatalf("login: got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Body)
	}
	return b
}

// Send fills in the form of a page that contains a mark, sends it, and follows the redirect. fields are names and values.
func (b *Browser) Send(t *testing.T, page, mark string, fields ...string) Page {
	t.Helper()
	f := Form(t, b.Get(page).Body, mark)
	for i := 0; i+1 < len(fields); i += 2 {
		f.Set(fields[i], fields[i+1])
	}
	to, _, _ := strings.Cut(page, "?")
	p := b.Post(to, f)
	if p.Code != http.StatusSeeOther {
		return p
	}
	return b.Get(p.Header.Get("Location"))
}
