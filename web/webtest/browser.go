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

// Browser opens a browser without a login.
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

// Cookies are what the browser sends to the site.
func (b *Browser) Cookies() []*http.Cookie {
	b.tb.Helper()
	u, err := url.Parse(b.site.URL)
	if err != nil {
		b.tb.Fatal(err)
	}
	return b.http.Jar.Cookies(u)
}

// Page is an answer.
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

// Do sends a request as it is.
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

// Head sends a request and gives the head of the answer: of a stream, too.
func (b *Browser) Head(req *http.Request) *http.Response {
	b.tb.Helper()
	resp, err := b.http.Do(req)
	if err != nil {
		b.tb.Fatal(err)
	}
	resp.Body.Close()
	return resp
}

// Post sends a form as a browser of the same site does.
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

// Hidden reads the hidden fields of the last form on a page.
func (p Page) Hidden() url.Values {
	v := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(p.Body, -1) {
		v.Set(m[1], html.UnescapeString(m[2]))
	}
	return v
}

// LoginAs logs in as an existing user and reports whether it could.
func (b *Browser) LoginAs(name, password string) bool {
	b.tb.Helper()
	return b.Post("/login", url.Values{"csrf": {"anonymous"}, "name": {name}, "password": {password}}).Code == http.StatusSeeOther
}

// Login creates the first user if the server has none yet, and logs in.
func (b *Browser) Login() *Browser {
	b.tb.Helper()
	p := b.Post("/setup", url.Values{"csrf": {"anonymous"}, "token": {b.site.Setup}, "name": {"marta"}, "password": {Password}})
	if p.Code != http.StatusSeeOther {
		p = b.Post("/login", url.Values{"csrf": {"anonymous"}, "name": {"marta"}, "password": {Password}})
	}
	if p.Code != http.StatusSeeOther {
		b.tb.Fatalf("login: %d %s", p.Code, p.Body)
	}
	return b
}
