package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// aligned checks that a text is a table: the headings are in capitals, and in every line each
// column begins below its heading.
func aligned(t *testing.T, text string, headings ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) < 2 {
		t.Fatalf("no table: %q", text)
	}
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(line, "…", ".") // one byte per letter
	}
	for _, h := range headings {
		at := strings.Index(lines[0], h)
		if at < 0 {
			t.Errorf("no column %s: %s", h, lines[0])
			continue
		}
		for _, line := range lines[1:] {
			if at > 0 && len(line) > at && line[at-1] != ' ' {
				t.Errorf("the column %s of %q does not begin at %d", h, line, at)
			}
		}
	}
}

// Lists are tables for people, and one object with items for programs.
func TestListsAreTables(t *testing.T) {
	t.Parallel()
	everywhere(t, "", func(t *testing.T, s *shell) {
		plan := s.file("ask.yaml", "id: ask\nnodes:\n  ask: {type: approval, input: {message: \"Pay?\", timeout: 24h}}\n")
		s.expect(3, "run", "--plan", plan)
		s.expect(3, "run", "--plan", plan)
		out, _ := s.expect(0, "approvals")
		aligned(t, out, "APPROVAL", "RUN", "PLAN", "STEP", "STATUS", "CREATED", "DUE", "REQUEST")
		out, _ = s.expect(0, "audit", "action:run.created")
		aligned(t, out, "EVENT", "TIME", "RESULT", "ACTION", "ACTOR", "RUN", "FROM")
		if _, stderr := s.expect(0, "approvals", "--status", "rejected"); !strings.Contains(stderr, "no approvals found") {
			t.Errorf("an empty list: %q", stderr)
		}
	})
}

// The answers of a plan are listed, and given by their ids.
func TestAnApprovalTakesADeclaredAnswer(t *testing.T) {
	t.Parallel()
	everywhere(t, "", func(t *testing.T, s *shell) {
		plan := s.file("choose.yaml", `
id: choose
nodes:
  ask:
    type: approval
    input: {message: "Refund?", answers: [{id: full, kind: approve}, {id: half, label: Half of it, kind: choice}, {id: none, kind: reject}]}
  out: {type: set, input: "${last.answer}"}
edges: [{from: ask, to: out}]
`)
		first := s.result(3, "run", "--plan", plan, "--json")
		if out, _ := s.expect(0, "approvals"); !strings.Contains(out, "full,half,none") {
			t.Errorf("the answers are not listed: %s", out)
		}
		if out, _ := s.expect(0, "approvals", "show", first.RunID); !strings.Contains(out, "half → out") ||
			!strings.Contains(out, "none → the run ends failed") {
			t.Error(out)
		}
		if _, stderr := s.expect(2, "approve", first.RunID, "--answer", "all"); !strings.Contains(stderr, "answers: full, half, none") {
			t.Error(stderr)
		}
		if done := s.result(0, "approve", first.RunID, "--answer", "half", "--json"); string(done.Output) != `"half"` {
			t.Errorf("%+v", done)
		}
		other := s.result(3, "run", "--plan", plan, "--json")
		if done := s.result(0, "approve", other.RunID, "--json"); string(done.Output) != `"full"` {
			t.Errorf("approve without --answer: %+v", done)
		}
	})
}

func TestAccountsAreTables(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	for _, name := range []string{"ci", "a-much-longer-name"} {
		if _, stderr, code := runKairosd("token", "create", "--role", "viewer", "--scope", "metrics", "--name", name, "--data",
			data); code != 0 {
			t.Fatal(stderr)
		}
	}
	out, _, _ := runKairosd("token", "list", "--data", data)
	aligned(t, out, "TOKEN", "NAME", "ROLE", "SCOPES", "PREFIX", "EXPIRES", "LAST USED", "STATUS")
	out, _, _ = runKairosd("token", "list", "--data", data, "--json")
	var tokens struct {
		Items []struct{ ID, Name, Status, ExpiresAt string }
	}
	if err := json.Unmarshal([]byte(out), &tokens); err != nil || len(tokens.Items) != 2 || tokens.Items[0].Status != "active" ||
		tokens.Items[0].ExpiresAt == "" {
		t.Errorf("%v: %s", err, out)
	}
	if _, stderr, code := runKairosdWith(strings.NewReader("correct horse battery staple\n"), "user", "add", "marta", "--data",
		data); code != 0 {
		t.Fatal(stderr)
	}
	out, _, _ = runKairosd("user", "list", "--data", data)
	aligned(t, out, "USER", "ROLE", "CREATED", "STATUS")
}
