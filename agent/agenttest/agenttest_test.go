package agenttest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kairosd/kairosd/agent"
	"github.com/kairosd/kairosd/agent/agenttest"
	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/planner/walk"
)

// This test of an agent looks something up and then answers.
func TestAnAgentIsTestedWithoutAModel(t *testing.T) {
	t.Parallel()
	weather := agenttest.NewTool("weather", func(args map[string]any) (any, error) { return fmt.Sprintf("rain in %v", args["city"]), nil })
	model := agenttest.NewProvider(t,
		agenttest.Calling("weather", map[string]any{"city": "Oslo"}),
		agenttest.Reply{When: "rain", Text: "Take an umbrella."})
	memory := &agenttest.Memory{}
	a, err := agent.New("helper", model, agent.WithTools(weather), agent.WithMemory(memory), agent.WithSystemPrompt("Help."))
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.Run(t.Context(), "What do I need in Oslo?")
	if err != nil || out != "Take an umbrella." {
		t.Fatalf("%q %v", out, err)
	}
	if d := cmp.Diff([]map[string]any{{"city": "Oslo"}}, weather.Calls()); d != "" {
		t.Error(d)
	}
	if r := model.Requests(); len(r) != 2 || len(r[0].Messages) != 2 || r[0].Messages[0].Role != llm.RoleSystem ||
		r[0].Tools[0].Name != "weather" {
		t.Errorf("requests %+v", r)
	}
	if d := cmp.Diff([][2]string{{"What do I need in Oslo?", "Take an umbrella."}}, memory.Pairs); d != "" {
		t.Error(d)
	}
}

// report records the errors that a test would report.
type report struct {
	errors   []string
	cleanups []func()
}

func (r *report) Helper() {}
func (r *report) Errorf(format string, a ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, a...))
}
func (r *report) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

// A missing reply fails the conversation with an error that shows the request. A reply that is left
// fails the test.
func TestEveryReplyIsUsed(t *testing.T) {
	t.Parallel()
	var r report
	model := agenttest.NewProvider(
		&r,
		agenttest.Reply{When: "never", JSON: map[string]any{"a": 1}},
		agenttest.Reply{Err: errors.New("out of order")},
	)
	a, err := agent.New("helper", model)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Run(t.Context(), "hello"); err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("the reply's own error: %v", err)
	}
	if _, err := a.Run(t.Context(), "hello again"); walk.AsFailure(err).Code != "no_reply" ||
		!strings.Contains(err.Error(), "hello again") {
		t.Errorf("no reply: %v", err)
	}
	for _, f := range r.cleanups {
		f()
	}
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "map[a:1]") {
		t.Errorf("told %q", r.errors)
	}
}
