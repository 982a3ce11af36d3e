package handler

import (
	"cmp"
	"fmt"
	"strings"
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
	need := engine.ExpectedUsage{Input: model.EstimateInput(*r), Output: most, Agent: j.agent, OnLimit: func(output int64) {
		r.MaxTokens = int(output)
		if output < most {
			j.lowered.note(n)
		}
	}}
	need.Cheaper = func(to string) (engine.ExpectedUsage, bool) {
		provider, name, _ := strings.Cut(to, "/")
		if !j.m.HasProvider(provider) {
			return need, false
		}
		cheaper := need
		j.m.setPrice(&cheaper, provider, name)
		cheaper.Degrade = func() {
			r.Model = name
			j.routes.set(n, provider)
			if j.call.RecordUse != nil {
				j.call.RecordUse(domain.UseProvider, provider)
			}
		}
		return cheaper, true
	}
	j.m.setPrice(&need, j.provider, r.Model)
	j.call.Expect(n, need)
}

// Route returns the provider to which a budget sent the call of step n, or nil. It implements
// [conversation.Router].
func (j journal) Route(n int) llm.Provider {
	name := j.routes.get(n)
	if name == "" {
		return nil
	}
	p, _ := j.m.Provider(name)
	return p
}

// routes are the providers to which budgets sent calls.
type routes struct {
	mu sync.Mutex
	of map[int]string
}

func (r *routes) set(n int, provider string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of[n] = provider
}

func (r *routes) get(n int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[n]
}

// setPrice sets the provider and the prices of a call.
func (m *Models) setPrice(need *engine.ExpectedUsage, provider, name string) {
	price, known := m.price(provider, name)
	need.Provider, need.Unpriced = provider, ""
	if !known {
		need.Unpriced = fmt.Sprintf("providers.%s.prices.%s", provider, cmp.Or(name, m.about[provider].Model, "MODEL"))
	}
	need.InputPrice, need.OutputPrice = price.Input/1e6, price.Output/1e6
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
