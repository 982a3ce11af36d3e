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
