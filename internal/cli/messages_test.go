package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// The request that gives a step its context has isPlanContext and stepId, and the conversation
// shows them. A response has neither.
func TestContextMessagesNameTheirStep(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	config := s.file("kairos.yaml", replanConfig)
	s.file("answers.yaml", replanAnswers)
	data := filepath.Join(shortDir(t), "data")
	s.env["KAIROS_DB"] = filepath.Join(data, "kairos.db")
	d := serve(t, data, "--config", config)
	get := loggedIn(t, d)
	plan := s.file("plan.yaml", "id: p\nsteps: [{id: one, agentId: clerk, task: Collect the figures}]")
	stdout, _ := s.expect(0, "run", plan, "--prompt", "How did it go?", "--json")
	var got struct{ RunID string }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	body := get("/api/v1/runs/" + got.RunID + "/messages")
	var list struct {
		Items []struct {
			Type     string
			Metadata map[string]any
		}
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || len(list.Items) != 2 {
		t.Fatalf("%v\n%s", err, body)
	}
	if m := list.Items[0]; m.Type != "request" || m.Metadata["isPlanContext"] != true || m.Metadata["stepId"] != "one" {
		t.Errorf("the request: %s", body)
	}
	if m := list.Items[1]; m.Type != "response" || m.Metadata["isPlanContext"] != nil || m.Metadata["stepId"] != nil {
		t.Errorf("the response: %s", body)
	}
	if text := plainText(get("/runs/" + got.RunID + "?view=handoffs")); strings.Count(text, "context of step one") != 1 {
		t.Errorf("the conversation:\n%s", text)
	}
	if stdout, _ := s.expect(0, "show", got.RunID); strings.Count(stdout, "context of step one") != 1 {
		t.Errorf("kairos show:\n%s", stdout)
	}
}

// The messages of a run have the priority of its plan.
func TestMessagesCarryTheirPriority(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	config := s.file("kairos.yaml", replanConfig)
	s.file("answers.yaml", replanAnswers)
	data := filepath.Join(shortDir(t), "data")
	s.env["KAIROS_DB"] = filepath.Join(data, "kairos.db")
	get := loggedIn(t, serve(t, data, "--config", config))
	for _, word := range []string{"low", "medium", "high", "critical"} {
		plan := s.file(
			word+".yaml",
			"id: "+word+"\nmetadata: {priority: "+word+"}\nsteps: [{id: one, agentId: clerk, task: Collect the figures}]",
		)
		stdout, _ := s.expect(0, "run", plan, "--json")
		var got struct{ RunID string }
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatal(err)
		}
		body := get("/api/v1/runs/" + got.RunID + "/messages")
		if strings.Count(body, `"priority":"`+word+`"`) != 2 {
			t.Errorf("a plan of priority %s: %s", word, body)
		}
	}
}
