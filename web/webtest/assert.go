package webtest

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// Says checks that a page is there and says what it must.
func Says(t *testing.T, p Page, code int, wanted ...string) {
	t.Helper()
	if p.Code != code {
		t.Errorf("%d, want %d\n%s", p.Code, code, p.Body)
	}
	for _, w := range wanted {
		if !strings.Contains(p.Body, w) {
			t.Errorf("the page does not say %q", w)
		}
	}
}

var tags = regexp.MustCompile(`<[^>]*>|\s+`)

// Words is a page's text with single spaces.
func Words(body string) string {
	return strings.Join(strings.Fields(tags.ReplaceAllString(body, " ")), " ")
}

// Form reads the hidden fields of the form on a page that holds a mark.
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
