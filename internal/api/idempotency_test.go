package api_test

import (
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.world.Engine.Save("{id: p, nodes: {a: {type: set, input: 1}}}")
	key := "Idempotency-Key: k1"
	first := s.ask(t, "operator", "POST /runs", `{"plan":"p"}`, key)
	again := s.ask(t, "operator", "POST /runs", `{"plan":"p"}`, key)
	if first.status != 201 || again.status != 201 || first.json["id"] != again.json["id"] ||
		again.header.Get("Idempotency-Replayed") != "true" ||
		again.header.Get("Location") != first.header.Get("Location") {
		t.Errorf("A43: %d %s, then %d %s", first.status, first.text, again.status, again.text)
	}
	if list, err := s.world.Store.Runs(t.Context(), domain.RunFilter{Actor: "token operator"}); err != nil || len(list.Items) != 1 {
		t.Errorf("A43: %d runs were started, %v", len(list.Items), err)
	}
	if a := s.ask(t, "operator", "POST /runs", `{"plan":"q"}`, key); a.status != 422 || a.json["reason"] != "idempotency.reused" {
		t.Errorf("A43: another body returned %d %s", a.status, a.text)
	}
	if a := s.ask(t, "admin", "POST /runs", `{"plan":"p"}`, key); a.status != 201 || a.json["id"] == first.json["id"] {
		t.Errorf("another principal gets %d %s", a.status, a.text)
	}
	// A failed request was not executed, so its key can be used again.
	if a := s.ask(t, "operator", "POST /runs", `{"plan":"r"}`, "Idempotency-Key: k2"); a.status != 404 {
		t.Errorf("got %d", a.status)
	}
	s.world.Engine.Save("{id: r, nodes: {a: {type: set, input: 1}}}")
	if a := s.ask(t, "operator", "POST /runs", `{"plan":"r"}`, "Idempotency-Key: k2"); a.status != 201 {
		t.Errorf("after a failure the key returned %d %s", a.status, a.text)
	}
}
