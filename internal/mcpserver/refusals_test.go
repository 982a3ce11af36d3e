package mcpserver_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/domain"
)

// post sends a request with headers as "Name: value", and returns its status and body.
func (s *server) post(method, body string, headers ...string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.http.URL+api.MCPPath, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, h := range headers {
		k, v, _ := strings.Cut(h, ": ")
		r.Header.Set(k, v)
	}
	resp, err := s.http.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// A49: requests without a token, with the cookie of a browser, from a page of another site, or with a body
// that is too large, too deep, or not JSON.
func TestRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, time.Minute)
	token := "Authorization: Bearer " + s.token("mcp")
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	for name, c := range map[string]struct {
		body    string
		headers []string
		status  int
		text    string
	}{
		"no token":         {list, nil, 401, "authentication required"},
		"an unknown token": {list, []string{"Authorization: Bearer kro_x"}, 401, "invalid API token"},
		"a cookie":         {list, []string{"Cookie: kairos=secret", "Sec-Fetch-Site: same-origin"}, 401, "authentication required"},
		"another site":     {list, []string{token, "Origin: https://evil.example"}, 403, "a page of another server"},
		"a large body":     {`{"x":"` + strings.Repeat("x", 5<<20) + `"}`, []string{token}, 413, "too_large"},
		"a deep body":      {strings.Repeat("[", 1000) + strings.Repeat("]", 1000), []string{token}, 400, "nest"},
		"no JSON":          {"hello", []string{token}, 400, ""},
		"no message":       {`{"x":1}`, []string{token}, 400, ""},
		"no parameters":    {`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, []string{token}, 400, ""},
		"a good one":       {list, []string{token, "Origin: " + s.http.URL}, 200, "kairos_await_run"},
	} {
		if status, text := s.post(http.MethodPost, c.body, c.headers...); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s: %d %.300s, want %d %s", name, status, text, c.status, c.text)
		}
	}
	if status, _ := s.post(http.MethodGet, "", token); status != http.StatusMethodNotAllowed {
		t.Errorf("a stream: %d", status)
	}
}

// A revoked token ends with its next request.
func TestARevokedTokenEnds(t *testing.T) {
	t.Parallel()
	s := serve(t, time.Minute)
	s.Engine.Save(greet)
	c := s.connect(s.token("mcp"))
	list, err := s.auth.Tokens(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if err := s.auth.RevokeToken(t.Context(), root, list[0].ID, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet"}); err == nil {
		t.Error("a call with a revoked token succeeds")
	}
}

// A50: an MCP client that leaves in the middle of a run. The run continues, and its key still finds it.
func TestAClientThatLeaves(t *testing.T) {
	t.Parallel()
	s := serve(t, time.Minute)
	s.Engine.Save(sleep)
	token := s.token("mcp")
	p := &mcp.CallToolParams{Meta: mcp.Meta{"kairosd/idempotencyKey": "k1"}, Name: "sleep"}
	ctx, leave := context.WithCancel(t.Context())
	gone, left := s.connect(token), make(chan error, 1)
	go func() {
		_, err := gone.CallTool(ctx, p)
		left <- err
	}()
	id := ""
	for id == "" { // until the run exists
		list, err := s.Store.Runs(t.Context(), domain.RunFilter{Page: domain.Page{Limit: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) > 0 {
			id = list.Items[0].ID
		}
	}
	leave()
	if err := <-left; err == nil {
		t.Fatal("the call has ended")
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	s.begin <- struct{}{}
	again := s.call(s.connect(token), p)
	again.has(t, false, "completed", "slept")
	if again.json["run"] != id {
		t.Errorf("another run %v started, want %s", again.json["run"], id)
	}
}

// A call that waits ends when the API closes, with a handle. The run is durable.
func TestACallEndsWithTheServer(t *testing.T) {
	t.Parallel()
	s := serve(t, time.Hour)
	s.Engine.Save(sleep)
	c := s.connect(s.token("mcp"))
	p := &mcp.CallToolParams{Name: "sleep"}
	p.SetProgressToken("p1")
	ended := make(chan called, 1)
	go func() { ended <- s.call(c, p) }()
	<-s.events // the first step has ended, and the second one waits
	s.api.Close()
	(<-ended).has(t, false, "has not ended")
}
