package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/kairosd/kairosd/web/webtest"
)

// hasAncestor reports whether an element has an ancestor with the given tag.
func hasAncestor(n *html.Node, name string) bool {
	for a := range n.Ancestors() {
		if a.Data == name {
			return true
		}
	}
	return false
}

// inherited returns an attribute of an element or of its nearest ancestor that has it.
func inherited(n *html.Node, name string) string {
	if v, is := webtest.Attributes(n)[name]; is {
		return v
	}
	for a := range n.Ancestors() {
		if v, is := webtest.Attributes(a)[name]; is {
			return v
		}
	}
	return ""
}

func pathOf(address string) string {
	path, _, _ := strings.Cut(address, "?")
	return path
}

// formsWithoutIdem are the forms without an idempotency key: logins, and settings that can safely be posted
// twice.
var formsWithoutIdem = []string{
	"",
	"/logout",
	"/login",
	"/login/link",
	"/display",
	"/columns",
	"/views",
	"/views/default",
	"/me/password",
	"/me/sessions",
	"/me/second-factor",
}

// Every page follows the rules of the dashboard. Links and forms do without htmx what they do with
// it. No page uses hx-boost, inline handlers, styles, or scripts. Live regions contain no form
// controls and no disclosures. Forms that change data have a CSRF token and an idempotency key.
func TestEveryPageKeepsTheRules(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Furnish(t, site.Seed(t))
	b := site.Browser(t).Login()
	lives, posts, swaps := 0, 0, 0
	previews := map[string]bool{}
	for _, path := range seed.Paths() {
		p := b.Get(path)
		doc, err := html.Parse(strings.NewReader(p.Body))
		if err != nil {
			t.Fatal(err)
		}
		if vary := strings.Join(p.Header.Values("Vary"), ", "); p.Code == http.StatusOK &&
			(!strings.Contains(vary, "HX-Request") || !strings.Contains(vary, "HX-Target")) {
			t.Errorf("H3: %s varies by %q", path, vary)
		}
		mains, headings := 0, 0
		for n := range doc.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			at := webtest.Attributes(n)
			name := n.Data + "#" + at["id"]
			_, live := at["data-live"]
			switch n.Data {
			case "main":
				mains++
			case "h1":
				headings++
			case "script", "style":
				if n.FirstChild != nil {
					t.Errorf("H7: %s has a <%s> of its own", path, n.Data)
				}
			}
			for key, value := range at {
				switch {
				case key == "hx-boost":
					t.Errorf("H2: %s: %s is boosted", path, name)
				case key == "style", key == "hx-vars", strings.HasPrefix(key, "hx-on"), n.Namespace == "" && strings.HasPrefix(key, "on"),
					key == "hx-trigger" && strings.Contains(value, "["), key == "hx-vals" && strings.HasPrefix(value, "js:"),
					strings.Contains(value, "throttle:"):
					t.Errorf("H7: %s: %s has %s=%q", path, name, key, value)
				case (key == "hx-get" || key == "hx-post") && !live && !(n.Data == "a" && at["href"] != "") &&
					!hasAncestor(n, "form") && n.Data != "form":
					t.Errorf("H1: %s: %s has no effect without scripts", path, name)
				}
			}
			if n.Data == "a" {
				address, _, _ := strings.Cut(at["href"], "#")
				got, is := at["hx-get"]
				got, _, _ = strings.Cut(got, "#")
				switch {
				case is && got != address:
					t.Errorf("H1: %s: the link to %s asks for %s", path, at["href"], got)
				case is && inherited(n, "hx-target") == "#dialog":
					if inherited(n, "hx-push-url") == "true" || inherited(n, "hx-swap") != "innerHTML" {
						t.Errorf("H1: %s: the preview %s changes the address, or replaces the dialog", path, at["href"])
					}
					previews[address] = true
				case is && inherited(n, "hx-target") == "closest tr": // loads a row under the row of the link
				case is && (inherited(n, "hx-target") == "" || inherited(n, "hx-push-url") != "true" || inherited(n, "hx-sync") == ""):
					t.Errorf("H1: %s: the answer of the link to %s has no place on the page or in the history", path, at["href"])
				case !is && inherited(n, "hx-push-url") == "true" && pathOf(address) == pathOf(path) && !hasAncestor(n, "details") &&
					!hasAncestor(n, "form"):
					t.Errorf("H1: %s: the link to %s loads the page that it is on", path, at["href"])
				case is:
					swaps++
				}
			}
			if live {
				lives++
				if at["id"] == "" || at["hx-get"] == "" {
					t.Errorf("H5: %s: the live part %s has no id or no address", path, name)
				}
				for c := range n.Descendants() {
					if slices.Contains([]string{"input", "select", "textarea", "details"}, c.Data) {
						t.Errorf("H6: %s: the live part %s holds a <%s>", path, name, c.Data)
					}
				}
			}
			if n.Data == "form" && strings.EqualFold(at["method"], "post") {
				posts++
				fields := map[string]bool{}
				for c := range n.Descendants() {
					if c.Data == "input" {
						fields[webtest.Attributes(c)["name"]] = true
					}
				}
				if !fields["csrf"] || !fields["idem"] && !slices.Contains(formsWithoutIdem, at["action"]) {
					t.Errorf("H9: %s: the form to %q has csrf: %t, idem: %t", path, at["action"], fields["csrf"], fields["idem"])
				}
			}
		}
		if p.Code == http.StatusOK && (mains != 1 || headings != 1) {
			t.Errorf("%s has %d <main> and %d <h1>", path, mains, headings)
		}
	}
	for path := range previews {
		checkStaysInDialog(t, b, site.URL+path)
	}
	if lives < 20 || posts < 100 || swaps < 100 || len(previews) < 20 {
		t.Errorf("found only %d live fragments, %d forms, %d swapping links, and %d previews", lives, posts, swaps, len(previews))
	}
}

// checkStaysInDialog checks that a preview in the dialog has a heading, and that its forms respond
// there.
func checkStaysInDialog(t *testing.T, b *webtest.Browser, address string) {
	t.Helper()
	p := b.Do(webtest.Request(t, http.MethodGet, address, "", "HX-Request", "true", "HX-Target", "dialog", "Sec-Fetch-Site", "same-origin"))
	doc, err := html.Parse(strings.NewReader(p.Body))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(p.Body, "<main") || !strings.Contains(p.Body, "<h1") {
		t.Errorf("%s: the dialog gets a whole page, or no heading:\n%.300s", address, p.Body)
	}
	for n := range doc.Descendants() {
		if at := webtest.Attributes(n); n.Data == "form" && (at["hx-post"] != at["action"] || at["hx-target"] != "#dialog") {
			t.Errorf("%s: the form to %q leaves the dialog", address, at["action"])
		}
	}
}

// A fragment that the browser already has is not sent again.
func TestAnUnchangedPartIsNotSentAgain(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	ask := func(path, target string, header ...string) webtest.Page {
		return b.Do(
			webtest.Request(
				t,
				http.MethodGet,
				site.URL+path,
				"",
				append(header, "HX-Request", "true", "HX-Target", target, "Sec-Fetch-Site", "same-origin")...),
		)
	}
	for _, c := range []struct{ path, target string }{{"/runs/" + seed.Failed.ID, "head"}, {"/runs/" + seed.Failed.ID, "view"},
		{"/runs/" + seed.Failed.ID + "?view=graph", "view"}} {
		first := ask(c.path, c.target)
		tag := first.Header.Get("ETag")
		if first.Code != http.StatusOK || tag == "" || strings.Contains(first.Body, "<main") {
			t.Fatalf("%s for #%s: got status %d, want %d, tag %q", c.path, c.target, first.Code, http.StatusOK, tag)
		}
		if again := ask(c.path, c.target, "If-None-Match", tag); again.Code != http.StatusNoContent || again.Body != "" {
			t.Errorf("%s for #%s, which the browser has: got status %d, want %d with %d bytes",
				c.path, c.target, again.Code, http.StatusNoContent, len(again.Body))
		}
		if other := ask(c.path, c.target, "If-None-Match", `"other"`); other.Code != http.StatusOK {
			t.Errorf("%s for #%s, of which the browser has another: got status %d, want %d", c.path, c.target, other.Code, http.StatusOK)
		}
	}
}
