package planning_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/planning"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// checker is an engine that only validates plans.
type checker struct{ catalog *planner.Catalog }

func (c checker) Catalog() *planner.Catalog { return c.catalog }
func (c checker) CheckPlan(src []byte, f planner.Format) (*planner.Document, planner.Problems) {
	return planner.Parse(src, planner.WithFormat(f), planner.WithCatalog(c.catalog))
}

func (checker) SavePlan(
	context.Context,
	domain.Actor,
	[]byte,
	planner.Format,
	string,
	string,
) (domain.Plan, domain.Version, bool, planner.Problems, error) {
	return domain.Plan{}, domain.Version{}, false, nil, errors.New("nothing is stored here")
}
func (checker) NewestVersion(context.Context, string) (domain.Plan, domain.Version, error) {
	return domain.Plan{}, domain.Version{}, domain.Errorf(domain.CodeNotFound, "nothing is stored here")
}
func (checker) ProposedVersion(context.Context, string) (domain.Plan, domain.Version, error) {
	return domain.Plan{}, domain.Version{}, domain.Errorf(domain.CodeNotFound, "nothing is stored here")
}
func (checker) AcceptVersion(context.Context, domain.Actor, string, string, string) (domain.Plan, error) {
	return domain.Plan{}, errors.New("nothing is stored here")
}
func (checker) Start(context.Context, domain.Actor, domain.StartRequest) (domain.Run, error) {
	return domain.Run{}, errors.New("nothing is started here")
}

func replanner(t *testing.T, s *scriptedReply, accepted ...string) *planning.Service {
	t.Helper()
	catalog := &planner.Catalog{Agents: map[string]planner.AgentInfo{}, Skills: map[string]planner.SkillInfo{}}
	c := planning.Config{Agents: agents, DefaultAgent: "general", Skills: blog()}
	for _, a := range agents {
		catalog.Agents[a.ID] = planner.AgentInfo{Effect: walk.EffectIdempotent}
	}
	catalog.Agents["docs"] = planner.AgentInfo{Effect: walk.EffectUnsafe}
	for _, sk := range c.Skills {
		catalog.Agents[sk.Agent] = planner.AgentInfo{Effect: walk.EffectIdempotent}
		catalog.Skills[sk.ID] = planner.SkillInfo{Agent: sk.Agent}
	}
	if s != nil {
		c.Generator = &planning.Generator{Provider: s, Agents: agents}
	}
	return planning.NewService(planning.New(c), checker{catalog}, accepted)
}

func asked(t *testing.T, p *planner.StepPlan, failed string, done ...string) domain.ReplanRequest {
	t.Helper()
	src, err := p.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	r := domain.ReplanRequest{Run: domain.Run{Input: domain.RawJSON(`"Create SEO-optimized post about TypeScript with summary"`)},
		Version: domain.Version{Source: src, Format: "json"}, Node: failed, Failure: domain.Failure{Message: "it broke"}}
	for _, id := range done {
		r.Settled = append(
			r.Settled,
			domain.ReplanStep{Node: id, Status: domain.NodeCompleted, Output: domain.RawJSON(`{"text": "hello"}`)},
		)
	}
	return r
}

// lines formats each step as its id, its agent or skill, and its dependencies.
func lines(t *testing.T, src []byte) []string {
	t.Helper()
	doc, problems := planner.Parse(src, planner.WithFormat(planner.FormatJSON))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, st := range doc.Steps.Steps {
		line := st.ID + " " + st.SkillID + st.AgentID
		if c := st.Params["content"]; c != nil {
			line += " " + c.(string)
		}
		if len(st.Dependencies) > 0 {
			line += " after " + strings.Join(st.Dependencies, ", ")
		}
		if st.Condition != nil {
			line += " if " + st.Condition.Expr
		}
		out = append(out, line)
	}
	return out
}

// After a skill failed, the rules plan the rest without it and connect it to the completed steps.
// Ids of removed steps are not used again.
func TestReplanByRules(t *testing.T) {
	t.Parallel()
	p := plan(t, request("Create SEO-optimized post about TypeScript with summary", all...))
	out, err := replanner(t, nil).Replan(t.Context(), asked(t, p, "step-3", "step-1"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"step-1 generate_content",
		"step-5 analyze_seo step-1.result after step-1",
		"step-6 summarize_content step-1.result after step-1",
	}
	if d := cmp.Diff(want, lines(t, out.Source)); d != "" {
		t.Error(d)
	}
	if out.Reason != "step-3 failed (it broke); replanned without the skill moderate_content" {
		t.Errorf("%q", out.Reason)
	}
	_, err = replanner(t, nil).Replan(t.Context(), asked(t, p, "step-1"))
	if e, ok := planning.AsError(err); !ok || !strings.Contains(e.Message, "generate_content") {
		t.Errorf("a skill that is asked for cannot be left out: %v", err)
	}
}

func TestReplanByModel(t *testing.T) {
	t.Parallel()
	two := `{"summary": "Do it another way", "requiresMultiStep": true, "steps": [{"agentId": "billing", "task": "first the ` +
		`bills"}, {"agentId": "docs", "task": "then the papers"}], "reasoning": "why not"}`
	sequence := &planner.StepPlan{
		ID: "p",
		Steps: []planner.Step{
			{ID: "a", Order: 1, AgentID: "billing", Task: "begin"},
			{ID: "b", Order: 2, AgentID: "docs", Task: "go on", OnError: "replan"},
			{ID: "c", Order: 3, AgentID: "docs", Task: "end"},
		},
	}
	s := &scriptedReply{answers: []string{two}}
	out, err := replanner(t, s).Replan(t.Context(), asked(t, sequence, "b", "a"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a billing", "step-4 billing", "step-5 docs"}, lines(t, out.Source)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"step-5"}, out.Unsafe); d != "" {
		t.Error(d)
	}
	if !strings.Contains(string(out.Source), `"on_error": "replan"`) {
		t.Errorf("the tail cannot be planned anew: %s", out.Source)
	}
	question := s.heard[0].Messages[len(s.heard[0].Messages)-1].Text
	want := "Create SEO-optimized post about TypeScript with summary\n\n" +
		"A plan for this is under way and cannot go on as it was made.\n\nDone already:\n- a: {\"text\":\"hello\"}\n\n" +
		"Failed: go on: it broke\n\nNot begun:\n- end\n\n" +
		"Plan only what is left to do, another way than the one that failed. Your steps see the results of what is done: repeat none of it."
	if d := cmp.Diff(want, question); d != "" {
		t.Error(d)
	}
	// A non-idempotent agent that the configuration accepts needs no approval.
	if out, err = replanner(t, &scriptedReply{answers: []string{two}}, "docs").Replan(t.Context(),
		asked(t, sequence, "b", "a")); err != nil ||
		len(out.Unsafe) != 0 {
		t.Errorf("%v %v", out.Unsafe, err)
	}
	parallel := &planner.StepPlan{
		ID: "p",
		Steps: []planner.Step{
			{ID: "a", Order: 1, AgentID: "billing", Task: "begin"},
			{ID: "b", Order: 2, AgentID: "docs", Task: "go on", Dependencies: []string{"a"}},
		},
	}
	out, err = replanner(t, &scriptedReply{answers: []string{two}}).Replan(t.Context(), asked(t, parallel, "b", "a"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a billing", "step-3 billing after a", "step-4 docs after step-3"}, lines(t, out.Source)); d != "" {
		t.Error(d)
	}
	direct := `{"requiresMultiStep": false, "directAgentId": "billing", "reasoning": "enough"}`
	out, err = replanner(t, &scriptedReply{answers: []string{direct}}).Replan(t.Context(), asked(t, sequence, "b", "a"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a billing", "step-4 billing"}, lines(t, out.Source)); d != "" {
		t.Error(d)
	}
	secret := strings.Replace(two, "first the bills", "say ${secret.KEY}", 1)
	if _, err := replanner(t, &scriptedReply{answers: []string{secret}}).Replan(t.Context(), asked(t, sequence, "b", "a")); err == nil ||
		!strings.Contains(err.Error(), "cannot use exec or secrets") {
		t.Errorf("a tail uses a secret: %v", err)
	}
}

// A graph keeps its structure. The failed node becomes a task of an agent.
func TestReplanOfAGraph(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]string{
		"an agent":            `"type": "agent", "agent": "docs", "input": "look"`,
		"a block":             `"do": {"nodes": {"b1": {"type": "set", "input": 1}}}, "input": 1`,
		"a computed sub-plan": `"type": "plan", "plan": "p-${input.x}", "plans": ["p-1"]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replanOfAGraph(t, call)
		})
	}
}

func replanOfAGraph(t *testing.T, call string) {
	t.Helper()
	src := `{"id": "g", "nodes": {"a": {"type": "set", "input": 1}, "b": {` + call + `, "on_error": "replan"}, "c": {"type": "set"}}, ` +
		`"edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}]}`
	r := domain.ReplanRequest{
		Run:     domain.Run{Input: domain.RawJSON(`{"x": 1}`)},
		Version: domain.Version{Source: []byte(src), Format: "json"},
		Node:    "b",
	}
	one := `{"summary": "Do it another way", "requiresMultiStep": true, "steps": [{"agentId": "billing", "task": "look into ` +
		`the bills"}], "reasoning": "why not"}`
	out, err := replanner(t, &scriptedReply{answers: []string{one}}).Replan(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Nodes map[string]map[string]any
		Edges []any
	}
	if err := json.Unmarshal(out.Source, &doc); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"type":     "agent",
		"agent":    "billing",
		"input":    "look into the bills\n\nWhat came before:\n${last}",
		"on_error": "replan",
	}
	if d := cmp.Diff(want, doc.Nodes["b"]); d != "" || len(doc.Edges) != 2 || len(doc.Nodes) != 3 {
		t.Errorf("%s\n%s", d, out.Source)
	}
	if _, err := replanner(t, nil).Replan(t.Context(), r); err == nil {
		t.Error("a graph is planned anew without a model")
	}
}
