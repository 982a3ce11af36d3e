package a2aclient_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/a2aclient"
	"github.com/kairosd/kairosd/planner/walk"
)

const card = `{"name": "x", "version": "1", "description": "", "capabilities": {}, "skills": [], "defaultInputModes": [], "defaultOutputModes": [],
	"supportedInterfaces": [{"url": %q, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]}`

// A server whose card names another host gets no message, and the other host gets no token. A refused token, and a server that
// is away, are failures without an effect (A54).
func TestHostileServers(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host got %s with %q", r.URL, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	serve := func(answer http.HandlerFunc) string {
		s := httptest.NewServer(answer)
		t.Cleanup(s.Close)
		return s.URL
	}
	for code, url := range map[string]string{
		a2aclient.CodeRefused: serve(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer secret" {
				t.Error("no token")
			}
			fmt.Fprintf(w, card, other.URL+"/a2a")
		}),
		a2aclient.CodeUnauthorized: serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }),
		a2aclient.CodeUnreachable:  away.URL,
	} {
		c, err := a2aclient.New(a2aclient.Config{URL: url, Token: func() (string, error) { return "secret", nil }})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Send(t.Context(), "m-1", "Hello")
		f, ok := errors.AsType[*walk.Failure](err)
		if !ok || f.Code != code || !f.NoEffect || f.Permanent != (code != a2aclient.CodeUnreachable) ||
			strings.Contains(f.Message+f.Detail, "secret") {
			t.Errorf("%s: %#v", code, err)
		}
	}
	for _, url := range []string{"", "partner", "ftp://partner", "http://user:secret@partner", "http://partner?token=secret"} {
		if _, err := a2aclient.New(a2aclient.Config{URL: url}); err == nil {
			t.Errorf("%q is accepted", url)
		}
	}
}

// A response that is lost after the message was sent is a failure whose effect is unknown.
func TestALostResponse(t *testing.T) {
	t.Parallel()
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprintf(w, card, s.URL+"/a2a")
			return
		}
		panic(http.ErrAbortHandler)
	}))
	defer s.Close()
	c, err := a2aclient.New(a2aclient.Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Send(t.Context(), "m-1", "Hello")
	if f, ok := errors.AsType[*walk.Failure](err); !ok || f.Code != a2aclient.CodeUnreachable || f.NoEffect || f.Permanent {
		t.Errorf("%#v", err)
	}
}
