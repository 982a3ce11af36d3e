package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
)

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := serve(t)
	run := s.world.runs[0].ID
	deep := func(n int) string {
		return `{"plan":"p","input":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}"
	}
	wide := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"plan":"p","input":{`)
		for i := range n {
			fmt.Fprintf(&b, `"k%d":1,`, i)
		}
		return b.String() + `"z":1}}`
	}
	for _, c := range []struct {
		name, as, line, body string
		headers              []string
		status               int
		text                 string // in the body
	}{
		{"S01 anonymous", "", "GET /runs", "", nil, 401, "unauthorized"},
		{"anonymous, unknown path", "", "GET /nothing", "", nil, 401, ""},
		{"A21 wrong token", "wrong", "GET /runs", "", nil, 401, ""},
		{"A21 token in the URL", "", "GET /runs?token=viewer", "", nil, 401, ""},
		{"another scheme", "", "GET /runs", "", []string{"Authorization: Basic dmlld2VyOg=="}, 401, ""},
		{"A21 wrong scope", "reader", "POST /runs", `{"plan":"p"}`, nil, 403, "runs:write"},
		{"role", "viewer", "POST /runs", `{"plan":"p"}`, nil, 403, "operator"},
		{"no such path", "admin", "GET /nothing", "", nil, 404, ""},
		{"A36 no such run", "admin", "GET /runs/01h00000000000000000000zzz", "", nil, 404, "not_found"},
		{"A36 no id at all", "admin", "GET /runs/..%2f..%2fetc", "", nil, 404, ""},
		{"A36 a wildcard", "admin", "GET /runs/%25%25%25%25", "", nil, 404, ""},
		{"A10 TRACE", "admin", "TRACE /runs", "", nil, 405, ""},
		{"A10 PUT", "admin", "PUT /runs", "{}", nil, 405, ""},
		{"A10 wrong method", "admin", "DELETE /runs", "", nil, 405, ""},
		{"A10 no override", "admin", "GET /runs/" + run + "/cancel", "", []string{"X-HTTP-Method-Override: POST"}, 405, ""},
		{"A01 text", "admin", "POST /runs", `{"plan":"p"}`, []string{"Content-Type: text/plain"}, 415, ""},
		{"A01 form", "admin", "POST /runs", `plan=p`, []string{"Content-Type: application/x-www-form-urlencoded"}, 415, ""},
		{"A01 none", "admin", "POST /runs", `{"plan":"p"}`, []string{"Content-Type: "}, 415, ""},
		{"A01 xml", "admin", "POST /runs", `<a/>`, []string{"Content-Type: application/xml"}, 415, ""},
		{"A01 another charset", "admin", "POST /runs", `{"plan":"p"}`, []string{"Content-Type: application/json; charset=utf-16"}, 415, ""},
		{"A05 gzip", "admin", "POST /runs", `{"plan":"p"}`, []string{"Content-Encoding: gzip"}, 415, ""},
		{"A01 P46 a plan as text", "admin", "POST /plans", graph, []string{"Content-Type: text/plain"}, 415, ""},
		{"A03 a document over 1 MiB", "admin", "POST /plans", strings.Repeat("#", 1<<20+1),
			[]string{"Content-Type: application/yaml"}, 413, "too_large"},
		{"A47 10 MiB", "admin", "POST /runs", `{"plan":"p","input":"` + strings.Repeat("x", 10<<20) + `"}`, nil, 413, "too_large"},
		{"A47 depth 10,000", "admin", "POST /runs", deep(10_000), nil, 400, "body.too_deep"},
		{"A47 100,000 keys", "admin", "POST /runs", wide(100_000), nil, 400, "body.too_many"},
		{"A37 unknown field", "admin", "POST /runs", `{"plan":"p","status":"completed"}`, nil, 422, "field.unknown"},
		{"A37 role in a fork", "admin", "POST /runs/" + run + "/fork", `{"at":1,"epoch":2}`, nil, 422, "field.unknown"},
		{"a field of another action", "admin", "POST /runs/" + run + "/cancel", `{"seq":1}`, nil, 422, ""},
		{"malformed JSON", "admin", "POST /runs", `{"plan":`, nil, 400, "body.malformed"},
		{"two values", "admin", "POST /runs", `{"plan":"p"} {}`, nil, 400, "body.malformed"},
		{"a name twice", "admin", "POST /runs", `{"plan":"p","plan":"q"}`, nil, 400, "body.malformed"},
		{"invalid UTF-8", "admin", "POST /runs", "{\"plan\":\"\xff\"}", nil, 400, "body.malformed"},
		{"nothing", "admin", "POST /runs", "", []string{"Content-Type: application/json"}, 400, ""},
		{"missing field", "admin", "POST /runs", `{}`, nil, 422, "plan"},
		{"wrong type", "admin", "POST /runs", `{"plan":7}`, nil, 422, "body.plan"},
		{"bad duration", "admin", "POST /runs", `{"plan":"p","limits":{"maxDuration":"soon"}}`, nil, 422, "duration"},
		{"a label with a line break", "admin", "POST /runs", `{"plan":"p","labels":{"a\nb":"c"}}`, nil, 422, "label"},
		{"A30 filter key", "admin", "GET /runs?status')%20OR%201=1--=x", "", nil, 400, ""},
		{"A30 filter value", "admin", "GET /runs?status=done')%20OR%201=1--", "", nil, 400, "status.unknown"},
		{"A31 sort", "admin", "GET /runs?sort=name;drop", "", nil, 400, ""},
		{"A31 limit -1", "admin", "GET /runs?limit=-1", "", nil, 400, "query.limit"},
		{"A31 limit 0", "admin", "GET /runs?limit=0", "", nil, 400, ""},
		{"A31 limit 1e9", "admin", "GET /runs?limit=1e9", "", nil, 400, ""},
		{"A31 limit 201", "admin", "GET /runs?limit=201", "", nil, 400, ""},
		{"A31 offset", "admin", "GET /runs?offset=5", "", nil, 400, ""},
		{"A32 a long text", "admin", "GET /runs?text=" + strings.Repeat("%25_", 100), "", nil, 400, ""},
		{"A33 cursor", "admin", "GET /runs?cursor=AAAA", "", nil, 400, "cursor.invalid"},
		{"A33 cursor of 10 KiB", "admin", "GET /runs?cursor=" + strings.Repeat("A", 10<<10), "", nil, 400, ""},
		{"a label without =", "admin", "GET /runs?label=x", "", nil, 400, "label.invalid"},
		{"an invalid time", "admin", "GET /runs?since=yesterday", "", nil, 400, ""},
		{"A45 malformed event id", "admin", "GET /runs/" + run + "/events?after=abc-x", "",
			[]string{"Accept: text/event-stream"}, 400, "event.malformed"},
		{"an unknown action", "admin", "POST /runs/" + run + "/explode?preview=true", "", nil, 404, ""},
		{"a key with a blank", "admin", "POST /runs", `{"plan":"p"}`, []string{"Idempotency-Key: a b"}, 400, "idempotency.invalid"},
		{"A46 WebSocket without upgrade", "admin", "GET /ws", "", nil, 426, ""},
		{"a resolve without attempt", "admin", "POST /runs/" + run + "/nodes/n/resolve",
			`{"visit":1,"action":"happened","reason":"x"}`, nil, 422, "attempt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := s.ask(t, c.as, c.line, c.body, c.headers...)
			if a.status != c.status || !strings.Contains(a.text, c.text) {
				t.Errorf("%s returned %d %.400s, want %d with %q", c.line, a.status, a.text, c.status, c.text)
			}
		})
	}
}

func TestCookiesNeedProofOfTheirPage(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.world.Engine.Save("{id: p, nodes: {a: {type: set, input: 1}}}")
	host := strings.TrimPrefix(s.URL, "http://")
	for _, c := range []struct {
		name    string
		line    string
		headers []string
		status  int
	}{
		{"a page of this server", "POST /runs", []string{"Cookie: kairos=marta-session", "Sec-Fetch-Site: same-origin"}, 201},
		{"the server's Origin", "POST /runs", []string{"Cookie: kairos=marta-session", "Origin: http://" + host}, 201},
		{"A14 cross-site", "POST /runs", []string{"Cookie: kairos=marta-session", "Sec-Fetch-Site: cross-site"}, 403},
		{"A14 same-site", "POST /runs", []string{"Cookie: kairos=marta-session", "Sec-Fetch-Site: same-site"}, 403},
		{"the server's Origin, but over TLS", "POST /runs", []string{"Cookie: kairos=marta-session", "Origin: https://" + host}, 403},
		{"A14 Origin null", "POST /runs", []string{"Cookie: kairos=marta-session", "Origin: null"}, 403},
		{"A14 foreign Origin", "POST /runs", []string{"Cookie: kairos=marta-session", "Origin: http://evil.example"}, 403},
		{"A15 neither", "POST /runs", []string{"Cookie: kairos=marta-session"}, 403},
		{"A16 userinfo", "POST /runs", []string{"Cookie: kairos=marta-session", "Origin: http://user@" + host}, 403},
		{"reading", "GET /runs", []string{"Cookie: kairos=marta-session"}, 200},
		{"unknown session", "GET /runs", []string{"Cookie: kairos=other"}, 401},
		{"A20 two that differ", "GET /runs", []string{"Cookie: kairos=marta-session; kairos=other"}, 401},
		{"A20 two that agree", "GET /runs", []string{"Cookie: kairos=marta-session; kairos=marta-session"}, 200},
		{"another cookie", "GET /runs", []string{"Cookie: session=marta-session"}, 401},
		{"a stream for another site", "GET /events", []string{"Cookie: kairos=marta-session", "Origin: http://evil.example"}, 403},
	} {
		body := ""
		if strings.HasPrefix(c.line, "POST") {
			body = `{"plan":"p"}`
		}
		if a := s.ask(t, "", c.line, body, c.headers...); a.status != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, a.status, a.text, c.status)
		}
	}
}

func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.world.account(t)
	for _, line := range []string{"GET /users", "GET /tokens", "GET /users/u1", "GET /tokens/admin"} {
		if a := s.ask(t, "admin", line, ""); a.status != 200 || strings.Contains(a.text, "secret") || strings.Contains(a.text, "argon2") {
			t.Errorf("%s = %d %s", line, a.status, a.text)
		}
	}
	if a := s.ask(t, "admin", "GET /users/u1", ""); a.json["name"] != "marta" || a.json["hasPassword"] != true ||
		a.json["secondFactor"] != true ||
		!strings.Contains(a.text, "192.0.2.1") {
		t.Errorf("a user: %s", a.text)
	}
	if a := s.ask(t, "admin", "GET /tokens/t2", ""); a.status != 404 {
		t.Errorf("an unknown token: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "admin", "POST /tokens", `{"name":"ci","role":"viewer","expiresIn":"720h"}`); a.status != 201 ||
		!auth.WellFormed(fmt.Sprint(a.json["token"])) ||
		strings.Contains(a.text, "ecretHash") {
		t.Errorf("POST /tokens = %d %s", a.status, a.text)
	}
	// A token is shown once. A repeated request returns already_done.
	const key = "Idempotency-Key: a"
	first := s.ask(t, "admin", "POST /tokens", `{"name":"x","role":"viewer"}`, key)
	if again := s.ask(t, "admin", "POST /tokens", `{"name":"x","role":"viewer"}`, key); first.status != 201 || again.status != 409 ||
		again.json["code"] != "already_done" ||
		strings.Contains(again.text, fmt.Sprint(first.json["token"])) ||
		again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("a token made twice: %d %s, then %d %s", first.status, first.text, again.status, again.text)
	}
}

func TestHeadOptionsAndHeaders(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if a := s.ask(t, "viewer", "HEAD /runs", ""); a.status != 200 || a.text != "" || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("HEAD /runs = %d %q %v", a.status, a.text, a.header)
	}
	if a := s.ask(t, "viewer", "HEAD /events", ""); a.status != 200 {
		t.Errorf("HEAD /events = %d", a.status)
	}
	if a := s.ask(t, "viewer", "OPTIONS /runs", ""); a.status != 204 || !strings.Contains(a.header.Get("Allow"), "POST") ||
		a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("OPTIONS /runs = %d %v", a.status, a.header)
	}
	a := s.ask(t, "viewer", "GET /me", "")
	if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Cache-Control") != "no-store" || a.json["role"] != "viewer" {
		t.Errorf("GET /me = %s %v", a.text, a.header)
	}
	if a := s.ask(t, "", "GET /runs", ""); a.header.Get("WWW-Authenticate") == "" {
		t.Error("401 without a WWW-Authenticate header")
	}
}

func TestLocalSocketNeedsNoCredential(t *testing.T) {
	t.Parallel()
	s := serve(t, func(c *api.Config) {
		c.Principals, c.Local = nil, &domain.Actor{Name: "cli:root", Role: domain.RoleAdmin, Source: "cli"}
	})
	s.world.Engine.Save("{id: p, nodes: {a: {type: set, input: 1}}}")
	if a := s.ask(t, "", "POST /runs", `{"plan":"p"}`); a.status != 201 {
		t.Errorf("%d %s", a.status, a.text)
	}
	if a := s.ask(t, "", "GET /me", ""); a.json["name"] != "cli:root" {
		t.Errorf("GET /me = %s", a.text)
	}
}
