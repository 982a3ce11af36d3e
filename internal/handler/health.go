package handler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/metric/activity"
	"github.com/kairosd/kairosd/internal/model"
	"github.com/kairosd/kairosd/planner/walk"
)

// Health contains the results of calls to providers, by name of the provider. It survives a change
// of the configuration: the new models continue with it ([Models.Succeed]), and so do calls that
// are active during the change. It is safe for concurrent use.
type Health struct {
	mu      sync.Mutex
	of      map[string]*health
	log     *slog.Logger
	learned chan struct{} // nil: nothing is stored
}

// health contains the results of calls to one provider.
type health struct {
	info domain.ProviderInfo // Type and BaseURL describe the provider of the last call
	// changed is true if a new state or error must be stored immediately; used is true if there
	// were calls since the last save.
	changed, used bool
}

// at returns the health of a provider. The caller holds h.mu.
func (h *Health) at(name string) *health {
	known := h.of[name]
	if known == nil {
		known = &health{info: domain.ProviderInfo{Name: name, State: "unused"}}
		h.of[name] = known
	}
	return known
}

// Settings stores values under keys, durably.
type Settings interface {
	Setting(ctx context.Context, key string) (string, error)
	SetSetting(ctx context.Context, key, value string) error
}

// kept is the stored health of a provider. Its circuit is stored with the other circuits.
type kept struct {
	Type        string    `json:"type"`
	BaseURL     string    `json:"baseUrl"`
	State       string    `json:"state"`
	LastCallAt  time.Time `json:"lastCallAt"`
	LastError   string    `json:"lastError,omitempty"`
	LastErrorAt time.Time `json:"lastErrorAt,omitzero"`
	// FailingSince is missing in records of older versions of kairosd.
	FailingSince time.Time `json:"failingAt,omitzero"`
}

const providerKey = "provider."

// keepEvery is the minimum time between two saves, so that a provider that fails under load does
// not cause a write per call.
const keepEvery = time.Second

// Keep loads the stored health of the providers, and stores changes until close is called. The
// circuits must be loaded before.
func (m *Models) Keep(ctx context.Context, s Settings, log *slog.Logger) (closeKeeper func(), err error) {
	if err := m.restore(ctx, s); err != nil {
		return nil, err
	}
	h := m.health
	learned := make(chan struct{}, 1)
	h.mu.Lock()
	h.log, h.learned = log, learned
	h.mu.Unlock()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-learned:
			}
			h.save(ctx, s, false)
			select {
			case <-ctx.Done():
				return
			case <-time.After(keepEvery):
			}
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		h.save(context.WithoutCancel(ctx), s, true)
	}), nil
}

func (m *Models) restore(ctx context.Context, s Settings) error {
	m.health.mu.Lock()
	defer m.health.mu.Unlock()
	for name, about := range m.about {
		text, err := s.Setting(ctx, providerKey+name)
		if err != nil {
			return fmt.Errorf("the state of provider %s: %w", name, err)
		}
		var k kept
		if text == "" || json.Unmarshal([]byte(text), &k) != nil {
			continue // there is no readable record; later calls create it
		}
		i := &m.health.at(name).info
		i.State, i.LastCallAt, i.LastError, i.LastErrorAt, i.FailingSince = k.State, k.LastCallAt, k.LastError, k.LastErrorAt,
			k.FailingSince
		if i.State == "failing" && i.FailingSince.IsZero() {
			i.FailingSince = i.LastErrorAt
		}
		if k.Type != about.Type || k.BaseURL != about.BaseURL { // the name now belongs to another server
			m.circuits.Forget(circuitOf(name))
		}
	}
	return nil
}

// Succeed takes over the health of the previous models. Call it before the new models are used, and
// Succeeded afterwards.
func (m *Models) Succeed(before *Models) { m.health = before.health }

// Succeeded removes the circuits of providers whose server changed since the previous models.
func (m *Models) Succeeded(before *Models) {
	for name, about := range m.about {
		if was, known := before.about[name]; known && (was.Type != about.Type || was.BaseURL != about.BaseURL) {
			m.circuits.Forget(circuitOf(name))
		}
	}
}

// save stores the health that changed, or, if all is true, the health of every provider that was
// used.
func (h *Health) save(ctx context.Context, s Settings, all bool) {
	h.mu.Lock()
	values := map[string]string{}
	for name, known := range h.of {
		if !known.changed && !(all && known.used) {
			continue
		}
		i := known.info
		raw, err := json.Marshal(
			kept{
				Type:         i.Type,
				BaseURL:      i.BaseURL,
				State:        i.State,
				LastCallAt:   i.LastCallAt,
				LastError:    i.LastError,
				LastErrorAt:  i.LastErrorAt,
				FailingSince: i.FailingSince,
			},
		)
		if err != nil {
			continue // cannot happen: the record contains only strings and times
		}
		known.changed, known.used, values[name] = false, false, string(raw)
	}
	log := h.log
	h.mu.Unlock()
	for name, v := range values {
		if err := s.SetSetting(ctx, providerKey+name, v); err != nil && log != nil {
			log.Warn("what is known of a provider was not kept", "provider", name, "err", err)
		}
	}
}

// ProviderInfos describes the providers to people, sorted by name. It includes the results of their
// calls.
func (m *Models) ProviderInfos() []domain.ProviderInfo {
	m.health.mu.Lock()
	defer m.health.mu.Unlock()
	out := make([]domain.ProviderInfo, 0, len(m.about))
	for _, about := range m.about {
		out = append(out, m.infoOf(about))
	}
	slices.SortFunc(out, func(a, b domain.ProviderInfo) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// infoOf combines the configuration of a provider with the results of its calls.
func (m *Models) infoOf(i domain.ProviderInfo) domain.ProviderInfo {
	went := m.health.at(i.Name).info
	i.State, i.LastCallAt, i.LastError, i.LastErrorAt, i.FailingSince = went.State, went.LastCallAt, went.LastError,
		went.LastErrorAt, went.FailingSince
	i.Calls, i.Failures, i.Usage, i.Limits = went.Calls, went.Failures, went.Usage, slices.Clone(went.Limits)
	s := m.breaking[i.Name].WithDefaults()
	i.Circuit, i.Breaker = m.circuits.Circuit(circuitOf(i.Name)), domain.Breaker{Failures: s.Failures, Cooldown: domain.Millis(s.Cooldown)}
	i.Models = slices.Sorted(maps.Keys(m.allowed[i.Name]))
	i.Priced = slices.Sorted(maps.Keys(m.prices[i.Name]))
	i.Activity = m.calls.Of(activity.Provider + i.Name)
	if by, ok := m.calls.Disabled(activity.Provider + i.Name); ok {
		i.Disabled = &by
	}
	return i
}

// counted is a provider whose calls are priced and counted. It makes no calls while the provider is
// disabled or its circuit is open.
type counted struct {
	m    *Models
	name string
	llm.Provider
}

// minTimeout is the minimum duration of a call whose timeout counts against the provider. A shorter
// timeout is the node's choice.
const minTimeout = 10 * time.Second

func (c counted) Complete(ctx context.Context, r llm.Request) (out llm.Response, err error) {
	m := c.m
	began := time.Now()
	if by, ok := m.calls.Disabled(activity.Provider + c.name); ok {
		return out, disabled(c.name, by)
	}
	pass, refusal := m.circuits.Enter(circuitOf(c.name), m.breaking[c.name])
	if refusal != nil {
		return out, refusal.Failure(model.CodeCircuitOpen, "the provider "+c.name)
	}
	finished := false
	defer func() { // runs also if the provider panics
		verdict := err
		switch {
		case !finished || ctx.Err() == context.Canceled:
			verdict = context.Canceled // the caller cancelled the call, which shows nothing about the provider
		case err != nil && ctx.Err() != nil && time.Since(began) < minTimeout:
			verdict = context.Canceled
		case err != nil && ctx.Err() != nil:
			verdict = context.DeadlineExceeded
		}
		m.circuits.Leave(pass, model.Judge(verdict), err)
		c.left(out, verdict, err)
		m.calls.Ended(ctx, activity.Provider+c.name, activity.Call{Took: time.Since(began), Err: errorFor(verdict, err),
			Usage: domain.Usage{InputTokens: out.Usage.InputTokens, OutputTokens: out.Usage.OutputTokens, Cost: out.Usage.Cost}})
	}()
	out, err = c.Provider.Complete(model.WithLimits(ctx, func(l []model.Limit) { m.health.limited(c.name, l) }), r)
	price, ok := m.prices[c.name][out.Model]
	if !ok { // a server may return another name for its model
		price, _ = m.price(c.name, r.Model)
	}
	out.Usage.Cost = price.Cost(out.Usage)
	finished = true
	return out, err
}

// errorFor returns the error that counts for the health of a provider: err, or context.Canceled if
// the call shows nothing about the provider.
func errorFor(verdict, err error) error {
	if verdict == context.Canceled {
		return verdict
	}
	return err
}

// CodeDisabled is the error code of a call to a provider that an operator disabled.
const CodeDisabled = "provider_disabled"

func disabled(name string, by domain.Disablement) *walk.Failure {
	f := &walk.Failure{Code: CodeDisabled, NoEffect: true, RetryAfter: model.MaxRetryAfter,
		Suggestion: "enable it on its page or with kairos providers enable " + name + ", then resume the run"}
	if by.Reason != "" {
		return f.WithMessage("the provider %s is disabled since %s by %s: %s", name, by.Since, by.By, by.Reason)
	}
	return f.WithMessage("the provider %s is disabled since %s by %s", name, by.Since, by.By)
}

// limited stores the rate limits that a provider reported with its last answer.
func (h *Health) limited(name string, list []model.Limit) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	h.mu.Lock()
	defer h.mu.Unlock()
	i := &h.at(name).info
	i.Limits = i.Limits[:0:0]
	for _, l := range list {
		i.Limits = append(i.Limits, domain.ProviderLimit{Of: l.Of, Limit: l.Limit, Remaining: l.Remaining, ResetAt: l.Reset, At: now})
	}
}

// Watch records every following call of agents and providers. It rejects calls to providers that an
// operator disabled or whose circuit is open. Call it before the models are used.
func (m *Models) Watch(calls *activity.Log, circuits *circuit.Board) {
	m.calls, m.circuits = calls, circuits
}

// circuitOf returns the ID of a provider's circuit.
func circuitOf(name string) circuit.ID { return circuit.ID{Subject: activity.Provider + name} }

// noted runs a node and records the activity of its agent.
type noted struct {
	m *Models
	engine.Handler
}

func (n noted) Handle(ctx context.Context, call *engine.Call) (engine.Result, error) {
	began := time.Now()
	ctx = activity.In(ctx, call.RunID, call.Node.ID)
	out, err := n.Handler.Handle(ctx, call)
	who := out.Agent
	if who == "" {
		a, unknown := n.m.named(call.Node)
		if unknown != nil {
			return out, err
		}
		who = a.ID
	}
	if !errors.Is(err, engine.ErrApprovalPending) && !errors.Is(err, engine.ErrBudget) { // the node waits, and is called again
		n.m.calls.Ended(ctx, activity.Agent+who, activity.Call{Took: time.Since(began), Err: err, Usage: out.Usage})
	}
	return out, err
}

// left records the result of a call.
func (c counted) left(out llm.Response, verdict, err error) {
	h, about := c.m.health, c.m.about[c.name]
	h.mu.Lock()
	known := h.at(c.name)
	i := &known.info
	i.Type, i.BaseURL = about.Type, about.BaseURL
	was := i.State
	i.Calls++
	i.LastCallAt = time.Now().UTC().Truncate(time.Millisecond)
	i.Usage = i.Usage.Add(domain.Usage{InputTokens: out.Usage.InputTokens, OutputTokens: out.Usage.OutputTokens, Cost: out.Usage.Cost})
	switch {
	case verdict == nil:
		i.State, i.FailingSince = "working", time.Time{}
	case verdict == context.Canceled:
		if i.State == "unused" {
			i.State = "working"
		}
	default:
		i.Failures++
		if was != "failing" {
			i.FailingSince = i.LastCallAt
		}
		i.LastError, i.LastErrorAt, i.State = err.Error(), i.LastCallAt, "failing"
	}
	known.used = true
	known.changed = known.changed || i.State == "failing" || i.State != was
	learned, worth := h.learned, known.changed
	h.mu.Unlock()
	if worth && learned != nil {
		select {
		case learned <- struct{}{}:
		default: // a signal is already pending
		}
	}
}
