package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

func says(t *testing.T, p webtest.Page, code int, wanted ...string) {
	t.Helper()
	webtest.Says(t, p, code, wanted...)
}

// anyTag is markup, or blanks.
var anyTag = regexp.MustCompile(`<[^>]*>|\s+`)

func words(body string) string { return webtest.Words(body) }

func form(t *testing.T, body, mark string) url.Values {
	t.Helper()
	return webtest.Form(t, body, mark)
}

func crawl(t *testing.T, path, body string) {
	t.Helper()
	webtest.Safe(t, path, body)
}

func request(t *testing.T, method, address, body string, header ...string) *http.Request {
	t.Helper()
	return webtest.Request(t, method, address, body, header...)
}

func everybody(t *testing.T, site *webtest.Site) map[domain.Role]*webtest.Browser {
	t.Helper()
	return webtest.Everybody(t, site)
}
