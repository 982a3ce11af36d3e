package api_test

import (
	"strings"
	"testing"
)

func TestPlans(t *testing.T) {
	t.Parallel()
	s := serve(t)
	yaml := "Content-Type: application/yaml"
	a := s.ask(t, "author", "POST /plans?reason=first", graph, yaml)
	if a.status != 201 || a.json["id"] == "" || a.json["version"] != 1.0 || a.json["hash"] == "" || a.json["problems"] == nil {
		t.Fatalf("POST /plans = %d %s", a.status, a.text)
	}
	if v, err := s.world.Store.VersionByHash(t.Context(), a.json["hash"].(string)); err != nil || v.Author != "token author" ||
		v.Reason != "first" {
		t.Errorf("stored %+v %v", v, err)
	}
	if a := s.ask(t, "author", "POST /plans", graph, yaml); a.status != 200 || a.json["version"] != 1.0 {
		t.Errorf("known content returned %d %s", a.status, a.text)
	}
	bad := s.ask(t, "author", "POST /plans", "id: x\nnodes:\n  a: {type: noop, inputt: 1}\n  b: {}\n", yaml)
	problems, _ := bad.json["problems"].([]any)
	if bad.status != 422 || len(problems) < 2 || len(bad.json["errors"].([]any)) != len(problems) {
		t.Errorf("a plan with several errors returned %d %s", bad.status, bad.text)
	}
	check := s.ask(t, "viewer", "POST /plan-checks", "nodes: {b: {}}\n", yaml)
	if check.status != 200 || check.json["valid"] != false {
		t.Errorf("check returned %d %s", check.status, check.text)
	}
	checked := s.ask(t, "viewer", "POST /plan-checks",
		"id: x\nnodes: {a: {type: noop, retry: {max_attempts: 2, backoff: [1s]}, timeout: 5s}}\n", yaml)
	if step, ok := checked.json["steps"].([]any); !ok || len(step) != 1 || !strings.Contains(checked.text, `"effect":"pure"`) ||
		!strings.Contains(checked.text, `"maxAttempts":2,"backoff":"1s"`) || !strings.Contains(checked.text, `"timeoutMs":5000`) {
		t.Errorf("the steps of a valid document: %s", checked.text)
	}
	if schema := s.ask(t, "viewer", "GET /plan.schema.json", ""); schema.status != 200 ||
		schema.json["$schema"] != "http://json-schema.org/draft-07/schema#" || !strings.Contains(schema.text, `"max_attempts"`) {
		t.Errorf("the schema of plans: %d %.300s", schema.status, schema.text)
	}
	get := s.ask(t, "viewer", "GET /plans/hello", "")
	tag := get.header.Get("ETag")
	if get.status != 200 || get.json["key"] != "hello" || tag == "" {
		t.Fatalf("GET /plans/hello = %d %s", get.status, get.text)
	}
	if a := s.ask(t, "viewer", "GET /plans/hello", "", "If-None-Match: "+tag); a.status != 304 || a.text != "" {
		t.Errorf("with its ETag it returned %d %q", a.status, a.text)
	}
	v := s.ask(t, "viewer", "GET /plans/hello/versions/1", "")
	if v.status != 200 || v.json["source"] != graph || v.header.Get("ETag") == "" {
		t.Errorf("version 1 = %d %s", v.status, v.text)
	}
	if v := s.ask(t, "viewer", "GET /plans/hello/versions/latest", "", "Accept: application/yaml"); v.text != graph ||
		!strings.HasPrefix(v.header.Get("Content-Type"), "application/yaml") {
		t.Errorf("the source = %d %q", v.status, v.text)
	}
	if v := s.ask(t, "viewer", "GET /plans/hello/versions/7", ""); v.status != 404 {
		t.Errorf("an unknown version: %d", v.status)
	}
	// P44: a document that is based on an earlier version does not replace a newer one.
	changed := strings.Replace(graph, "id: hello", "id: hello\ndescription: changed", 1)
	if a := s.ask(t, "author", "POST /plans", changed, yaml, `If-Match: "0123"`); a.status != 409 || a.json["code"] != "stale" {
		t.Errorf("P44: over a newer version: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "author", "POST /plans", graph, yaml, "If-Match: "+tag); a.status != 200 {
		t.Errorf("P44: over the version it was made from: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "operator", "POST /plans/hello/pause", `{"reason": "it floods the bank"}`); a.status != 200 ||
		!strings.Contains(a.text, `"paused":{`) ||
		!strings.Contains(a.text, "it floods the bank") {
		t.Errorf("pause = %d %s", a.status, a.text)
	}
	if a := s.ask(t, "operator", "POST /plans/hello/unpause", ""); a.status != 200 || strings.Contains(a.text, "paused") {
		t.Errorf("unpause = %d %s", a.status, a.text)
	}
	const key = "Idempotency-Key: pause-1"
	first, second := s.ask(
		t,
		"operator",
		"POST /plans/hello/pause",
		`{"reason": "again"}`,
		key,
	), s.ask(
		t,
		"operator",
		"POST /plans/hello/pause",
		`{"reason": "again"}`,
		key,
	)
	if first.status != 200 || first.header.Get("Idempotency-Replayed") != "" || second.status != 200 || second.text != first.text ||
		second.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("with a key, twice: %d %s, then %d %v %s", first.status, first.text, second.status, second.header, second.text)
	}
	if a := s.ask(t, "operator", "POST /plans/hello/pause", `{"reason": "another"}`, key); a.status != 422 ||
		a.json["reason"] != "idempotency.reused" {
		t.Errorf("the key of another request: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "viewer", "GET /plans", ""); len(a.json["items"].([]any)) != 2 || a.json["nextCursor"] != nil {
		t.Errorf("GET /plans = %s", a.text)
	}
	if a := s.ask(t, "author", "POST /plans/hello/archive", ""); a.status != 200 || a.json["archived"] != true {
		t.Errorf("archive = %d %s", a.status, a.text)
	}
	if a := s.ask(t, "viewer", "GET /plans", ""); len(a.json["items"].([]any)) != 1 {
		t.Errorf("an archived plan is listed: %s", a.text)
	}
}

// Names in an address are escaped: a block has the key of its plan and its step, such as orders/ship.
func TestThePlanOfABlock(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.ask(t, "author", "POST /plans", "id: ordérs\nnodes: {ship: {do: {nodes: {label: {type: set, input: 1}}}}}\n",
		"Content-Type: application/yaml")
	a := s.ask(t, "operator", "POST /runs", `{"plan": "ordérs"}`)
	id, _ := a.json["id"].(string)
	if run, err := s.world.Engine.Wait(t.Context(), id); err != nil || string(run.Output) != "1" {
		t.Fatalf("the run: %d %s, %+v %v", a.status, a.text, run, err)
	}
	for path, key := range map[string]string{"/plans/ord%C3%A9rs": "ordérs", "/plans/ord%C3%A9rs%2Fship": "ordérs/ship",
		"/plans/ord%C3%A9rs%2Fship/versions/1": ""} {
		if a := s.ask(t, "viewer", "GET "+path, ""); a.status != 200 || key != "" && a.json["key"] != key {
			t.Errorf("GET %s = %d %s", path, a.status, a.text)
		}
	}
	if a := s.ask(t, "viewer", "GET /plans", ""); strings.Contains(a.text, "rs/ship") {
		t.Errorf("the list has the block: %s", a.text)
	}
}
