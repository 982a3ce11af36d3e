package webtest

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/kairosd/kairosd/internal/domain"
)

// HasTexts checks the status code and that the page contains all wanted texts.
func HasTexts(t *testing.T, p Page, code int, wanted ...string) {
	t.Helper()
	if p.Code != code {
		t.Errorf("got status %d, want status %d\n%s", p.Code, code, p.Body)
	}
	for _, w := range wanted {
		if !strings.Contains(p.Body, w) {
			t.Errorf("the page does not contain %q", w)
		}
	}
}

var tags = regexp.MustCompile(`<[^>]*>|\s+`)

// Text returns the text of a page without markup, with single spaces.
func Text(body string) string {
	return strings.Join(strings.Fields(tags.ReplaceAllString(body, " ")), " ")
}

// Form returns the hidden fields of the first form that contains mark.
func Form(t *testing.T, body, mark string) url.Values {
	t.Helper()
	for _, f := range strings.Split(body, "<form")[1:] {
		f, _, _ = strings.Cut(f, "</form>")
		if strings.Contains(f, mark) {
			return Page{Body: f}.Hidden()
		}
	}
	t.Fatalf("no form with %q:\n%s", mark, body)
	return nil
}

// Safe checks that no markup came from data. The page must have only the dashboard's scripts, no
// inline handlers or styles, and one h1.
func Safe(t *testing.T, path, body string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	headings := 0
	var visit func(n *html.Node)
	visit = func(n *html.Node) {
		if n.Type == html.ElementNode {
			if n.Data == "h1" {
				headings++
			}
			for _, a := range n.Attr {
				switch {
				case strings.HasPrefix(a.Key, "on"),
					a.Key == "style",
					a.Key == "srcdoc",
					strings.HasPrefix(strings.ToLower(a.Val), "javascript:"):
					t.Errorf("%s: <%s %s=%q>", path, n.Data, a.Key, a.Val)
				case n.Data == "script" && a.Key == "src" && !strings.HasPrefix(a.Val, "/static/"):
					t.Errorf("%s: script from %s", path, a.Val)
				}
			}
			if n.Data == "img" || n.Data == "script" && n.FirstChild != nil {
				t.Errorf("%s: unexpected element <%s>", path, n.Data)
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			visit(c)
		}
	}
	visit(doc)
	if headings != 1 {
		t.Errorf("%s: %d first-level headings, want 1", path, headings)
	}
}

// Authenticator computes the code of a second factor at a time (RFC 6238), independently of the
// code under test.
func Authenticator(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	key, err := base32.StdEncoding.DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha1.New, key)
	if err := binary.Write(mac, binary.BigEndian, at.Unix()/30); err != nil {
		t.Fatal(err)
	}
	sum := mac.Sum(nil)
	i := sum[19] & 15
	return fmt.Sprintf("%06d", (binary.BigEndian.Uint32(sum[i:])&0x7fffffff)%1e6)
}

// Request returns a request for [Browser.Do]. header alternates names and values.
func Request(t *testing.T, method, address, body string, header ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

// AllRoles returns a browser for each role, logged in as a user of that role. The browser of "" is
// not logged in.
func AllRoles(t *testing.T, site *Site) map[domain.Role]*Browser {
	t.Helper()
	who := map[domain.Role]*Browser{"": site.Browser(t), domain.RoleAdmin: site.Browser(t).Login()}
	for _, role := range []domain.Role{domain.RoleViewer, domain.RoleOperator, domain.RoleAuthor} {
		if _, err := site.Auth.CreateUser(t.Context(), site.Admin, string(role), Password, role); err != nil {
			t.Fatal(err)
		}
		who[role] = site.Browser(t)
		if !who[role].LoginAs(string(role), Password) {
			t.Fatalf("%s cannot log in", role)
		}
	}
	return who
}

// Has checks that the page contains all texts.
func Has(t *testing.T, p Page, what string, texts ...string) {
	t.Helper()
	for _, want := range texts {
		if !strings.Contains(p.Body, want) {
			t.Errorf("%s does not contain %q:\n%s", what, want, Text(p.Body))
		}
	}
}

// RecoveryCode matches a recovery code of a second factor.
var RecoveryCode = regexp.MustCompile(`\b[a-z2-7]{4}-[a-z2-7]{4}-[a-z2-7]{4}-[a-z2-7]{4}\b`)

// StartUntil starts a plan and waits until its run waits for the given reason.
func StartUntil(t *testing.T, site *Site, plan string, reason domain.WaitReason) domain.Run {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events, err := site.Engine.Subscribe(ctx, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	run, err := site.Engine.Start(ctx, site.Admin, domain.StartRequest{Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	for run.WaitReason != reason {
		if _, ok := <-events; !ok || run.Status.Final() {
			t.Fatalf("%s does not wait for %s: %s, %s", plan, reason, run.Status, run.Headline)
		}
		if run, err = site.Store.FindRun(ctx, run.ID); err != nil {
			t.Fatal(err)
		}
	}
	return run
}
