package web_test

import (
	"net/url"
	"regexp"
	"testing"

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
