package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/api"
)

func FuzzCursor(f *testing.F) {
	world := newFake(f)
	h, err := api.New(api.Config{App: world.App, Reader: world, Engine: world, Principals: world})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"", "AAAA", "////", strings.Repeat("A", 100), "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		r := httptest.NewRequest(http.MethodGet, api.Base+"/runs?cursor="+url.QueryEscape(cursor), nil)
		r.Header.Set("Authorization", "Bearer viewer")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 400 && (cursor != "" || w.Code != 200) {
			t.Errorf("cursor %q returned %d", cursor, w.Code)
		}
	})
}

// FuzzBody checks that the decoder reads each body that checkJSON accepts, and that no body crashes
// the API.
func FuzzBody(f *testing.F) {
	world := newFake(f)
	h, err := api.New(api.Config{App: world.App, Reader: world, Engine: world, Principals: world})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{`{"plan":"p"}`, `{"plan":"p","input":[[[]]]}`, `{"plan":1e400}`, `{"a":1,"a":2}`, `[`, "\xff",
		` {} `, `{}{}`,
		`{"plan":"p","startAt":"x"}`, `{"plan":"p","concurrency":{"limit":-1}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if api.CheckJSON([]byte(body)) == nil && !json.Valid([]byte(body)) {
			t.Errorf("%q is accepted as JSON", body)
		}
		r := httptest.NewRequest(http.MethodPost, api.Base+"/runs", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer operator")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%q returned %d %s", body, w.Code, w.Body)
		}
	})
}

func FuzzEventPosition(f *testing.F) {
	world := newFake(f)
	h, err := api.New(api.Config{App: world.App, Reader: world, Engine: world, Principals: world})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"abc-1", "-", "1-", "99999999999999999999", "-1", "+1", "abc--1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, after string) {
		r := httptest.NewRequest(http.MethodHead, api.Base+"/runs/"+world.runs[0].ID+"/events?after="+url.QueryEscape(after), nil)
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Authorization", "Bearer viewer")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 && w.Code != 400 {
			t.Errorf("after %q returned %d %s", after, w.Code, w.Body)
		}
	})
}
