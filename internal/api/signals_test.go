package api_test

import (
	"strings"
	"testing"
)

// A signal ends the wait of a run, and is listed with it. Sent again with its key, it is the same.
// E01, E02, E04: bad names, data, and lifetimes are rejected, and a repeated request sends nothing.
func TestBadSignals(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for range 2 {
		a := s.ask(t, "operator", "POST /signals", `{"name":"paid.1","data":{"n":1},"keep":"P1D"}`, "Idempotency-Key: once")
		if a.status != 201 || a.json["status"] != "waiting" || a.json["name"] != "paid.1" {
			t.Errorf("sent %d %s", a.status, a.text)
		}
	}
	list := s.ask(t, "viewer", "GET /signals?filter=paid&status=waiting", "")
	items, _ := list.json["items"].([]any)
	if len(items) != 1 {
		t.Fatalf("listed %d %s", list.status, list.text)
	}
	id, _ := items[0].(map[string]any)["id"].(string)
	if a := s.ask(t, "viewer", "GET /signals/"+id, ""); a.status != 200 || a.json["id"] != id {
		t.Errorf("one signal: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "viewer", "GET /signals/none", ""); a.status != 404 {
		t.Errorf("no signal: %d", a.status)
	}
	if a := s.ask(t, "viewer", "POST /signals", `{"name":"x"}`); a.status != 403 {
		t.Errorf("sent by a viewer: %d", a.status)
	}
	for body, status := range map[string]int{
		`{"name":""}`:                     422,
		`{"name":" x"}`:                   422,
		`{"name":"a\u0007b"}`:             422,
		`{"name":"a\u202eb"}`:             422,
		`{"name":"x","key":"\n"}`:         422,
		`{"name":"x","keep":"0s"}`:        422,
		`{"name":"x","keep":"soon"}`:      422,
		`{"name":"x","keep":"721h"}`:      422,
		`{"name":"x","deliver":"nobody"}`: 422,
		`{"data":1}`:                      422,
		`{"name":"x","nmae":"y"}`:         422,
		`{"name":"x","data":"` + strings.Repeat("x", 256<<10) + `"}`: 413,
		`{"name":"` + strings.Repeat("x", 257) + `"}`:                422,
	} {
		if a := s.ask(t, "operator", "POST /signals", body); a.status != status {
			t.Errorf("%.80s: %d %s, want %d", body, a.status, a.text, status)
		}
	}
	if list := s.ask(t, "viewer", "GET /signals?filter=x", ""); strings.Contains(list.text, `"name":"x"`) {
		t.Errorf("a rejected signal is stored: %s", list.text)
	}
}
