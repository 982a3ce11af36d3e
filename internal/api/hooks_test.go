package api_test

import (
	"strings"
	"testing"
)

// A hook is created, changed, paused, and deleted. E13: settings that no delivery could use are rejected.
func TestHooks(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for body, want := range map[string]string{
		`{"key":"h","plan":"p","scheme":"bearer"}`:                                                         "needs a secret",
		`{"key":"h","plan":"p","secret":"S"}`:                                                              "scheme",
		`{"key":"h","secret":"S","scheme":"bearer"}`:                                                       "starts a plan or sends a signal",
		`{"key":"h","plan":"p","signal":"'x'","secret":"S","scheme":"bearer"}`:                             "starts a plan or sends a signal",
		`{"key":"h","plan":"p","secret":"S","scheme":"bearer","filter":"body."}`:                           "filter",
		`{"key":"h","plan":"p","secret":"S","scheme":"bearer","input":"secret"}`:                           "input",
		`{"key":"h","plan":"none","secret":"S","scheme":"bearer"}`:                                         "not found",
		`{"key":"h","plan":"p","version":99,"secret":"S","scheme":"bearer"}`:                               "no version 99",
		`{"key":"a/b","plan":"p","secret":"S","scheme":"bearer"}`:                                          "not a valid key",
		`{"key":"h","plan":"p","secret":"S","scheme":"bearer","labels":{"a=b":"c"}}`:                       "label",
		`{"key":"h","plan":"p","secret":"S","scheme":"bearer","filter":"` + strings.Repeat("(", 40) + `"}`: "nested",
		`{"key":"h","plan":"p","files":"/etc/*"}`:                                                          "may not watch",
		`{"key":"h","plan":"p","files":"in/*"}`:                                                            "absolute path",
		`{"key":"h","plan":"p","scheme":"files"}`:                                                          "not a pattern",
		`{"key":"h","plan":"p","files":"/srv/in/*","secret":"S"}`:                                          "no secret",
		`{"key":"h","plan":"p","files":"/srv/in/*","scheme":"bearer","secret":"S"}`:                        "needs the scheme files",
		`{"key":"h","plan":"p","files":"/srv/in/*","settleMs":1}`:                                          "settleMs",
	} {
		if a := s.ask(t, "operator", "POST /hooks", body); a.status < 400 || !strings.Contains(a.text, want) {
			t.Errorf("%s: %d %s, want %s", body, a.status, a.text, want)
		}
	}
	a := s.ask(t, "operator", "POST /hooks", `{"key":"h","plan":"p","secret":"S","scheme":"bearer","filter":"body.n > 1"}`)
	if a.status != 201 || a.json["key"] != "h" || a.json["warnings"] == nil {
		t.Fatalf("created %d %s", a.status, a.text)
	}
	if a := s.ask(t, "operator", "POST /hooks", `{"key":"h","plan":"p","secret":"S","scheme":"bearer"}`); a.status != 409 {
		t.Errorf("a second one: %d %s", a.status, a.text)
	}
	tag := a.header.Get("ETag")
	if a := s.ask(t, "operator", "PATCH /hooks/h", `{"filter":""}`, "If-Match: "+tag); a.status != 200 || a.json["filter"] != "" {
		t.Errorf("changed %d %s", a.status, a.text)
	}
	if a := s.ask(t, "operator", "PATCH /hooks/h", `{"filter":"true"}`, "If-Match: "+tag); a.status != 409 {
		t.Errorf("changed with an old ETag: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "operator", "POST /hooks/h/pause", `{"reason":"later"}`); a.status != 200 || a.json["paused"] == nil {
		t.Errorf("paused %d %s", a.status, a.text)
	}
	if a := s.ask(t, "operator", "POST /hooks/h/resume", ``); a.status != 200 || a.json["paused"] != nil {
		t.Errorf("resumed %d %s", a.status, a.text)
	}
	if a := s.ask(t, "viewer", "GET /hooks?filter=H", ""); !strings.Contains(a.text, `"key":"h"`) {
		t.Errorf("listed %s", a.text)
	}
	if a := s.ask(t, "viewer", "GET /hooks/h/deliveries", ""); a.status != 200 || !strings.Contains(a.text, `"items":[]`) {
		t.Errorf("deliveries %d %s", a.status, a.text)
	}
	if a := s.ask(t, "viewer", "POST /hooks/h/replay?preview=true", `{}`); a.status != 200 || !strings.Contains(a.text, `"deliveries":[]`) {
		t.Errorf("preview %d %s", a.status, a.text)
	}
	if a := s.ask(t, "operator", "POST /hooks/h/replay", `{"digest":"old"}`); a.status != 409 || !strings.Contains(a.text, "preview") {
		t.Errorf("replay of another selection: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "operator", "POST /hooks/h/replay", `{"deliveries":["none"]}`); a.status != 404 {
		t.Errorf("replay of an unknown delivery: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "operator", "POST /hooks/h/replay", `{"status":"refused"}`); a.status != 409 {
		t.Errorf("replay of nothing: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "operator", "DELETE /hooks/h", ""); a.status != 200 {
		t.Errorf("deleted %d %s", a.status, a.text)
	}
	if a := s.ask(t, "viewer", "GET /hooks/h", ""); a.status != 404 {
		t.Errorf("a deleted hook: %d", a.status)
	}
}

// A hook watches files, and can be changed to receive webhooks.
func TestAHookForFiles(t *testing.T) {
	t.Parallel()
	s := serve(t)
	a := s.ask(t, "operator", "POST /hooks", `{"key":"h","plan":"p","files":"/srv/in/*.csv"}`)
	if a.status != 201 || a.json["scheme"] != "files" || a.json["settleMs"] != 5000.0 || a.json["files"] != "/srv/in/*.csv" {
		t.Fatalf("created %d %s", a.status, a.text)
	}
	a = s.ask(t, "operator", "PATCH /hooks/h", `{"settleMs":1500}`)
	if a.status != 200 || a.json["settleMs"] != 1500.0 {
		t.Errorf("%d %s", a.status, a.text)
	}
	a = s.ask(t, "operator", "PATCH /hooks/h", `{"scheme":"bearer","secret":"S","files":""}`)
	if a.status != 200 || a.json["settleMs"] != 0.0 || a.json["files"] != "" {
		t.Errorf("%d %s", a.status, a.text)
	}
}
