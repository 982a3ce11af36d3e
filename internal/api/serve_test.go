package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/apitypes"
)

const graph = `id: hello
start: a
nodes:
  a: {type: noop}
`

// server is the API with a fake, on loopback.
type server struct {
	*httptest.Server
	api   *api.API
	world *fake
	log   *bytes.Buffer
}

func serve(t *testing.T, edit ...func(*api.Config)) *server {
	t.Helper()
	world, log := newFake(t), &bytes.Buffer{}
	c := api.Config{App: world.App, Reader: world, Engine: world, Principals: world,
		SessionCookies: []string{"kairos"}, Version: apitypes.Version{Version: "1.2.3"}, Log: slog.New(slog.NewJSONHandler(log, nil))}
	for _, e := range edit {
		e(&c)
	}
	h, err := api.New(c)
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(h)
	s := &server{Server: listening, api: h, world: world, log: log}
	t.Cleanup(func() { h.Close(); listening.Close() })
	return s
}

// answer is the response to a request.
type answer struct {
	status int
	header http.Header
	text   string
	json   map[string]any
}

// ask sends "METHOD /path" with the token of a role, and headers as "Name: value".
func (s *server) ask(t *testing.T, as, line, body string, headers ...string) answer {
	t.Helper()
	method, path, _ := strings.Cut(line, " ")
	var rd io.Reader
	if body != "" {
		rd = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+api.Base+path, rd)
	if err != nil {
		t.Fatal(err)
	}
	if as != "" {
		r.Header.Set("Authorization", "Bearer "+as)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		k, v, _ := strings.Cut(h, ": ")
		if v == "" {
			r.Header.Del(k)
		} else if k == "Host" {
			r.Host = v
		} else {
			r.Header.Set(k, v)
		}
	}
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: resp.StatusCode, header: resp.Header, text: string(text)}
	if strings.Contains(resp.Header.Get("Content-Type"), "json") && method != http.MethodHead {
		if err := json.Unmarshal(text, &a.json); err != nil {
			t.Fatalf("%s %s: not JSON: %s", as, line, text)
		}
	}
	if a.status >= 400 && method != http.MethodHead {
		checkProblem(t, line, a)
	}
	checkDescribed(t, method, path, a)
	return a
}

func checkProblem(t *testing.T, line string, a answer) {
	t.Helper()
	if ct := a.header.Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("%s: %d has the type %q: %s", line, a.status, ct, a.text)
		return
	}
	for _, k := range []string{"type", "title", "status", "detail", "code", "message", "errors"} {
		if _, ok := a.json[k]; !ok {
			t.Errorf("%s: the problem has no %s: %s", line, k, a.text)
		}
	}
	if a.json["status"] != float64(a.status) {
		t.Errorf("%s: status %d in a body with %v", line, a.status, a.json["status"])
	}
}
