package api_test

import "testing"

// A saved view has an ETag, which a change and a deletion compare.
func TestASavedViewIsCompared(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.ask(t, "operator", "POST /views", `{"name":"my failures","filter":"status:failed"}`)
	s.ask(t, "operator", "POST /views", `{"name":"my failures","filter":"status:waiting","shared":true}`)
	save := func(tag string) int {
		return s.ask(t, "operator", "POST /views", `{"name":"my failures","filter":"status:failed is:attention"}`, "If-Match: "+tag).status
	}
	first := s.ask(t, "operator", "GET /views/my%20failures", "").header.Get("ETag")
	if a, b := save(first), save(first); a != 200 || b != 409 {
		t.Errorf("saved with its ETag: %d, with an earlier ETag: %d", a, b)
	}
	own := s.ask(t, "operator", "GET /views/my%20failures", "")
	all := s.ask(t, "operator", "GET /views/my%20failures?shared=true", "")
	if own.json["filter"] != "status:failed is:attention" || all.json["filter"] != "status:waiting" ||
		own.header.Get("ETag") == all.header.Get("ETag") {
		t.Errorf("own %s %s, shared %s", own.text, own.header.Get("ETag"), all.text)
	}
	remove := func(tag string) int {
		return s.ask(t, "operator", "DELETE /views/my%20failures?shared=true", "", "If-Match: "+tag).status
	}
	if a, b := remove(own.header.Get("ETag")), remove(all.header.Get("ETag")); a != 409 || b != 200 {
		t.Errorf("deleted with another tag: %d, with its own: %d", a, b)
	}
	if a := s.ask(t, "operator", "POST /views", `{"name":"none","filter":"status:failed"}`, `If-Match: "x"`); a.status != 409 {
		t.Errorf("a new view with If-Match: %d %s", a.status, a.text)
	}
	for range 2 { // the repetition has the same key
		a := s.ask(t, "operator", "DELETE /views/my%20failures", "", "Idempotency-Key: k")
		if a.json["filter"] != "status:failed is:attention" {
			t.Errorf("deleted %d %s", a.status, a.text)
		}
	}
	if a := s.ask(t, "operator", "GET /views/none", ""); a.status != 404 {
		t.Errorf("no view: %d %s", a.status, a.text)
	}
}
