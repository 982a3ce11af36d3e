package handler_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// counted passes calls to a model and records the requested models.
type counted struct {
	*scriptedModel
	mu     sync.Mutex
	models []string
}

func (m *counted) Complete(ctx context.Context, r llm.Request) (llm.Response, error) {
	m.mu.Lock()
	m.models = append(m.models, r.Model)
	m.mu.Unlock()
	out, err := m.scriptedModel.Complete(ctx, r)
	out.Model = r.Model
	return out, err
}

// From the degrade line of a budget on, calls of a conversation go to the cheaper provider and model. The row of
// each names the budget, and the answer the model.
func TestABudgetSendsCallsToACheaperModel(t *testing.T) {
	t.Parallel()
	big, small := &counted{scriptedModel: &scriptedModel{}}, &counted{scriptedModel: &scriptedModel{}}
	s := storetest.Open(t)
	if _, _, err := s.Do(store.Operation{Name: "budget", By: domain.System, At: time.Now()}, func(tx *store.Tx) (string, error) {
		return "", tx.Budgets().Create(domain.Budget{ID: domain.NewID(), Key: "team",
			BudgetSpec: domain.BudgetSpec{Scope: "provider:script",
				Period: "day", Zone: "UTC", Unit: "tokens", Degrade: 4000, DegradeTo: "small/tiny"}}, nil)
	}); err != nil {
		t.Fatal(err)
	}
	e := openEngineWith(t, s, map[string]llm.Provider{"script": big, "small": small},
		handler.Agent{ID: "talker", Model: "huge", Tools: []string{"calculator"}})
	h := agentFixture{e, s}
	run := h.run(t, "nodes: {ask: {type: agent, agent: talker}}", "ana", "", "hello")
	if err := e.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if run.Status != domain.RunCompleted || strings.Join(big.models, " ") != "huge huge" || strings.Join(small.models,
		" ") != "tiny tiny tiny" {
		t.Fatalf("%s %s: %v, then %v", run.Status, run.Headline, big.models, small.models)
	}
	rows, err := s.Journal(t.Context(), run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	degraded := 0
	for _, row := range rows {
		if strings.Contains(row.Reason, "budget team sent the call to small/tiny") {
			degraded++
		}
	}
	b, err := s.Budget(t.Context(), "team")
	if err != nil || degraded != 3 || b.Window.Used != 4000 || b.Window.DegradeAt.IsZero() {
		t.Errorf("%d degraded rows; window %+v, %v", degraded, b.Window, err)
	}
}
