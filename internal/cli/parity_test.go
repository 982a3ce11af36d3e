package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// skills are enough to plan by rules.
const skills = "skills:\n  - {id: collect, keywords: {en: [collect]}, tool: set, defaults: {sum: 42}}\n" +
	"  - {id: report, keywords: {en: [report]}, tool: set, depends_on: [collect]}\n"

// scripted is a configuration with scripted answers instead of a model.
func scripted(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../examples/scripted/kairos.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

const greeting = "id: greet\nnodes:\n  say: {type: set, input: \"hello ${input}\"}\n"

// A stored plan is started by its key, an earlier version becomes current, and an archived plan
// leaves the list and returns.
func TestStoredPlans(t *testing.T) {
	t.Parallel()
	everywhere(t, "", func(t *testing.T, s *shell) {
		s.expect(0, "plans", "add", s.file("a.yaml", greeting))
		s.expect(0, "plans", "add", s.file("b.yaml", strings.Replace(greeting, "hello", "good day", 1)))
		if out, _ := s.expect(0, "run", "greet", "--prompt", "Ana"); out != "good day Ana\n" {
			t.Errorf("current: %q", out)
		}
		if out, _ := s.expect(0, "plans", "restore", "greet", "v1", "--reason", "too formal"); !strings.Contains(
			out,
			"v1 is current (before: v2)",
		) {
			t.Error(out)
		}
		if out, _ := s.expect(0, "run", "greet", "--prompt", "Ana"); out != "hello Ana\n" {
			t.Errorf("restored: %q", out)
		}
		if out, _ := s.expect(0, "run", "greet@2", "--prompt", "Ana"); out != "good day Ana\n" {
			t.Errorf("v2: %q", out)
		}
		if out, _ := s.expect(0, "plans", "restore", "greet", "v1"); !strings.Contains(out, "v1 is current") {
			t.Errorf("restored again: %s", out)
		}
		s.expect(2, "plans", "restore", "greet", "last")
		if out, _ := s.expect(0, "plans", "versions", "greet"); !strings.Contains(out, "v1       yes") {
			t.Error(out)
		}
		if out, _ := s.expect(0, "plans", "flow", "greet"); !strings.Contains(out, "say   3") {
			t.Error(out)
		}
		s.expect(0, "plans", "pause", "greet", "--reason", "the bank asks for it")
		if _, stderr := s.expect(2, "run", "greet", "--prompt", "Ana"); !strings.Contains(stderr, "greet is paused") ||
			!strings.Contains(stderr, "the bank asks for it") {
			t.Error(stderr)
		}
		if out, _ := s.expect(0, "plans", "--paused"); !strings.Contains(out, "greet") || !strings.Contains(out, "paused") {
			t.Error(out)
		}
		s.expect(0, "plans", "pause", "greet") // it stays as it is
		s.expect(0, "plans", "unpause", "greet")
		s.expect(0, "plans", "archive", "greet", "--reason", "replaced")
		if out, stderr := s.expect(0, "plans"); strings.Contains(out, "greet") || !strings.Contains(stderr, "no plans found") {
			t.Error(out, stderr)
		}
		if out, _ := s.expect(0, "plans", "--archived"); !strings.Contains(out, "greet") {
			t.Error(out)
		}
		s.expect(0, "plans", "unarchive", "greet")
		// A key starts one run.
		first := s.result(0, "run", "greet", "--prompt", "Ana", "--key", "k1", "--json")
		if again := s.result(0, "run", "greet", "--prompt", "Ana", "--key", "k1", "--json"); again.RunID != first.RunID {
			t.Errorf("the key gave %s, then %s", first.RunID, again.RunID)
		}
	})
}

// A dry run changes nothing and stores no version.
func TestADryRunStoresNoVersion(t *testing.T) {
	t.Parallel()
	everywhere(t, "", func(t *testing.T, s *shell) {
		plan := s.file("net.yaml", "id: net\nnodes:\n  get: {type: http, input: {method: POST, url: \"https://example.invalid/\"}}\n")
		if r := s.result(0, "run", plan, "--dry-run", "--json"); r.Status != "completed" {
			t.Errorf("%+v", r)
		}
		if out, _ := s.expect(0, "plans", "--json"); strings.Contains(out, `"net"`) {
			t.Error(out)
		}
		if out, _ := s.expect(0, "runs"); out != "" {
			t.Errorf("a dry run is in the list: %s", out)
		}
		if _, stderr := s.expect(2, "run", s.file("bad.yaml", "id: bad\nnodes:\n  a: {tpye: set}\n"), "--dry-run"); !strings.Contains(
			stderr,
			"bad.yaml:3:",
		) {
			t.Error(stderr)
		}
	})
}

// Failed runs and failure groups are acknowledged, and the acknowledgment is withdrawn. Runs get
// labels. Both also work as bulk operations.
func TestAcknowledgeAndLabel(t *testing.T) {
	t.Parallel()
	everywhere(t, "", func(t *testing.T, s *shell) {
		plan := s.file("bad.yaml", "id: bad\nnodes:\n  look: {type: json, input: {value: 1, path: bad}}\n")
		first, second := s.result(1, "run", "--plan", plan, "--json"), s.result(1, "run", "--plan", plan, "--json")
		out, _ := s.expect(0, "failures", "--json")
		var groups struct {
			Items []struct {
				Plan       domain.PlanRef
				Node, Code string
				Runs       int
			}
		}
		if err := json.Unmarshal([]byte(out), &groups); err != nil || len(groups.Items) != 1 || groups.Items[0].Runs != 2 {
			t.Fatalf("%v: %s", err, out)
		}
		g := groups.Items[0]
		s.expect(0, "failures", "ack", first.RunID, "--reason", "known")
		if out, _ := s.expect(0, "runs", "--filter", "is:attention"); strings.Contains(out, first.RunID) ||
			!strings.Contains(out, second.RunID) {
			t.Error(out)
		}
		s.expect(0, "failures", "ack", "--plan", g.Plan.Key, "--step", g.Node, "--error", g.Code, "--note", "quota")
		if _, stderr := s.expect(0, "failures"); !strings.Contains(stderr, "no failures need attention") {
			t.Error(stderr)
		}
		s.expect(0, "failures", "unack", "--plan", g.Plan.Key, "--step", g.Node, "--error", g.Code)
		if out, _ := s.expect(0, "failures"); !strings.Contains(out, "--filter 'status:failed is:attention plan:bad step:look") {
			t.Error(out)
		}
		s.expect(0, "runs", "label", first.RunID, second.RunID, "--set", "ticket=4711")
		if out, _ := s.expect(0, "runs", "--label", "ticket=4711"); strings.Count(out, "  failed  ") != 2 {
			t.Error(out)
		}
		s.expect(2, "runs", "label", first.RunID)
		s.expect(2, "runs", "label", "--set", "a=b")
		out, _ = s.expect(0, "operations", "--json")
		var acts struct {
			Items []struct{ ID, Action, Status string }
		}
		if err := json.Unmarshal([]byte(out), &acts); err != nil || len(acts.Items) != 2 || acts.Items[0].Action != "label" ||
			acts.Items[0].Status != "done" {
			t.Fatalf("%v: %s", err, out)
		}
		if out, _ := s.expect(0, "operations", "show", acts.Items[0].ID); !strings.Contains(out, second.RunID) {
			t.Error(out)
		}
		if out, _ := s.expect(0, "operations", "show", acts.Items[0].ID, "--status", "acted"); !strings.Contains(out, second.RunID) {
			t.Error(out)
		}
		if out, _ := s.expect(0, "operations", "show", acts.Items[0].ID, "--status", "refused"); strings.Contains(out, second.RunID) {
			t.Error(out)
		}
		s.expect(2, "operations", "show", acts.Items[0].ID, "--status", "odd")
		s.expect(2, "operations", "stop", acts.Items[0].ID) // it has ended
		s.expect(2, "operations", "show", "nothing")
	})
}

// A resume can wait for a time. It then outlives the command, and can be stopped.
func TestResumeLater(t *testing.T) {
	t.Parallel()
	everywhere(t, "", func(t *testing.T, s *shell) {
		r := s.result(
			1,
			"run",
			"--plan",
			s.file("bad.yaml", "id: bad\nnodes:\n  look: {type: json, input: {value: 1, path: bad}}\n"),
			"--json",
		)
		out, stderr := s.expect(0, "resume", r.RunID, "--not-before", "2h", "--detach", "--json", "--yes")
		var act struct{ ID, Status, StartAt string }
		if err := json.Unmarshal([]byte(out), &act); err != nil || act.ID == "" || act.StartAt == "" {
			t.Fatalf("%v: %s%s", err, out, stderr)
		}
		if out, _ := s.expect(0, "operations", "stop", act.ID, "--reason", "not needed"); !strings.Contains(out, "is stopped") {
			t.Error(out)
		}
		s.expect(2, "resume", r.RunID, "--not-before", "soon", "--yes")
		s.expect(2, "resume", r.RunID, "--provider", "nobody", "--detach", "--yes")
	})
}

// Steps and handoffs are found across runs. A saved view is a named filter.
func TestStepsHandoffsAndViews(t *testing.T) {
	t.Parallel()
	everywhere(t, scripted(t), func(t *testing.T, s *shell) {
		r := s.result(0, "run", "--plan", s.file("a.yaml", greeting), "--json")
		if out, _ := s.expect(0, "runs", "steps", "plan:greet", "node:say"); !strings.Contains(out, r.RunID[len(r.RunID)-4:]) ||
			!strings.Contains(out, "completed") {
			t.Error(out)
		}
		if _, stderr := s.expect(0, "runs", "steps", "plan:greet", "status:failed", "--sort", "took"); !strings.Contains(
			stderr,
			"no steps found",
		) {
			t.Error(stderr)
		}
		if _, stderr := s.expect(2, "runs", "steps", "sattus:failed"); !strings.Contains(stderr, "status") {
			t.Error(stderr)
		}
		asked, _ := s.expect(0, "ask", "create a post about tea with summary", "--json")
		var answer struct{ Run struct{ RunID string } }
		if err := json.Unmarshal([]byte(asked), &answer); err != nil {
			t.Fatal(err)
		}
		if out, _ := s.expect(0, "runs", "handoffs", "from:supervisor"); !strings.Contains(out, "supervisor → ") {
			t.Error(out)
		}
		if out, _ := s.expect(0, "runs", "handoffs", "show", answer.Run.RunID); !strings.Contains(out, "supervisor → ") {
			t.Error(out)
		}
		s.expect(2, "runs", "handoffs", "from:a,b", "status:odd")
		s.expect(0, "views", "save", "greetings", "plan:greet")
		s.expect(0, "views", "save", "shared one", "status:failed", "--shared")
		if out, _ := s.expect(0, "views"); !strings.Contains(out, "greetings   you") || !strings.Contains(out, "shared  ") {
			t.Error(out)
		}
		if out, _ := s.expect(0, "runs", "--view", "greetings"); !strings.Contains(out, r.RunID) ||
			strings.Contains(out, answer.Run.RunID) {
			t.Error(out)
		}
		s.expect(2, "runs", "--view", "nothing")
		s.expect(2, "views", "save", "bad", "plam:greet")
		s.expect(2, "views", "delete", "shared one") // it is shared
		s.expect(0, "views", "delete", "shared one", "--shared")
		s.expect(0, "views", "delete", "greetings")
	})
}

// A draft is shown, planned again, run, accepted, or archived.
func TestDrafts(t *testing.T) {
	t.Parallel()
	everywhere(t, skills, func(t *testing.T, s *shell) {
		ask := func(text string) string {
			out, _ := s.expect(0, "ask", "--plan-only", "--json", text)
			var a struct{ Plan struct{ Key string } }
			if err := json.Unmarshal([]byte(out), &a); err != nil || a.Plan.Key == "" {
				t.Fatalf("%v: %s", err, out)
			}
			return a.Plan.Key
		}
		draft := ask("collect the figures")
		if out, _ := s.expect(0, "drafts"); !strings.Contains(out, draft) {
			t.Error(out)
		}
		if out, _ := s.expect(0, "drafts", "show", draft); !strings.Contains(out, "collect") {
			t.Error(out)
		}
		if out, _ := s.expect(0, "drafts", "refine", draft, "collect the figures and then report"); !strings.Contains(out, "report") ||
			!strings.Contains(out, "+") {
			t.Error(out)
		}
		if r := s.result(0, "drafts", "run", draft, "--dry-run", "--json"); r.Status != "completed" {
			t.Errorf("%+v", r)
		}
		s.expect(0, "drafts", "accept", draft, "--reason", "good")
		if _, stderr := s.expect(2, "drafts", "accept", draft); !strings.Contains(stderr, "is not a draft") {
			t.Error(stderr)
		}
		out, _ := s.expect(0, "drafts", "--json")
		var rest struct {
			Items []struct {
				ID   string
				Plan domain.PlanRef
			}
		}
		if err := json.Unmarshal([]byte(out), &rest); err != nil || len(rest.Items) != 1 || rest.Items[0].Plan.Key == draft {
			t.Fatalf("%v: %s", err, out)
		}
		s.expect(0, "drafts", "discard", rest.Items[0].ID)
		if _, stderr := s.expect(0, "drafts"); !strings.Contains(stderr, "no drafts") {
			t.Error(stderr)
		}
	})
}

// A request shows the predicted steps of each answer, similar requests get the same answer, and a
// run gets other limits.
func TestApprovalsAndLimits(t *testing.T) {
	t.Parallel()
	everywhere(t, "", func(t *testing.T, s *shell) {
		plan := s.file("pay.yaml", `
id: pay
nodes:
  ask: {type: approval, input: {message: "Pay?", form: {type: object, properties: {amount: {type: number}}}}}
  paid: {type: set, input: "${output.ask.values.amount}"}
edges: [{from: ask, to: paid}]
`)
		first := s.result(3, "run", "--plan", plan, "--json")
		if out, _ := s.expect(0, "approvals", "show", first.RunID); !strings.Contains(out, "approve → paid") ||
			!strings.Contains(out, `"amount"`) {
			t.Error(out)
		}
		if done := s.result(0, "approve", first.RunID, "--values", `{"amount": 90}`, "--json"); string(done.Output) != "90" {
			t.Errorf("%+v", done)
		}
		a, b := s.result(3, "run", "--plan", plan, "--json"), s.result(3, "run", "--plan", plan, "--json")
		if out, stderr := s.expect(2, "reject", a.RunID, b.RunID, first.RunID, "--comment", "no"); strings.Count(out, "rejected") != 2 ||
			!strings.Contains(stderr, "1 of 3 requests were not answered") {
			t.Error(out, stderr)
		}
		steps := s.file(
			"steps.yaml",
			"id: steps\nlimits: {max_steps: 1}\nnodes:\n  a: {type: set, input: 1}\n  b: {type: set, input: 2}\n"+
				"edges: [{from: a, to: b}]\n",
		)
		r := s.result(3, "run", "--plan", steps, "--json")
		if r.WaitReason != "budget" {
			t.Fatalf("%+v", r)
		}
		if done := s.result(0, "runs", "limits", r.RunID, "--max-steps", "5", "--reason", "agreed", "--json"); done.Status != "completed" {
			t.Errorf("%+v", done)
		}
		s.expect(2, "runs", "limits", r.RunID)
	})
}

// Single agents, tools, and providers are shown. A tool is called. An event of the audit log is
// shown.
func TestDetails(t *testing.T) {
	t.Parallel()
	everywhere(t, "", func(t *testing.T, s *shell) {
		for _, c := range [][2]string{{"agents show supervisor", "part of kairosd"}, {"tools show calculator", `"expression"`},
			{"providers show offline", "unused"}} {
			if out, _ := s.expect(0, strings.Fields(c[0])...); !strings.Contains(out, c[1]) {
				t.Errorf("%s: %s", c[0], out)
			}
			words := strings.Fields(c[0])
			if out, _ := s.expect(0, append(words, "--json")...); !json.Valid([]byte(out)) {
				t.Errorf("%s --json: %s", c[0], out)
			}
			words[2] = "nobody"
			if _, stderr := s.expect(2, words...); !strings.Contains(stderr, "not found") ||
				!strings.Contains(stderr, "list them: kairos "+words[0]) {
				t.Error(stderr)
			}
		}
		if r := s.result(0, "tools", "call", "calculator", "--input", `{"expression": "6*7"}`, "--json"); !strings.Contains(
			string(r.Output),
			"42",
		) {
			t.Errorf("%+v", r)
		}
		if out, _ := s.expect(0, "plans", "--json"); strings.Contains(out, "try-calculator") {
			t.Errorf("the plan of a tried tool is in the list: %s", out)
		}
		if out, _ := s.expect(0, "audit", "show", "1"); !strings.Contains(out, "event 1\n") {
			t.Error(out)
		}
		s.expect(2, "audit", "show", "one")
		s.expect(2, "audit", "show", "999999")
		if s.transport == "process" {
			if _, stderr := s.expect(4, "server"); !strings.Contains(stderr, "no daemon is running for") {
				t.Error(stderr)
			}
			return
		}
		if out, _ := s.expect(0, "server"); !strings.Contains(out, "last backup") || !strings.Contains(out, "check the database") {
			t.Error(out)
		}
		s.expect(0, "server", "logs", "--level", "warn", "--json")
		s.expect(2, "server", "logs", "--level", "loud")
		s.expect(0, "server", "backup")
		if out, _ := s.expect(0, "server", "maintenance", "on", "--reason", "nothing"); !strings.Contains(out, "maintenance since") {
			t.Error(out)
		}
		s.expect(0, "server", "maintenance", "on") // it is on
		s.expect(0, "server", "maintenance", "off")
	})
}

// Tables fit the screen. Other output is complete.
func TestTablesFitTheScreen(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.expect(0, "plans", "add", s.file("a.yaml", "name: \""+strings.Repeat("long name ", 15)+"\"\n"+strings.TrimPrefix(greeting, "\n")))
	wide, _ := s.expect(0, "plans")
	s.width = 80
	narrow, _ := s.expect(0, "plans")
	for line := range strings.Lines(narrow) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("%d letters: %s", n, line)
		}
	}
	if !strings.Contains(narrow, "…") || strings.Contains(wide, "…") {
		t.Errorf("narrow %q\nwide %q", narrow, wide)
	}
	r := s.result(3, "run", s.file("ask.yaml", "id: ask\n"+
		"nodes: {ask: {type: approval, input: {message: \""+strings.Repeat("long ", 30)+"\"}}}\n"),
		"--json")
	s.width = 90
	if out, _ := s.expect(0, "status"); !strings.Contains(out, "…") ||
		!strings.Contains(out, "kairos approvals show "+r.Waits[0].Approval+"\n") {
		t.Errorf("the command is not whole: %s", out)
	}
}

// Every action has its documented effect on one run, previews change nothing, and an impossible
// action is refused with a reason.
func TestVerbs(t *testing.T) {
	t.Parallel()
	everywhere(t, "", func(t *testing.T, s *shell) {
		ask := s.file("ask.yaml", "id: ask\nnodes:\n  ask: {type: approval, input: {message: \"Go on?\"}}\n")
		r := s.result(3, "run", "--plan", ask, "--json")
		if out, _ := s.expect(0, "cancel", r.RunID, "--preview", "--json"); !strings.Contains(out, `"allowed":true`) {
			t.Error(out)
		}
		s.expect(0, "runs", "pause", r.RunID, "--preview")
		if out, _ := s.expect(0, "runs", "pause", r.RunID, "--reason", "wait"); !strings.Contains(out, "is waiting") {
			t.Error(out)
		}
		if _, stderr := s.expect(2, "resume", r.RunID, "--yes"); !strings.Contains(stderr, "waits for an approval: Go on?") ||
			!strings.Contains(stderr, "kairos approve ") {
			t.Error(stderr)
		}
		if out, _ := s.expect(0, "cancel", r.RunID, "--reason", "not needed"); !strings.Contains(out, "cancelled") {
			t.Error(out)
		}
		if _, stderr := s.expect(2, "cancel", r.RunID); !strings.Contains(stderr, "cancelled") {
			t.Error(stderr)
		}
		if _, stderr := s.expect(3, "resume", r.RunID, "--yes"); strings.Count(stderr, "waiting  ask") > 1 {
			t.Errorf("the output repeats known waits: %s", stderr)
		}
		s.expect(0, "cancel", r.RunID)
		s.expect(3, "rerun", r.RunID)
		s.expect(0, "runs", "delete", r.RunID, "--preview")
		s.expect(0, "show", r.RunID)
		if out, _ := s.expect(0, "runs", "delete", r.RunID); !strings.Contains(out, " deleted") {
			t.Error(out)
		}
		if out, _ := s.expect(0, "runs"); strings.Contains(out, r.RunID) {
			t.Error(out)
		}
		done := s.result(0, "run", "--plan", s.file("a.yaml", greeting), "--json")
		if out, _ := s.expect(0, "fork", done.RunID, "--at", "1", "--edit", `say="good day"`); out != "good day\n" {
			t.Errorf("forked: %q", out)
		}
		s.expect(2, "fork", done.RunID, "--at", "-1")
		s.expect(2, "resume", done.RunID, "--yes")
		s.expect(2, "resume", done.RunID, "--release", "--yes")
		s.expect(2, "runs", "resolve", done.RunID, "say", "--retry")
		for _, name := range []string{"", "x", "zzzz", "../../etc", "ñandú"} {
			if _, stderr := s.expect(2, "show", name); !strings.Contains(stderr, "kairos: ") || strings.Count(stderr, "\n") > 2 {
				t.Errorf("show %q: %s", name, stderr)
			}
		}
		s.expect(2, "runs", "--limit", "0")
		s.expect(2, "runs", "--cursor", "nonsense")
		s.expect(0, "runs", "note", done.RunID, "looked at")
		s.expect(2, "runs", "note", done.RunID, " ")
	})
}

// A file that cannot be read is refused with a reason. A mistyped path creates no database.
func TestInvalidFiles(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	large := s.file("large.yaml", strings.Repeat("# nothing\n", 120_000))
	for _, path := range []string{s.dir, filepath.Join(s.dir, "missing"), large, s.file("binary", "\xff\x00\x01"), s.file("empty", "")} {
		for _, args := range [][]string{{"run", "--plan", path}, {"run", path, "--dry-run"}, {"validate", path},
			{"plans", "graph", path}, {"plans", "add", path}, {"run", "x", "--input", "@" + path}} {
			if stdout, stderr, code := s.run(args...); code != 2 || len(stderr) < 20 || stdout != "" {
				t.Errorf("%v: exit %d %q %q", args, code, stdout, stderr)
			}
		}
	}
	mistyped := filepath.Join(s.dir, "nowhere", "kairos.db")
	if _, stderr := s.expect(4, "runs", "--db", mistyped); !strings.Contains(stderr, "not found") {
		t.Error(stderr)
	}
	if _, stderr := s.expect(2, "runs", "--db", s.dir); !strings.Contains(stderr, "is a directory") {
		t.Error(stderr)
	}
	if _, stderr := s.expect(4, "runs", "--server", "http://127.0.0.1:1"); !strings.Contains(stderr, "no server at") {
		t.Error(stderr)
	}
}
