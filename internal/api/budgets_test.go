package api_test

import (
	"strings"
	"testing"
)

// A budget is created, changed, raised, and deleted. L19: a budget of cost for a model without a price, and settings that
// no budget can have, are rejected.
func TestBudgets(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for body, want := range map[string]string{
		`{"key":"b","hard":5}`:                                                  "no model has a price",
		`{"key":"b","hard":5,"scope":"provider:none"}`:                          `provider \"none\" is not configured`,
		`{"key":"b","hard":5,"unit":"tokens","scope":"provider:none"}`:          `provider \"none\" is not configured`,
		`{"key":"b","hard":5,"unit":"tokens","scope":"agent:none"}`:             `agent \"none\" is not configured`,
		`{"key":"b","unit":"tokens"}`:                                           "needs a line",
		`{"key":"b","hard":5.5,"unit":"tokens"}`:                                "whole number",
		`{"key":"b","hard":5,"soft":5,"unit":"tokens"}`:                         "not below the hard line",
		`{"key":"b","hard":5,"unit":"tokens","scope":"team"}`:                   "invalid scope",
		`{"key":"b","hard":5,"unit":"tokens","timeZone":"Mars"}`:                "unknown time zone",
		`{"key":"b","hard":5,"degrade":2,"unit":"tokens"}`:                      "cheaper model",
		`{"key":"b","hard":5,"degrade":2,"degradeTo":"none/m","unit":"tokens"}`: `provider \"none\" is not configured`,
		`{"key":"a/b","hard":5,"unit":"tokens"}`:                                "not a valid name",
		`{"key":"b","hard":-1,"unit":"tokens"}`:                                 "expected number >= 0",
		`{"key":"b","hard":5,"unit":"euro"}`:                                    "unit",
	} {
		if a := s.ask(t, "admin", "POST /budgets", body); a.status < 400 || !strings.Contains(a.text, want) {
			t.Errorf("%s: %d %s, want %s", body, a.status, a.text, want)
		}
	}
	if a := s.ask(t, "operator", "POST /budgets", `{"key":"b","hard":5,"unit":"tokens"}`); a.status != 403 {
		t.Errorf("an operator: %d %s", a.status, a.text)
	}
	a := s.ask(t, "admin", "POST /budgets", `{"key":"b","hard":5,"unit":"tokens","scope":"label:team=a","period":"month"}`)
	if a.status != 201 || a.json["key"] != "b" || a.json["timeZone"] != "UTC" || a.header.Get("Location") == "" {
		t.Fatalf("created %d %s", a.status, a.text)
	}
	tag := a.header.Get("ETag")
	if a := s.ask(t, "admin", "POST /budgets", `{"key":"b","hard":5,"unit":"tokens"}`); a.status != 409 {
		t.Errorf("a second one: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "admin", "PATCH /budgets/b", `{"soft":3}`, "If-Match: "+tag); a.status != 200 || a.json["soft"] != 3.0 ||
		a.json["hard"] != 5.0 {
		t.Errorf("changed %d %s", a.status, a.text)
	}
	if a := s.ask(t, "admin", "PATCH /budgets/b", `{"soft":4}`, "If-Match: "+tag); a.status != 409 {
		t.Errorf("changed with an old ETag: %d %s", a.status, a.text)
	}
	for range 2 { // the key makes it one raise
		if a := s.ask(t, "operator", "POST /budgets/b/raise", `{"amount":7}`, "Idempotency-Key: once"); a.status != 200 ||
			!strings.Contains(a.text, `"raised":7`) {
			t.Errorf("raised %d %s", a.status, a.text)
		}
	}
	if a := s.ask(t, "operator", "POST /budgets/b/raise", `{"amount":0}`); a.status != 422 {
		t.Errorf("raised by nothing: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "viewer", "POST /budgets/b/raise", `{"amount":1}`); a.status != 403 {
		t.Errorf("a viewer: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "viewer", "GET /budgets/b", ""); a.status != 200 || !strings.Contains(a.text, `"runs":[]`) ||
		!strings.Contains(a.text, `"raised":7`) {
		t.Errorf("one: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "viewer", "GET /budgets?filter=key:b", ""); !strings.Contains(a.text, `"key":"b"`) {
		t.Errorf("listed %s", a.text)
	}
	if a := s.ask(t, "admin", "DELETE /budgets/b", ""); a.status != 200 || a.json["key"] != "b" {
		t.Errorf("deleted %d %s", a.status, a.text)
	}
	if a := s.ask(t, "viewer", "GET /budgets/b", ""); a.status != 404 {
		t.Errorf("a deleted one: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "admin", "GET /audit/events?limit=50", ""); strings.Count(a.text, `"budget.raise"`) != 1 ||
		!strings.Contains(a.text, `"budget.create"`) || !strings.Contains(a.text, `"budget.update"`) || !strings.Contains(a.text,
		`"budget.delete"`) {
		t.Errorf("audit log: %s", a.text)
	}
}
