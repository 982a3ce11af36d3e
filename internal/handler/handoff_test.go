package handler_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kairosd/kairosd/internal/conversation"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/model/scripted"
)

// counter contains agents that hand off work.
var counter = []handler.Agent{
	{ID: "front", Name: "Front", SystemPrompt: "You are front.", Tools: []string{conversation.HandoffTool}, Selectable: true},
	{
		ID:           "sums",
		Name:         "Sums",
		SystemPrompt: "You are sums.",
		Tools:        []string{"calculator"},
		Capabilities: []string{"arithmetic"},
		Selectable:   true,
	},
}

func passOn(to, reason string, back bool) scripted.Call {
	return call(
		conversation.HandoffTool,
		map[string]any{
			"targetAgentId": to,
			"reason":        reason,
			"explanation":   "compute 6*7",
			"capability":    "arithmetic",
			"returnControl": back,
		},
	)
}

var computing = []scripted.Answer{
	{System: "you are sums", Turn: turnAt(0), Calls: []scripted.Call{call("calculator", map[string]any{"expression": "6*7"})}},
	{System: "you are sums", Turn: turnAt(1), Text: "it is ${last}"},
}

func messageLines(list []domain.AgentMessage) (out []string) {
	for _, m := range list {
		line := m.From + " " + string(m.Type) + " " + m.To
		if m.Metadata.Acknowledged {
			line += " (acknowledged)"
		}
		out = append(out, line)
	}
	return out
}

// The target of a handoff acknowledges and answers a request. The target's substeps are recorded in
// the journal like the caller's own.
func TestHandoffs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		answers  []scripted.Answer
		output   string
		agent    string // the agent of the final answer
		messages []string
		handoffs int
	}{
		{"it comes back", []scripted.Answer{
			{System: "you are front", Turn: turnAt(0), Calls: []scripted.Call{passOn("sums", "capability_match", true)}},
			{System: "you are front", Turn: turnAt(1), Text: "Sums says: ${last}"}},
			`"Sums says: it is 42"`, "front",
			[]string{"supervisor request front", "front request sums (acknowledged)", "sums ack front", "sums response front",
				"front response supervisor"}, 2},
		{"it is taken over", []scripted.Answer{
			{System: "you are front", Turn: turnAt(0), Calls: []scripted.Call{passOn("sums", "capability_match", false)}}},
			`"it is 42"`, "sums",
			[]string{"supervisor request front", "front request sums (acknowledged)", "sums ack front", "sums response front",
				"sums response supervisor"}, 2},
		{"it is rejected", []scripted.Answer{
			{System: "you are front", Turn: turnAt(0), Calls: []scripted.Call{passOn("supervisor", "clarification", false)}},
			{System: "you are front", Turn: turnAt(1), Text: "${last}"}},
			`"Error: supervisor is a system agent; only the supervisor can hand work to it"`, "front",
			[]string{"supervisor request front", "front request supervisor", "supervisor error front", "front response supervisor"}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			run, rows, e, s := converseIn(
				t,
				script(append(tc.answers, computing...)...),
				"nodes: {ask: {type: agent, agent: front, timeout: 1m}}",
				"",
				counter...)
			if run.Status != domain.RunCompleted || string(run.Output) != tc.output {
				t.Fatalf("%s %s %+v", run.Status, run.Output, run.Error)
			}
			if last := rows[len(rows)-1]; last.Agent != tc.agent {
				t.Errorf("answered by %q", last.Agent)
			}
			messages, err := s.Messages(t.Context(), run.ID)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.messages, messageLines(messages)); d != "" {
				t.Error(d)
			}
			for _, m := range messages {
				if m.Type == domain.MessageRequest && m.Metadata.TTL <= 0 {
					t.Errorf("%s has no ttl", m.ID)
				}
			}
			handoffs, err := s.Handoffs(t.Context(), run.ID)
			if err != nil || len(handoffs) != tc.handoffs {
				t.Errorf("%d handoffs: %+v %v", len(handoffs), handoffs, err)
			}
			if lines, _ := progressOf(t, e, run.ID); tc.handoffs == 2 &&
				!strings.Contains(strings.Join(lines, "\n"), "agent_handoff\nagent_changed sums") {
				t.Errorf("events %v", lines)
			}
		})
	}
}

// A session remembers the requests and answers of its runs. The models of its runs receive them. A
// run outside the session does not.
func TestMemoryOfASession(t *testing.T) {
	t.Parallel()
	model := script(
		scripted.Answer{Contains: "my name", Text: "Hello Ada."},
		scripted.Answer{System: "user: my name is Ada", Text: "You are Ada."},
		scripted.Answer{Text: "I do not know."},
	)
	in := newAgentFixture(t, model, handler.Agent{ID: "host", SystemPrompt: "You host.", Selectable: true})
	const plan = "nodes: {ask: {type: agent, agent: host}}"
	for _, turn := range []struct{ session, owner, input, want string }{
		{"s1", "ana", "my name is Ada", `"Hello Ada."`},
		{"s1", "ana", "who am I?", `"You are Ada."`},
		{"s2", "ana", "who am I?", `"I do not know."`},
		{"s1", "eve", "who am I?", `"I do not know."`},
		{"", "ana", "who am I?", `"I do not know."`},
	} {
		if run := in.run(t, plan, turn.owner, turn.session, turn.input); string(run.Output) != turn.want {
			t.Errorf("%+v: %s %s", turn, run.Status, run.Output)
		}
	}
}

// The router graph and ${memory} read the same session memory as agents. A run continues with the
// memory from its start, and so does a fork of it, whatever the session adds in the meantime.
func TestMemoryOfTheRouterGraphAndOfReferences(t *testing.T) {
	t.Parallel()
	model := script(
		scripted.Answer{System: "Choose the tools", JSON: map[string]any{"tools": []any{}}, Contains: "my name"},
		scripted.Answer{System: "- User: my name is Ada", Contains: "who am I", Text: "You are Ada."},
		scripted.Answer{
			Contains: "my name",
			Text:     "Hello Ada.",
		},
		scripted.Answer{System: "Choose the tools", JSON: map[string]any{"tools": []any{}}},
		scripted.Answer{Text: "I do not know."},
	)
	in := newAgentFixture(t, model, handler.Agent{ID: "host", SystemPrompt: "You host.", Selectable: true})
	const turn = "nodes: {router: {type: router}, generator: {type: generator}}\nedges: [{from: router, to: generator}]"
	if r := in.run(t, turn, "ana", "s1", "my name is Ada"); string(r.Output) != `"Hello Ada."` {
		t.Fatalf("%s %s %+v", r.Status, r.Output, r.Error)
	}
	if r := in.run(t, turn, "ana", "s1", "who am I?"); string(r.Output) != `"You are Ada."` {
		t.Errorf("%s %s %+v", r.Status, r.Output, r.Error)
	}
	if r := in.run(t, turn, "eve", "s1", "who am I?"); string(r.Output) != `"I do not know."` {
		t.Errorf("%s %s %+v", r.Status, r.Output, r.Error)
	}
	const refers = "nodes: {say: {type: set, input: \"${memory ?? \\\"nothing\\\"}\"}, knows: {type: set, input: 1}, " +
		"fails: {type: json, input: {value: 1, path: \"(\"}}}\n" +
		"edges: [{from: say, to: knows, condition: \"expr: string(memory).contains('Ada')\"}, {from: say, to: fails, condition: default}]"
	r := in.run(t, refers, "ana", "s1", "and now?")
	result, err := in.engine.Result(t.Context(), r.ID)
	if err != nil || r.Status != domain.RunCompleted || !strings.Contains(string(result.Outputs["say"]), "my name is Ada") {
		t.Fatalf("%s %s %+v", r.Status, result.Outputs["say"], r.Error)
	}
	in.run(t, turn, "ana", "s1", "who am I?")
	author := domain.Actor{Name: "ana", Role: domain.RoleAuthor, Source: "cli"}
	fork, err := in.engine.Act(t.Context(), author, domain.ActionRequest{Run: r.ID, Action: domain.ActionFork, At: 1})
	if err != nil {
		t.Fatal(err)
	}
	if fork, err = in.engine.Wait(t.Context(), fork.ID); err != nil {
		t.Fatal(err)
	}
	again, err := in.engine.Result(t.Context(), fork.ID)
	if err != nil || string(again.Outputs["say"]) != string(result.Outputs["say"]) {
		t.Errorf("the fork remembers %s, want %s (%v)", again.Outputs["say"], result.Outputs["say"], err)
	}
	if r := in.run(t, refers, "ana", "", "and now?"); r.Status != domain.RunFailed {
		t.Errorf("without a session: %s %s", r.Status, r.Output)
	}
}
