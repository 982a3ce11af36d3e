package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
)

const graph = `id: hello
start: a
nodes:
  a: {type: noop}
`

// server is the API over a fake world on loopback.
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
		SessionCookies: []string{"kairos"}, Version: api.Version{Version: "1.2.3"}, Log: slog.New(slog.NewJSONHandler(log, nil))}
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

// answer is what a request got.
type answer struct {
	status int
	header http.Header
	text   string
	json   map[string]any
}

// ask sends a request: "METHOD /path", as the role, with headers "Name: value".
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
		t.Errorf("%s: status %d says %v", line, a.status, a.json["status"])
	}
}

func TestEveryAnswerToABadRequest(t *testing.T) {
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
		says                 string // in the body
	}{
		{"S01 anonymous", "", "GET /runs", "", nil, 401, "unauthorized"},
		{"anonymous at a path that is not there", "", "GET /nothing", "", nil, 401, ""},
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
		{"A03 a document over 1 MiB", "admin", "POST /plans", strings.Repeat("#", 1<<20+1), []string{"Content-Type: application/yaml"}, 413, "too_large"},
		{"A47 10 MiB", "admin", "POST /runs", `{"plan":"p","input":"` + strings.Repeat("x", 10<<20) + `"}`, nil, 413, "too_large"},
		{"A47 depth 10,000", "admin", "POST /runs", deep(10_000), nil, 400, "body.too_deep"},
		{"A47 100,000 keys", "admin", "POST /runs", wide(100_000), nil, 400, "body.too_many"},
		{"A37 unknown field", "admin", "POST /runs", `{"plan":"p","status":"completed"}`, nil, 422, "field.unknown"},
		{"A37 role in a fork", "admin", "POST /runs/" + run + "/fork", `{"at":1,"epoch":2}`, nil, 422, "field.unknown"},
		{"a field of another verb", "admin", "POST /runs/" + run + "/cancel", `{"digest":"x"}`, nil, 422, ""},
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
		{"A32 a long text", "admin", "GET /runs?q=" + strings.Repeat("%25_", 100), "", nil, 400, ""},
		{"A33 cursor", "admin", "GET /runs?cursor=AAAA", "", nil, 400, "cursor.invalid"},
		{"A33 cursor of 10 KiB", "admin", "GET /runs?cursor=" + strings.Repeat("A", 10<<10), "", nil, 400, ""},
		{"a label without =", "admin", "GET /runs?label=x", "", nil, 400, "label.invalid"},
		{"a time that is none", "admin", "GET /runs?since=yesterday", "", nil, 400, ""},
		{"A45 malformed event id", "admin", "GET /runs/" + run + "/events?after=abc-x", "", nil, 400, "event.malformed"},
		{"an action that is none", "admin", "GET /runs/" + run + "/preview?action=explode", "", nil, 400, ""},
		{"a key with a blank", "admin", "POST /runs", `{"plan":"p"}`, []string{"Idempotency-Key: a b"}, 400, "idempotency.invalid"},
		{"A46 WebSocket without upgrade", "admin", "GET /ws", "", nil, 426, ""},
		{"a resolve without attempt", "admin", "POST /runs/" + run + "/nodes/n/resolve", `{"visit":1,"action":"happened","reason":"x"}`, nil, 422, "attempt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := s.ask(t, c.as, c.line, c.body, c.headers...)
			if a.status != c.status || !strings.Contains(a.text, c.says) {
				t.Errorf("%s answers %d %.400s, want %d with %q", c.line, a.status, a.text, c.status, c.says)
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
		{"a page of ours", "POST /runs", []string{"Cookie: kairos=marta-session", "Sec-Fetch-Site: same-origin"}, 201},
		{"our Origin", "POST /runs", []string{"Cookie: kairos=marta-session", "Origin: http://" + host}, 201},
		{"A14 cross-site", "POST /runs", []string{"Cookie: kairos=marta-session", "Sec-Fetch-Site: cross-site"}, 403},
		{"A14 same-site", "POST /runs", []string{"Cookie: kairos=marta-session", "Sec-Fetch-Site: same-site"}, 403},
		{"our Origin over TLS, which this is not", "POST /runs", []string{"Cookie: kairos=marta-session", "Origin: https://" + host}, 403},
		{"A14 Origin null", "POST /runs", []string{"Cookie: kairos=marta-session", "Origin: null"}, 403},
		{"A14 foreign Origin", "POST /runs", []string{"Cookie: kairos=marta-session", "Origin: http://evil.example"}, 403},
		{"A15 neither", "POST /runs", []string{"Cookie: kairos=marta-session"}, 403},
		{"A16 userinfo", "POST /runs", []string{"Cookie: kairos=marta-session", "Origin: http://user@" + host}, 403},
		{"reading", "GET /runs", []string{"Cookie: kairos=marta-session"}, 200},
		{"unknown session", "GET /runs", []string{"Cookie: kairos=other"}, 401},
		{"A20 two that differ", "GET /runs", []string{"Cookie: kairos=marta-session; kairos=other"}, 401},
		{"A20 two that agree", "GET /runs", []string{"Cookie: kairos=marta-session; kairos=marta-session"}, 200},
		{"another cookie", "GET /runs", []string{"Cookie: session=marta-session"}, 401},
		{"a foreign page listens", "GET /events", []string{"Cookie: kairos=marta-session", "Origin: http://evil.example"}, 403},
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

func TestPlans(t *testing.T) {
	t.Parallel()
	s := serve(t)
	yaml := "Content-Type: application/yaml"
	a := s.ask(t, "author", "POST /plans?reason=first", graph, yaml)
	if a.status != 201 || a.json["id"] == "" || a.json["version"] != 1.0 || a.json["hash"] == "" || a.json["problems"] == nil {
		t.Fatalf("POST /plans = %d %s", a.status, a.text)
	}
	if v, err := s.world.Store.VersionByHash(t.Context(), a.json["hash"].(string)); err != nil || v.Author != "token author" || v.Reason != "first" {
		t.Errorf("stored %+v %v", v, err)
	}
	if a := s.ask(t, "author", "POST /plans", graph, yaml); a.status != 200 || a.json["version"] != 1.0 {
		t.Errorf("known content answers %d %s", a.status, a.text)
	}
	bad := s.ask(t, "author", "POST /plans", "id: x\nnodes:\n  a: {type: noop, inputt: 1}\n  b: {}\n", yaml)
	problems, _ := bad.json["problems"].([]any)
	if bad.status != 422 || len(problems) < 2 || len(bad.json["errors"].([]any)) != len(problems) {
		t.Errorf("a plan with several errors answers %d %s", bad.status, bad.text)
	}
	check := s.ask(t, "viewer", "POST /plans/check", "nodes: {b: {}}\n", yaml)
	if check.status != 200 || check.json["valid"] != false {
		t.Errorf("check answers %d %s", check.status, check.text)
	}
	get := s.ask(t, "viewer", "GET /plans/hello", "")
	tag := get.header.Get("ETag")
	if get.status != 200 || get.json["key"] != "hello" || tag == "" {
		t.Fatalf("GET /plans/hello = %d %s", get.status, get.text)
	}
	if a := s.ask(t, "viewer", "GET /plans/hello", "", "If-None-Match: "+tag); a.status != 304 || a.text != "" {
		t.Errorf("with its ETag it answers %d %q", a.status, a.text)
	}
	v := s.ask(t, "viewer", "GET /plans/hello/versions/1", "")
	if v.status != 200 || v.json["source"] != graph || v.header.Get("ETag") == "" {
		t.Errorf("version 1 = %d %s", v.status, v.text)
	}
	if v := s.ask(t, "viewer", "GET /plans/hello/versions/latest", "", "Accept: application/yaml"); v.text != graph || !strings.HasPrefix(v.header.Get("Content-Type"), "application/yaml") {
		t.Errorf("the source = %d %q", v.status, v.text)
	}
	if v := s.ask(t, "viewer", "GET /plans/hello/versions/7", ""); v.status != 404 {
		t.Errorf("a version that is not there: %d", v.status)
	}
	// P44: what was made from an older version is not stored over a newer one.
	changed := strings.Replace(graph, "id: hello", "id: hello\ndescription: changed", 1)
	if a := s.ask(t, "author", "POST /plans", changed, yaml, `If-Match: "0123"`); a.status != 409 || a.json["code"] != "stale" {
		t.Errorf("P44: over a newer version: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "author", "POST /plans", graph, yaml, "If-Match: "+tag); a.status != 200 {
		t.Errorf("P44: over the version it was made from: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "operator", "POST /plans/hello/pause", `{"reason": "it floods the bank"}`); a.status != 200 || !strings.Contains(a.text, `"paused":{`) || !strings.Contains(a.text, "it floods the bank") {
		t.Errorf("pause = %d %s", a.status, a.text)
	}
	if a := s.ask(t, "operator", "POST /plans/hello/unpause", ""); a.status != 200 || strings.Contains(a.text, "paused") {
		t.Errorf("unpause = %d %s", a.status, a.text)
	}
	const key = "Idempotency-Key: pause-1"
	first, second := s.ask(t, "operator", "POST /plans/hello/pause", `{"reason": "again"}`, key), s.ask(t, "operator", "POST /plans/hello/pause", `{"reason": "again"}`, key)
	if first.status != 200 || first.header.Get("Idempotency-Replayed") != "" || second.status != 200 || second.text != first.text || second.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("with a key, twice: %d %s, then %d %v %s", first.status, first.text, second.status, second.header, second.text)
	}
	if a := s.ask(t, "operator", "POST /plans/hello/pause", `{"reason": "another"}`, key); a.status != 422 || a.json["reason"] != "idempotency.reused" {
		t.Errorf("the key of another request: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "viewer", "GET /plans", ""); len(a.json["items"].([]any)) != 2 || a.json["next"] != nil {
		t.Errorf("GET /plans = %s", a.text)
	}
	if a := s.ask(t, "author", "POST /plans/hello/archive", ""); a.status != 200 || a.json["archived"] != true {
		t.Errorf("archive = %d %s", a.status, a.text)
	}
	if a := s.ask(t, "viewer", "GET /plans", ""); len(a.json["items"].([]any)) != 1 {
		t.Errorf("an archived plan is listed: %s", a.text)
	}
}

func TestStartRun(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.world.Engine.Save("{id: p, nodes: {a: {type: set, input: 1}}}")
	a := s.ask(t, "operator", "POST /runs", `{"plan":"p","input":{"n":12345678901234567890.10},"priority":2,"labels":{"env":"prod"},
		"limits":{"maxDuration":"1h"},"startAt":"2130-01-01T00:00:00Z","concurrency":{"key":"k","limit":1,"onConflict":"queue"}}`)
	if a.status != 201 || a.json["runId"] == "" || a.json["status"] != "queued" || a.header.Get("Location") != api.Base+"/runs/"+a.json["runId"].(string) {
		t.Fatalf("POST /runs = %d %s", a.status, a.text)
	}
	got, err := s.world.Store.Run(t.Context(), a.json["runId"].(string))
	if err != nil || string(got.Input) != `{"n":12345678901234567890.10}` {
		t.Errorf("the input became %s: numbers keep their text; %v", got.Input, err)
	}
	if got.Limits.MaxDuration.Hours() != 1 || got.Concurrency.OnConflict != "queue" || got.StartAt.Year() != 2130 || got.Labels["env"] != "prod" || got.Priority != 2 {
		t.Errorf("asked for %+v", got)
	}
	first := s.ask(t, "operator", "POST /runs", `{"plan":"p","key":"nightly"}`)
	if first.status != 201 {
		t.Fatalf("%d %s", first.status, first.text)
	}
	s.world.Engine.Settle(first.json["runId"].(string))
	again := s.ask(t, "operator", "POST /runs", `{"plan":"p","key":"nightly"}`)
	if again.status != 200 || first.json["runId"] != again.json["runId"] {
		t.Errorf("the same key answers %d %s, then %d %s", first.status, first.text, again.status, again.text)
	}
}

func TestListsArePaged(t *testing.T) {
	t.Parallel()
	s := serve(t)
	var seen []string
	cursor, pages := "", 0
	for {
		a := s.ask(t, "viewer", "GET /runs?limit=2&status=failed,completed&cursor="+cursor, "")
		if a.status != 200 {
			t.Fatalf("page %d: %d %s", pages, a.status, a.text)
		}
		for _, i := range a.json["items"].([]any) {
			seen = append(seen, i.(map[string]any)["runId"].(string))
		}
		pages++
		if a.json["next"] == nil {
			break
		}
		cursor = a.json["next"].(string)
		for name, q := range map[string]struct{ as, line string }{
			"another filter":    {"viewer", "GET /runs?limit=2&status=failed&cursor=" + cursor},
			"another list":      {"viewer", "GET /plans?cursor=" + cursor},
			"another principal": {"operator", "GET /runs?limit=2&status=failed,completed&cursor=" + cursor},
			"one bit":           {"viewer", "GET /runs?limit=2&status=failed,completed&cursor=" + flip(cursor)},
		} {
			if a := s.ask(t, q.as, q.line, ""); a.status != 400 || a.json["reason"] != "cursor.invalid" {
				t.Errorf("A33: a cursor is taken by %s: %d %s", name, a.status, a.text)
			}
		}
	}
	if pages != 3 || len(seen) != 5 || !slices.IsSortedFunc(seen, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("%d pages gave %v", pages, seen)
	}
	for line, want := range map[string]int{"status=failed": 0, "status=failed,completed": 5, "plan=p": 5, "plan=" + s.world.runs[0].PlanID: 5, "plan=q": 0,
		"label=env=prod&label=team=y": 0, "attention=true": 0, "q=boom": 0, "filter=plan:p": 5} {
		if a := s.ask(t, "viewer", "GET /runs?"+line, ""); a.status != 200 || len(a.json["items"].([]any)) != want {
			t.Errorf("%s: %d %s, want %d runs", line, a.status, a.text, want)
		}
	}
	s.ask(t, "operator", "POST /runs", `{"plan":"p","labels":{"env":"prod","team":"x"}}`)
	for _, line := range []string{"label=env=prod", "label=env=prod&label=team:x"} {
		if a := s.ask(t, "viewer", "GET /runs?"+line, ""); len(a.json["items"].([]any)) != 1 {
			t.Errorf("%s: %d %s", line, a.status, a.text)
		}
	}
}

func flip(s string) string {
	b := []byte(s)
	if b[3] == 'A' {
		b[3] = 'B'
	} else {
		b[3] = 'A'
	}
	return string(b)
}

func TestOneRun(t *testing.T) {
	t.Parallel()
	s := serve(t)
	run := s.world.runs[0].ID
	a := s.ask(t, "viewer", "GET /runs/"+run[len(run)-4:], "")
	if a.status != 200 || a.json["runId"] != run || a.json["outputs"] == nil || a.json["path"] == nil {
		t.Errorf("GET /runs/tail = %d %s", a.status, a.text)
	}
	if !strings.Contains(a.text, "12345678901234567890.10") {
		t.Errorf("a number lost its digits: %s", a.text)
	}
	j := s.ask(t, "viewer", "GET /runs/"+run+"/journal?limit=2", "")
	if j.status != 200 || len(j.json["items"].([]any)) != 2 || j.json["next"] != 2.0 {
		t.Errorf("journal = %d %s", j.status, j.text)
	}
	j = s.ask(t, "viewer", "GET /runs/"+run+"/journal?after=2", "")
	if len(j.json["items"].([]any)) != 1 || j.json["next"] != nil {
		t.Errorf("the rest of the journal = %s", j.text)
	}
	if p := s.ask(t, "operator", "GET /runs/"+run+"/preview?action=fork&at=2", ""); p.status != 200 || p.json["digest"] == "" || p.json["at"] != 2.0 || p.json["expected"] == nil {
		t.Errorf("preview = %d %s", p.status, p.text)
	}
}

// Each action does what its body says, to the run that the path names, and answers with
// the run.
func TestActs(t *testing.T) {
	t.Parallel()
	s := serve(t)
	run, _ := s.world.asking(t)
	pre, err := s.world.Engine.Preview(t.Context(), enginetest.Operator, domain.VerbRequest{Run: run.ID, Action: domain.ActionCancel})
	if err != nil {
		t.Fatal(err)
	}
	s.world.Engine.Save(`{id: asks, nodes: {ask: {type: approval, input: {message: "go on now?"}}}}`)
	s.world.Engine.Save(`{id: asks, nodes: {ask: {type: approval, input: {message: "really?"}}}}`)
	path, tail := "/runs/"+run.ID, "/runs/"+run.ID[len(run.ID)-8:]
	for _, c := range []struct {
		as, line, body string
		status         int
		says           string
	}{
		{"operator", "POST " + path + "/pause", ``, 202, `"paused":true`},
		{"operator", "POST " + tail + "/continue", ``, 202, run.ID},
		{"operator", "POST " + path + "/limits", `{"maxSteps":9,"reason":"more"}`, 200, `"maxSteps":9`},
		{"operator", "POST " + path + "/limits", `{"raise":{"maxSteps":3}}`, 200, `"maxSteps":12`},
		{"operator", "POST " + path + "/retry-now", `{}`, 409, "no retry is pending"},
		{"operator", "POST " + path + "/release", ``, 409, "neither held nor quarantined"},
		{"operator", "POST " + path + "/start-now", ``, 409, "waits for no time"},
		{"operator", "POST " + path + "/resume", ``, 409, "nothing to resume"},
		{"operator", "POST " + path + "/cancel", fmt.Sprintf(`{"rev":%d}`, pre.Rev+100), 409, "stale"},
		{"operator", "DELETE " + path, ``, 409, "cancel it first"},
		{"operator", "POST " + path + "/cancel", `{"reason":"enough"}`, 202, `"status":"cancelled"`},
		{"operator", "POST " + path + "/resume", `{"digest":"other"}`, 409, "stale"},
		{"operator", "POST " + path + "/resume", `{"reason":"r"}`, 202, run.ID},
		{"author", "POST " + path + "/rerun", `{"input":{"a":1},"version":-1,"labels":{"of":"test"}}`, 201, `"version":3`},
		{"operator", "POST " + path + "/rerun", `{"version":-1}`, 403, "author"},
		{"operator", "POST " + path + "/rerun", `{"version":2}`, 403, "author"},
		{"operator", "POST " + path + "/fork", `{"version":2}`, 403, "author"},
		{"author", "POST " + path + "/fork", `{"version":2}`, 201, `"version":2`},
		{"operator", "POST " + path + "/fork", `{"at":99}`, 422, "99"},
		{"operator", "POST " + path + "/nodes/ask/resolve", `{"visit":1,"attempt":2,"action":"happened","output":{"id":7},"reason":"seen"}`, 409, "not in doubt"},
		{"operator", "POST /runs/zzzzzzzz/cancel", ``, 404, "not_found"},
		{"operator", "POST " + path + "/cancel", ``, 202, `"status":"cancelled"`},
		{"operator", "DELETE " + path + "?reason=old", ``, 204, ""},
	} {
		a := s.ask(t, c.as, c.line, c.body)
		if a.status != c.status || !strings.Contains(a.text, c.says) {
			t.Errorf("%s %s answers %d %s, want %d with %s", c.line, c.body, a.status, a.text, c.status, c.says)
			continue
		}
		if a.status == 201 {
			made, err := s.world.Store.Run(t.Context(), a.json["runId"].(string))
			if err != nil || made.RerunOf != run.ID && made.ForkedFrom != run.ID || a.header.Get("Location") != api.Base+"/runs/"+made.ID {
				t.Errorf("%s made %+v, %v, at %s", c.line, made, err, a.header.Get("Location"))
			}
			if strings.HasSuffix(c.line, "/rerun") && (string(made.Input) != `{"a":1}` || made.Labels["of"] != "test") {
				t.Errorf("%s made a run with %s and %v", c.line, made.Input, made.Labels)
			}
			s.world.Engine.Until(made.ID, domain.RunWaiting, domain.WaitApproval)
		}
		if strings.HasSuffix(c.line, "/resume") && a.status == 202 {
			s.world.Engine.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
		}
	}
	list, err := s.world.Store.AuditEvents(t.Context(), domain.AuditFilter{Action: "run.cancel", Run: run.ID})
	if err != nil || len(list.Items) != 2 || list.Items[1].Reason != "enough" || list.Items[1].Actor != "token operator" {
		t.Errorf("audited: %+v %v", list.Items, err)
	}
}

// unready is a store of which a look-up of a run fails.
type unready struct {
	*store.Store
	err error
}

func (u unready) FindRun(context.Context, string) (domain.Run, error) { return domain.Run{}, u.err }

func TestFailuresOfAnOperation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
		says   string
	}{
		{domain.Errorf(domain.CodeConflict, "somebody was first").Suggest("look again"), 409, "look again"},
		{domain.Errorf(domain.CodeNotResumable, "it cannot be resumed").Suggest("fork it"), 409, "not_resumable"},
		{domain.Errorf(domain.CodeStale, "it has moved on"), 409, "stale"},
		{domain.Errorf(domain.CodeNoSpace, "the disk is full"), 507, "no_space"},
		{domain.Errorf(domain.CodeUnavailable, "stopping"), 503, "unavailable"},
		{fmt.Errorf("act: %w", domain.Errorf(domain.CodeForbidden, "not yours")), 403, "not yours"},
		{errors.New("sqlite: secret path /var/lib"), 500, "errorId"},
		{domain.Errorf(domain.CodeCorrupt, "journal row 5 of /var/lib"), 500, "doctor"},
	} {
		s := serve(t, func(conf *api.Config) {
			w := conf.Reader.(*fake)
			of := w.Config
			of.Store = unready{w.Store, c.err}
			conf.App = app.New(of)
		})
		a := s.ask(t, "operator", "POST /runs/"+s.world.runs[0].ID+"/resume", "")
		if a.status != c.status || !strings.Contains(a.text, c.says) {
			t.Errorf("%v answers %d %s", c.err, a.status, a.text)
		}
		if strings.Contains(a.text, "/var/lib") {
			t.Errorf("S32: the answer tells internals: %s", a.text)
		}
		if id, ok := a.json["errorId"].(string); ok && !strings.Contains(s.log.String(), id) {
			t.Errorf("the log does not know %s", id)
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
	if a := s.ask(t, "admin", "GET /users/u1", ""); a.json["name"] != "marta" || a.json["hasPassword"] != true || a.json["secondFactor"] != true || !strings.Contains(a.text, "192.0.2.1") {
		t.Errorf("a user: %s", a.text)
	}
	if a := s.ask(t, "admin", "GET /tokens/t2", ""); a.status != 404 {
		t.Errorf("a token that is not there: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "admin", "POST /tokens", `{"name":"ci","role":"viewer","expiresIn":"720h"}`); a.status != 201 || !auth.WellFormed(fmt.Sprint(a.json["token"])) || strings.Contains(a.text, "ecretHash") {
		t.Errorf("POST /tokens = %d %s", a.status, a.text)
	}
	// A token is shown once: a repetition says that it was made.
	const key = "Idempotency-Key: a"
	first := s.ask(t, "admin", "POST /tokens", `{"name":"x","role":"viewer"}`, key)
	if again := s.ask(t, "admin", "POST /tokens", `{"name":"x","role":"viewer"}`, key); first.status != 201 || again.status != 409 || again.json["code"] != "already_done" ||
		strings.Contains(again.text, fmt.Sprint(first.json["token"])) || again.header.Get("Idempotency-Replayed") != "true" {
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
		t.Error("401 does not say how to authenticate")
	}
}

func TestLocalSocketNeedsNoCredential(t *testing.T) {
	t.Parallel()
	s := serve(t, func(c *api.Config) {
		c.Principals, c.Local = nil, &domain.Actor{Name: "cli:root", Role: domain.RoleAdmin, Surface: "cli"}
	})
	s.world.Engine.Save("{id: p, nodes: {a: {type: set, input: 1}}}")
	if a := s.ask(t, "", "POST /runs", `{"plan":"p"}`); a.status != 201 {
		t.Errorf("%d %s", a.status, a.text)
	}
	if a := s.ask(t, "", "GET /me", ""); a.json["name"] != "cli:root" {
		t.Errorf("GET /me = %s", a.text)
	}
}
