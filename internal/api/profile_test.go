package api_test

import (
	"strconv"
	"strings"
	"testing"
)

const profiled = `{"id":"payout","values":{"n":1},"nodes":{"a":{"type":"set","input":"${value.n}"}},` +
	`"profiles":{"dev":{"values":{"n":2},"nodes":{"a":{"timeout":"5s"}}},"prod":{"values":{"n":3}}}}`

// Runs, reruns, hooks, and checks of plans have a profile. Bad input P62: an unknown one is refused, with the known
// ones. The profile is part of an idempotent request.
func TestProfiles(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if a := s.ask(t, "author", "POST /plans", profiled); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.text)
	}
	a := s.ask(t, "operator", "POST /runs", `{"plan":"payout","profile":"prod"}`, "Idempotency-Key: once")
	if a.status != 201 || a.json["profile"] != "prod" {
		t.Fatalf("%d %s", a.status, a.text)
	}
	run, _ := a.json["id"].(string)
	if a := s.ask(t, "operator", "POST /runs", `{"plan":"payout","profile":"dev"}`, "Idempotency-Key: once"); a.status != 422 {
		t.Errorf("the same key with another profile: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "operator", "POST /runs", `{"plan":"payout"}`); a.status != 201 || a.json["profile"] != nil {
		t.Errorf("without a profile: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "operator", "POST /runs/"+run+"/rerun", ""); a.status != 201 || a.json["profile"] != "prod" {
		t.Errorf("a rerun: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "operator", "POST /runs/"+run+"/rerun?preview=true", `{"profile":"dev"}`); a.json["profile"] != "dev" {
		t.Errorf("a preview: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "operator", "POST /runs/"+run+"/rerun", `{"profile":""}`); a.status != 201 || a.json["profile"] != nil {
		t.Errorf("a rerun without a profile: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "viewer", "GET /runs?filter=profile:prod", ""); strings.Count(a.text, `"profile":"prod"`) != 2 {
		t.Errorf("the filter: %s", a.text)
	}
	if a := s.ask(t, "viewer", "POST /plan-checks?profile=dev", profiled); !strings.Contains(a.text, `"timeout`) {
		t.Errorf("a check: %d %s", a.status, a.text)
	}
	for request, body := range map[string]string{
		"POST /runs":                     `{"plan":"payout","profile":"prdo"}`,
		"POST /runs/" + run + "/rerun":   `{"profile":"prdo"}`,
		"POST /hooks":                    `{"key":"h","plan":"payout","secret":"S","scheme":"bearer","profile":"prdo"}`,
		"POST /schedules":                `{"key":"h","plan":"payout","cron":"@daily","profile":"prdo"}`,
		"POST /plan-checks?profile=prdo": profiled,
		"POST /runs/" + run + "/rerun?":  `{"profile":"prdo","version":-1}`,
		"POST /runs?":                    `{"document":` + strconv.Quote(profiled) + `,"dryRun":true,"profile":"prdo"}`,
	} {
		if a := s.ask(t, "author", request, body); a.status != 422 || !strings.Contains(a.text, "dev, prod") {
			t.Errorf("%s: %d %s", request, a.status, a.text)
		}
	}
	a = s.ask(t, "operator", "POST /hooks", `{"key":"h","plan":"payout","secret":"S","scheme":"bearer","profile":"prod"}`)
	if a.status != 201 || a.json["profile"] != "prod" {
		t.Errorf("a hook: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "operator", "PATCH /hooks/h", `{"profile":""}`); a.status != 200 || a.json["profile"] != nil {
		t.Errorf("a hook without a profile: %d %s", a.status, a.text)
	}
}
