package handler

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/model"
	"github.com/kairosd/kairosd/planner/walk"
)

// defaultAnswer is the maximum length of an answer, in tokens, for an agent without max_tokens in a
// run with a limit of tokens or cost. Every model supports this length.
const defaultAnswer = 4096

// Bound reports the expected usage of a model call to the engine. It implements
// [conversation.Bounder].
func (j journal) Bound(n int, r *llm.Request) {
	if j.call.Expect == nil {
		return
	}
	most := int64(cmp.Or(r.MaxTokens, defaultAnswer))
	need := engine.ExpectedUsage{Input: model.EstimateInput(*r), Output: most, OnLimit: func(output int64) {
		r.MaxTokens = int(output)
		if output < most {
			j.lowered.note(n)
		}
	}}
	price, known := j.m.price(j.provider, r.Model)
	if !known {
		need.Unpriced = fmt.Sprintf("providers.%s.prices.%s", j.provider, cmp.Or(r.Model, j.m.about[j.provider].Model, "MODEL"))
	}
	need.InputPrice, need.OutputPrice = price.Input/1e6, price.Output/1e6
	j.call.Expect(n, need)
}

// price returns the price of a model. If neither the call nor the configuration names a model, it
// returns the highest price of the provider.
func (m *Models) price(of, model string) (price model.Price, known bool) {
	prices := m.prices[of]
	if model = cmp.Or(model, m.about[of].Model); model != "" {
		price, known = prices[model]
		return price, known
	}
	for _, p := range prices {
		price.Input, price.Output, known = max(price.Input, p.Input), max(price.Output, p.Output), true
	}
	return price, known
}

// lowered records the calls whose answer a limit of the run shortens below the agent's own maximum.
type lowered struct {
	mu sync.Mutex
	of map[int]bool
}

func (l *lowered) note(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of[n] = true
}

// explain replaces the error of an answer that was cut because of a limit of the run. Such an error
// is not the agent's fault.
func (l *lowered) explain(n int, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := walk.AsFailure(err); l.of[n] && f.Code == model.CodeMaxTokens {
		return errTooFew
	}
	return err
}

// errTooFew ends an attempt whose answer was cut because of a limit of the run.
var errTooFew = engine.BudgetError(domain.Messagef("the limits of the run leave too few tokens for the response"))

// spends reports whether a failed model call may have used tokens.
func spends(err error) bool {
	f := walk.AsFailure(err)
	switch f.Code {
	case model.CodeMaxTokens, model.CodeTruncated, model.CodeRefused:
		return true
	}
	return !f.NoEffect
}
