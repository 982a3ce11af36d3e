package handler_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/model"
)

// scriptedModel is a model with five turns. Each turn uses 2,000 tokens, regardless of its maximum.
type scriptedModel struct {
	calls      atomic.Int32
	caps       [8]atomic.Int64
	model      string
	unreported bool
}

func (m *scriptedModel) Complete(_ context.Context, r llm.Request) (llm.Response, error) {
	n := m.calls.Add(1)
	m.caps[min(n, 7)].Store(int64(r.MaxTokens))
	turn := 1
	for _, message := range r.Messages {
		if message.Role == llm.RoleAssistant {
			turn++
		}
	}
	out := llm.Response{Model: m.model, Usage: llm.Usage{InputTokens: 1000, OutputTokens: 1000, Estimated: m.unreported}}
	if turn == 5 {
		out.Text = "five turns"
		return out, nil
	}
	out.Calls = []llm.Call{{ID: fmt.Sprint(turn), Tool: "calculator", Arguments: fmt.Sprintf(`{"expression":"%d+1"}`, turn)}}
	return out, nil
}

const talking = "limits: {%s}\nnodes: {ask: {type: agent, agent: talker, retry: {max_attempts: 3, backoff: [1ms]}}}"

func raise(t *testing.T, h agentFixture, run string, l domain.Limits) domain.Run {
	t.Helper()
	who := domain.Actor{Name: "ana", Role: domain.RoleAuthor, Source: "cli"}
	if _, err := h.engine.Act(t.Context(), who, domain.ActionRequest{Run: run, Action: domain.ActionLimits, Raise: l}); err != nil {
		t.Fatal(err)
	}
	return settled(t, h.engine, run)
}

// An agent with five turns of 2,000 tokens and max_tokens: 1500 makes at most one call. After the
// limit is raised, it continues its conversation.
func TestAnAgentStopsAtItsTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ limit, again string }{{"max_tokens: 1500", "tokens"}, {"max_cost: 2000", "cost"}} {
		m := &scriptedModel{model: "scripted"}
		h := newAgentFixture(t, m, handler.Agent{ID: "talker", Tools: []string{"calculator"}})
		run := h.run(t, fmt.Sprintf(talking, c.limit), "ana", "", "hello")
		if run.WaitReason != domain.WaitBudget || m.calls.Load() != 1 || run.Usage.InputTokens != 1000 {
			t.Fatalf("%s: %s %s after %d calls, usage %+v", c.limit, run.Status, run.Headline, m.calls.Load(), run.Usage)
		}
		if most := m.caps[1].Load(); most <= 0 || most >= 1500 {
			t.Errorf("%s: the answer was bounded by %d", c.limit, most)
		}
		run = raise(
			t,
			h,
			run.ID,
			domain.Limits{MaxTokens: 100_000 * min(run.Limits.MaxTokens, 1), MaxCost: 1e6 * min(run.Limits.MaxCost, 1)},
		)
		if run.Status != domain.RunCompleted || m.calls.Load() != 5 || run.Usage.InputTokens != 5000 || run.Usage.Cost != 15_000 {
			t.Errorf("%s: %s %s after %d calls, usage %+v", c.limit, run.Status, run.Headline, m.calls.Load(), run.Usage)
		}
	}
}

// A call whose server does not report its usage counts with the reserved amount.
func TestACallWithoutUsageCountsInFull(t *testing.T) {
	t.Parallel()
	m := &scriptedModel{model: "scripted", unreported: true}
	h := newAgentFixture(t, m, handler.Agent{ID: "talker", Tools: []string{"calculator"}, MaxTokens: 3000})
	run := h.run(t, fmt.Sprintf(talking, "max_tokens: 4000"), "ana", "", "hello")
	if used := run.Usage.InputTokens + run.Usage.OutputTokens; run.WaitReason != domain.WaitBudget || used != 4000 ||
		run.Usage.OutputTokens <= 3000 {
		t.Errorf("%s %s after %d calls, usage %+v", run.Status, run.Headline, m.calls.Load(), run.Usage)
	}
	if m.caps[1].Load() != 3000 || m.caps[2].Load() >= 1000 || m.calls.Load() != 2 {
		t.Errorf("answers bounded by %d, then %d", m.caps[1].Load(), m.caps[2].Load())
	}
}

// cut is a model whose answer needs at least 2,000 tokens.
type cut struct{ calls atomic.Int32 }

func (m *cut) Complete(_ context.Context, r llm.Request) (llm.Response, error) {
	m.calls.Add(1)
	if r.MaxTokens > 0 && r.MaxTokens < 2000 {
		return llm.Response{
				Model: "scripted",
				Usage: llm.Usage{InputTokens: 100, OutputTokens: int64(r.MaxTokens)},
			}, model.Stopped(
				"script",
				"length",
			)
	}
	return llm.Response{Model: "scripted", Text: "long", Usage: llm.Usage{InputTokens: 100, OutputTokens: 2000}}, nil
}

// An answer that a limit of the run cut is not a failure of the step.
func TestAnAnswerCutByALimitIsNotAFailure(t *testing.T) {
	t.Parallel()
	m := &cut{}
	h := newAgentFixture(t, m, handler.Agent{ID: "talker"})
	run := h.run(t, fmt.Sprintf(talking, "max_tokens: 1000"), "ana", "", "hello")
	if run.WaitReason != domain.WaitBudget || m.calls.Load() != 1 || run.Usage.OutputTokens < 900 {
		t.Fatalf("%s %s after %d calls, usage %+v", run.Status, run.Headline, m.calls.Load(), run.Usage)
	}
	if run = raise(t, h, run.ID, domain.Limits{MaxTokens: 9000}); run.Status != domain.RunCompleted || m.calls.Load() != 2 {
		t.Errorf("%s %s after %d calls", run.Status, run.Headline, m.calls.Load())
	}
}

// If the model has no price, a cost limit stops the run before its first call.
func TestALimitOfCostNeedsAPrice(t *testing.T) {
	t.Parallel()
	m := &scriptedModel{}
	s := newAgentFixture(t, m, handler.Agent{ID: "talker", Model: "other", Tools: []string{"calculator"}})
	run := s.run(t, fmt.Sprintf(talking, "max_cost: 5"), "ana", "", "hello")
	if run.WaitReason != domain.WaitBudget || m.calls.Load() != 0 || !strings.Contains(run.Headline, "providers.script.prices.other") {
		t.Errorf("%s %s %s after %d calls", run.Status, run.WaitReason, run.Headline, m.calls.Load())
	}
}
