package api_test

import (
	"strings"
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
	if first.status != 201 || again.status != 201 || first.json["runId"] != again.json["runId"] || again.header.Get("Idempotency-Replayed") != "true" ||
		again.header.Get("Location") != first.header.Get("Location") {
		t.Errorf("A43: %d %s, then %d %s", first.status, first.text, again.status, again.text)
	}
	if list, err := s.world.Store.Runs(t.Context(), domain.RunFilter{Actor: "token operator"}); err != nil || len(list.Items) != 1 {
		t.Errorf("A43: %d runs were started, %v", len(list.Items), err)
	}
	if a := s.ask(t, "operator", "POST /runs", `{"plan":"q"}`, key); a.status != 422 || a.json["reason"] != "idempotency.reused" {
		t.Errorf("A43: another body answers %d %s", a.status, a.text)
	}
	if a := s.ask(t, "admin", "POST /runs", `{"plan":"p"}`, key); a.status != 201 || a.json["runId"] == first.json["runId"] {
		t.Errorf("another principal gets %d %s", a.status, a.text)
	}
	// What failed was not done, and may be tried again.
	if a := s.ask(t, "operator", "POST /runs", `{"plan":"r"}`, "Idempotency-Key: k2"); a.status != 404 {
		t.Errorf("got %d", a.status)
	}
	s.world.Engine.Save("{id: r, nodes: {a: {type: set, input: 1}}}")
	if a := s.ask(t, "operator", "POST /runs", `{"plan":"r"}`, "Idempotency-Key: k2"); a.status != 201 {
		t.Errorf("after a failure the key answers %d %s", a.status, a.text)
	}
}

// A request that was carried out, but whose daemon died before it answered, is
// not carried out again: the audit log knows it by its key (A44, G10).
func TestWhatWasDoneIsNotDoneAgain(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.api.Planner = recordedPlans{world: s.world}
	s.world.died = true
	for _, c := range []struct {
		route, body string
		status      int
		says        string
	}{
		{"POST /planner/plan", `{"userIntent":"collect","systemContext":{"availableSkills":["collect"]}}`, 409, "idempotency.done"},
	} {
		lost := s.ask(t, "operator", c.route, c.body, "Idempotency-Key: k")
		if lost.status >= 300 {
			t.Fatalf("%s: %d %s", c.route, lost.status, lost.text)
		}
		records := len(s.world.audited)
		for k, v := range s.world.stored { // its answer was not kept
			v.Status, v.Body = 0, nil
			s.world.stored[k] = v
		}
		a := s.ask(t, "operator", c.route, c.body, "Idempotency-Key: k")
		if a.status != c.status || !strings.Contains(a.text, c.says) {
			t.Errorf("%s again: %d %s, want %d with %s", c.route, a.status, a.text, c.status, c.says)
		}
		if n := len(s.world.audited); n != records {
			t.Errorf("%s was carried out twice", c.route)
		}
		if b := s.ask(t, "operator", c.route, c.body, "Idempotency-Key: k"); b.status != a.status || b.text != a.text || b.header.Get("Idempotency-Replayed") == "" {
			t.Errorf("%s for the third time: %d %s", c.route, b.status, b.text)
		}
	}
	// What left no record was not done.
	for k, v := range s.world.stored {
		v.Status, v.Body = 0, nil
		s.world.stored[k] = v
	}
	s.world.audited = nil
	if a := s.ask(t, "operator", "POST /planner/plan", `{"userIntent":"collect","systemContext":{"availableSkills":["collect"]}}`, "Idempotency-Key: k"); a.status != 201 || len(s.world.audited) != 1 {
		t.Errorf("what was not done: %d %s", a.status, a.text)
	}
}
