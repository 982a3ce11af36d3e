package api_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/kairosd/kairosd/internal/api"
)

// An API that builds its operations at their first requests returns the same responses and the same
// description as one that builds them immediately, also with concurrent requests.
func TestALazyHandlerAnswersTheSame(t *testing.T) {
	t.Parallel()
	world := newFake(t)
	build := func(lazy bool) *api.API {
		h, err := api.New(api.Config{App: world.App, Reader: world, Engine: world, Principals: world, CursorKey: []byte("key"), Lazy: lazy})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Close)
		return h
	}
	whole, lazy := build(false), build(true)
	a, err := api.Description(whole)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := api.Description(lazy); err != nil || !bytes.Equal(a, b) {
		t.Errorf("the descriptions differ: %v", err)
	}
	ids, params := regexp.MustCompile(`"(errorId|suggestion)":"[^"]*"`), regexp.MustCompile(`\{[a-z]+\}`)
	ask := func(h http.Handler, method, path, body string) (int, string, string) {
		r := httptest.NewRequest(method, api.Base+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer viewer")
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		text, err := io.ReadAll(w.Result().Body)
		if err != nil {
			t.Error(err)
		}
		return w.Code, w.Header().Get("Content-Type"), ids.ReplaceAllString(string(text), "")
	}
	var all sync.WaitGroup
	for _, p := range whole.Permissions() {
		if p.Path == "/events" || p.Path == "/ws" || p.Path == "/openapi.json" {
			continue // they stream; the description was compared
		}
		path, body := params.ReplaceAllString(p.Path, "1"), ""
		if p.Method == http.MethodPost || p.Method == http.MethodPatch {
			body = `{"nothing": "known"}`
		}
		all.Go(func() {
			for _, at := range []string{path, path + "?nothing=known"} {
				code, media, text := ask(whole, p.Method, at, body)
				code2, media2, text2 := ask(lazy, p.Method, at, body)
				if code != code2 || media != media2 || text != text2 {
					t.Errorf("%s %s: at once %d %s %s\nlazy %d %s %s", p.Method, at, code, media, text, code2, media2, text2)
				}
			}
		})
	}
	all.Wait()
	if code, _, text := ask(lazy, http.MethodPut, "/runs", ""); code != http.StatusMethodNotAllowed {
		t.Errorf("a method without a route: %d %s", code, text)
	}
}
