package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// Where two people are needed, the person who started a run cannot approve it through any interface. Another
// person can, with values of their own, or can reject it alone. The deadline decides where no one does.
func TestTwoPeopleAreNeeded(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	data := filepath.Join(s.dir, "served")
	d := serve(t, data, "--config", s.file("kairos.yaml", "approvals: {separate: true}\n"))
	token := func(name string) string {
		t.Helper()
		out, stderr, code := runKairosd("token", "create", "--data", data, "--role", "operator", "--name", name)
		if code != 0 {
			t.Fatal(stderr)
		}
		return strings.TrimSpace(out)
	}
	out, stderr, code := runKairosd("token", "create", "--data", data, "--role", "author", "--name", "ana")
	if code != 0 {
		t.Fatal(stderr)
	}
	s.env["KAIROS_SERVER"] = d.url
	ana, bea := strings.TrimSpace(out), token("bea")
	as := func(who string) { s.env["KAIROS_TOKEN"] = who }
	plan := s.file("pay.yaml", `
id: pay
nodes:
  ask: {type: approval, input: {message: "Pay?", form: {type: object, properties: {amount: {type: number}}}}}
  paid: {type: set, input: "${output.ask.values.amount}"}
edges: [{from: ask, to: paid, condition: "last.approved == true"}]
`)
	as(ana)
	first, second := s.result(3, "run", "--plan", plan, "--json"), s.result(3, "run", "--plan", plan, "--json")
	for _, act := range []string{"approve", "reject"} {
		if _, stderr := s.expect(2, act, first.RunID, "--comment", "mine"); !strings.Contains(
			stderr,
			"started the run and cannot answer",
		) ||
			!strings.Contains(stderr, "ask another operator") {
			t.Error(stderr)
		}
	}
	as(bea)
	if done := s.result(0, "approve", first.RunID, "--values", `{"amount": 90}`, "--json"); string(done.Output) != "90" {
		t.Errorf("%+v", done)
	}
	if _, stderr := s.expect(2, "approve", first.RunID); !strings.Contains(stderr, "no pending approval") {
		t.Error(stderr)
	}
	s.expect(0, "reject", second.RunID, "--comment", "no") // one person is enough to reject
	as(ana)
	expires := s.file(
		"expires.yaml",
		"id: expires\nnodes:\n  ask: {type: approval, input: {message: \"Pay?\", timeout: 50ms, on_timeout: reject}}\n",
	)
	out, stderr, _ = s.run("run", "--plan", expires, "--json") // it may expire before the test sees it
	var r struct{ RunID string }
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err, stderr)
	}
	s.expect(0, "logs", "-f", r.RunID)
	if out, _ := s.expect(0, "show", r.RunID, "--json"); !strings.Contains(out, `"code":"rejected"`) ||
		!strings.Contains(out, `"status":"failed"`) {
		t.Error(out)
	}
}
