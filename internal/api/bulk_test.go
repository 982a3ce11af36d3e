package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// A bulk resume starts scheduled runs or releases quarantined ones only with its flag, as the resume of one
// run does.
func TestABulkResumeHasFlags(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.world.Engine.Save("{id: later, nodes: {a: {type: set, input: 1}}}")
	at := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	run := s.ask(t, "operator", "POST /runs", fmt.Sprintf(`{"plan":"later","startAt":%q}`, at))
	ask := func(line, flags string) answer {
		return s.ask(t, "operator", line, fmt.Sprintf(`{"action":"resume","filter":"plan:later"%s}`, flags))
	}
	const preview, start = "POST /bulk-operations?preview=true", "POST /bulk-operations"
	if a := ask(preview, ""); a.status != 200 || a.json["eligible"] != 0.0 {
		t.Errorf("without a flag: %d %s", a.status, a.text)
	}
	if a := ask(preview, `,"release":true`); a.status != 200 || a.json["eligible"] != 0.0 || a.json["action"] != "resume" {
		t.Errorf("with release: %d %s", a.status, a.text)
	}
	if a := ask(preview, `,"startNow":true`); a.status != 200 || a.json["eligible"] != 1.0 || a.json["action"] != "resume" {
		t.Errorf("with startNow: %d %s", a.status, a.text)
	}
	for _, body := range []string{`{"action":"resume","release":true,"startNow":true,"filter":"plan:later"}`,
		`{"action":"cancel","release":true,"filter":"plan:later"}`, `{"action":"release","filter":"plan:later"}`} {
		if a := s.ask(t, "operator", start, body); a.status != 422 {
			t.Errorf("%s: %d %s", body, a.status, a.text)
		}
	}
	a := ask(start, `,"startNow":true`)
	if a.status != 201 || a.json["action"] != "resume" || a.json["startNow"] != true || a.json["release"] != nil {
		t.Fatalf("started: %d %s", a.status, a.text)
	}
	s.world.Engine.Until(run.json["id"].(string), domain.RunCompleted, "")
	if a := s.ask(t, "viewer", "GET /bulk-operations", ""); a.json["items"].([]any)[0].(map[string]any)["startNow"] != true {
		t.Errorf("listed: %s", a.text)
	}
}

// The runs of a bulk operation are listed by status, in pages.
func TestBulkItemsAreListedByStatus(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.world.Engine.Save("{id: sum, nodes: {a: {type: set, input: 1}}}")
	for range 3 {
		run := s.ask(t, "operator", "POST /runs", `{"plan":"sum"}`)
		s.world.Engine.Until(run.json["id"].(string), domain.RunCompleted, "")
	}
	at := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	act := s.ask(t, "operator", "POST /bulk-operations", fmt.Sprintf(`{"action":"rerun","filter":"plan:sum","startAt":%q}`, at))
	items := "GET /bulk-operations/" + act.json["id"].(string) + "/items?limit=2&status="
	for status, want := range map[string]int{"pending": 2, "acted": 0, "refused": 0} {
		if a := s.ask(t, "viewer", items+status, ""); a.status != 200 || len(a.json["items"].([]any)) != want {
			t.Errorf("%s: %d %s", status, a.status, a.text)
		}
	}
	next := s.ask(t, "viewer", items+"pending", "").json["nextCursor"].(string)
	if a := s.ask(t, "viewer", items+"pending&cursor="+next, ""); len(a.json["items"].([]any)) != 1 || a.json["hasMore"] != false {
		t.Errorf("the second page: %s", a.text)
	}
	if a := s.ask(t, "viewer", items+"odd", ""); a.status != 400 {
		t.Errorf("an unknown status: %d %s", a.status, a.text)
	}
}
