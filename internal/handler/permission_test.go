package handler_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/model/scripted"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// approvalFixture is an engine with real tools. The test decides their approval requests.
type approvalFixture struct {
	*engine.Engine
	store *store.Store
	t     *testing.T
}

var ana = domain.Actor{Name: "ana", Role: domain.RoleAuthor, Source: "cli"}

func newApprovalFixture(t *testing.T, c tool.Config, script []scripted.Answer, agents ...handler.Agent) *approvalFixture {
	t.Helper()
	set, err := tool.Builtin(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := handler.New(set)
	m, err := handler.NewModels(
		handler.Config{
			Providers:       map[string]llm.Provider{"script": scripted.New(scripted.Script{Answers: script})},
			DefaultProvider: "script",
			Agents:          agents,
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	r.SetModels(m)
	s := storetest.Open(t)
	e, err := engine.New(engine.Config{Store: s, Registry: r})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &approvalFixture{e, s, t}
}

func (d *approvalFixture) run(plan, input string) domain.Run {
	d.t.Helper()
	_, version, _, problems, err := d.SavePlan(d.t.Context(), ana, []byte(plan), planner.FormatYAML, "api", "")
	if err != nil {
		d.t.Fatalf("%v: %v", err, problems)
	}
	run, err := d.Start(d.t.Context(), ana, domain.StartRequest{Hash: version.Hash, Input: domain.RawJSON(input)})
	if err != nil {
		d.t.Fatal(err)
	}
	return d.settle(run.ID)
}

func (d *approvalFixture) settle(id string) domain.Run {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), time.Minute)
	defer cancel()
	r, err := d.Wait(ctx, id)
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

func (d *approvalFixture) asked(run domain.Run) domain.Approval {
	d.t.Helper()
	list, err := d.store.Approvals(d.t.Context(), domain.ApprovalFilter{Run: run.ID, Status: "pending"})
	if err != nil || len(list.Items) != 1 || run.WaitReason != domain.WaitApproval {
		d.t.Fatalf("%s %s, questions %+v, %v %+v", run.Status, run.WaitReason, list.Items, err, run.Error)
	}
	return list.Items[0]
}

func (d *approvalFixture) answer(p domain.Approval, yes bool, comment string) domain.Run {
	d.t.Helper()
	if _, err := d.Decide(d.t.Context(), ana, domain.DecideRequest{Approval: p.ID, Approve: yes, Comment: comment,
		Digest: p.Digest}); err != nil {
		d.t.Fatal(err)
	}
	return d.settle(p.Run)
}

// A tool with the permission ask runs only after a person has approved its exact arguments. A
// rejection fails the step.
func TestAToolThatRequiresApproval(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := newApprovalFixture(t, tool.Config{Files: tool.FilesConfig{Roots: []string{root}},
		Permissions: tool.Permissions{"write_file": tool.Ask}}, nil)
	const plan = `
nodes:
  save: {type: write_file, input: {path: note.txt, content: "${input}"}}
  rescue: {type: set, input: "${last.error}"}
edges: [{from: save, to: rescue, condition: failed}]`
	r := d.run(plan, `"hello"`)
	p := d.asked(r)
	if p.Tool != "write_file" || string(p.Arguments) != `{"content":"hello","path":"note.txt"}` || p.OnTimeout != "reject" {
		t.Errorf("question %+v", p)
	}
	if _, err := os.Stat(filepath.Join(root, "note.txt")); err == nil {
		t.Error("written before anybody approved")
	}
	if r = d.answer(p, true, ""); r.Status != domain.RunCompleted {
		t.Errorf("%s %+v", r.Status, r.Error)
	}
	if b, err := os.ReadFile(filepath.Join(root, "note.txt")); err != nil || string(b) != "hello" {
		t.Errorf("%q %v", b, err)
	}
	// An approval does not permit other arguments.
	_, err := d.Preview(
		t.Context(),
		ana,
		domain.ActionRequest{
			Run:    r.ID,
			Action: domain.ActionFork,
			At:     r.LastSeq,
			Edits:  map[string]domain.RawJSON{"save": domain.RawJSON(`"x"`)},
		},
	)
	if domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("edit of an approved call: %v", err)
	}
	// A new run requires a new approval.
	again, err := d.Act(t.Context(), ana, domain.ActionRequest{Run: r.ID, Action: domain.ActionRerun})
	if err != nil {
		t.Fatal(err)
	}
	if r = d.answer(d.asked(d.settle(again.ID)), false, "not that"); string(
		r.Output,
	) != `"the call of write_file was rejected by ana: not that"` {
		t.Errorf("%s %s %+v", r.Status, r.Output, r.Error)
	}
	// Each item of a list is a separate call.
	r = d.run(`nodes: {save: {type: write_file, foreach: "${input}", max_parallel: 1, input: {path: "${item}", content: x}}}`, `["a","b"]`)
	for range 2 {
		list, err := d.store.Approvals(t.Context(), domain.ApprovalFilter{Run: r.ID, Status: "pending"})
		if err != nil || len(list.Items) == 0 {
			t.Fatalf("%+v %v", list.Items, err)
		}
		r = d.answer(list.Items[0], true, "")
	}
	if r.Status != domain.RunCompleted {
		t.Errorf("%s %s %+v", r.Status, r.WaitReason, r.Error)
	}
}

// Permissions hold per tool, plan, agent and node (P45).
func TestPermissionsByPlanAndNode(t *testing.T) {
	t.Parallel()
	d := newApprovalFixture(t, tool.Config{Permissions: tool.Permissions{"calculator": tool.Ask, "datetime": tool.Deny},
		Plans: map[string]tool.Permissions{
			"trusted": {"calculator": tool.Allow},
			"barred":  {"calculator": tool.Deny},
			"clock":   {"datetime": tool.Allow},
		}}, nil)
	const sum = "nodes: {sum: {type: calculator, input: {expression: 1+1}}}"
	for _, c := range []struct {
		name, plan string
		status     domain.RunStatus
		code       string
	}{
		{"asks in general", sum, domain.RunWaiting, ""},
		{"allowed in a plan", "id: trusted\n" + sum, domain.RunCompleted, ""},
		{"denied in a plan", "id: barred\n" + sum, domain.RunFailed, walk.CodePolicy},
		{"a deny is final", "id: clock\nnodes: {now: {type: datetime, input: {}}}", domain.RunFailed, walk.CodePolicy},
		{"a node may be stricter", "nodes: {j: {type: json, input: {value: 1}, metadata: {permission: deny}}}",
			domain.RunFailed, walk.CodePolicy},
		{"a node may not be laxer", "nodes: {sum: {type: calculator, input: {expression: 1+1}, metadata: {permission: allow}}}",
			domain.RunWaiting, ""},
		{"nobody is asked about nonsense", `nodes: {sum: {type: calculator, input: {expression: "${input}"}}}`,
			domain.RunFailed, walk.CodeInvalidInput},
	} {
		r := d.run(c.plan, "5")
		code := ""
		if r.Error != nil {
			code = r.Error.Code
		}
		if r.Status != c.status || code != c.code {
			t.Errorf("%s: got %s %s %+v, want %s %s", c.name, r.Status, r.WaitReason, r.Error, c.status, c.code)
		}
	}
}

// A call that requires approval suspends the conversation. The model receives the result.
func TestAnAgentsCallThatRequiresApproval(t *testing.T) {
	t.Parallel()
	one, two := 0, 1
	script := []scripted.Answer{
		{
			Turn: &one,
			Calls: []scripted.Call{
				{Tool: "calculator", Arguments: map[string]any{"expression": "6*7"}},
				{Tool: "sleep", Arguments: map[string]any{"for": "1ms"}},
			},
			InputTokens: 10,
		},
		{Turn: &two, Text: "the sum is ${last}", InputTokens: 10},
	}
	d := newApprovalFixture(
		t,
		tool.Config{},
		script,
		handler.Agent{
			ID:          "sums",
			Selectable:  true,
			Tools:       []string{"calculator", "sleep"},
			Permissions: tool.Permissions{"calculator": tool.Ask},
		},
	)
	const plan = "nodes: {think: {type: agent, agent: sums}}"
	r := d.run(plan, `"add"`)
	p := d.asked(r)
	if p.Tool != "calculator" || !strings.Contains(p.Message, "agent of step think") {
		t.Errorf("question %+v", p)
	}
	if r = d.answer(p, true, ""); r.Status != domain.RunCompleted || r.Usage.InputTokens != 20 {
		t.Errorf("%s %s %+v %+v", r.Status, r.Output, r.Error, r.Usage)
	}
	if r = d.answer(d.asked(d.run(plan, `"add"`)), false, "no sums today"); r.Status != domain.RunCompleted {
		t.Errorf("%s %+v", r.Status, r.Error)
	}
}
