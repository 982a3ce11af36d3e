package domain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// AgentInfo describes an agent to people.
type AgentInfo struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Description  string   `json:"description,omitempty"`
	Icon         string   `json:"icon,omitempty"`
	Color        string   `json:"color,omitempty"`
	Capabilities []string `json:"capabilities"`
	Provider     string   `json:"provider"` // empty: the agent is on another server
	// A2A is the address of the other server, which kairosd calls with the Agent2Agent protocol.
	A2A          string   `json:"a2a,omitempty"`
	Model        string   `json:"model,omitempty"` // empty means the provider's default
	Tools        []string `json:"tools"`
	SystemPrompt string   `json:"systemPrompt,omitempty"`
	// Default marks the agent that is used if none is named. Selectable agents may be chosen by
	// planners. System agents are part of kairosd.
	Default    bool `json:"default"`
	Selectable bool `json:"selectable"`
	System     bool `json:"system"`

	Activity Activity `json:"activity"`
}

// Version returns a hash of the agent's definition. It does not depend on the agent's state.
func (a AgentInfo) Version() string {
	a.Activity = Activity{}
	b, err := json.Marshal(a)
	if err != nil { // the fields are strings and booleans
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}

// ProviderInfo describes a provider to people, without its key.
type ProviderInfo struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Model   string `json:"model,omitempty"`
	BaseURL string `json:"baseUrl,omitempty"`
	Default bool   `json:"default"`
	// State is the result of the last call. It survives a restart, like LastError.
	State string `json:"status" enum:"unused,working,failing"`
	// Circuit is the state of the circuit breaker, and Breaker its settings.
	Circuit Circuit `json:"circuit"`
	Breaker Breaker `json:"breaker"`
	// Models are the models that plans may name. Empty means any.
	Models []string `json:"models,omitempty"`
	// Priced are the models with a price in the configuration.
	Priced      []string  `json:"pricedModels,omitempty" doc:"Models with a price in the configuration."`
	Calls       int64     `json:"calls"` // since the start, including failures
	Failures    int64     `json:"failures"`
	Usage       Usage     `json:"usage"`
	LastCallAt  time.Time `json:"lastCallAt,omitzero"`
	LastError   string    `json:"lastError,omitempty"` // of the last failure, also after successful calls
	LastErrorAt time.Time `json:"lastErrorAt,omitzero"`
	// FailingSince is the time of the first failure since the last successful call. It is zero if
	// the last call succeeded.
	FailingSince time.Time `json:"failingAt,omitzero"`

	Activity Activity `json:"activity"`
	// Limits are the rate limits that the provider reported with its last response.
	Limits []ProviderLimit `json:"limits,omitempty"`
	// Key describes the source of the key. Nil means that the provider is called without a key.
	Key *KeyInfo `json:"key,omitempty"`
	// Disabled is set if a person disabled the provider.
	Disabled *Disablement `json:"disabled,omitempty"`
}

// ProviderLimit is a rate limit of a provider, and how much of it is left.
type ProviderLimit struct {
	Of        string    `json:"of" doc:"requests, tokens, input tokens or output tokens"`
	Limit     int64     `json:"limit"`
	Remaining int64     `json:"remaining"`
	ResetAt   time.Time `json:"resetAt,omitzero" doc:"Time at which the limit is reset."`
	At        time.Time `json:"observedAt" doc:"Time at which the provider reported it."`
}

// KeyInfo describes the source of a key, without the key.
type KeyInfo struct {
	Source string `json:"source"`
	Set    bool   `json:"set" doc:"Whether the key is not empty."`
	// ChangedAt is the modification time of the file. It is zero for an environment variable.
	ChangedAt time.Time `json:"changedAt,omitzero"`
}

// Refuses reports whether calls fail without an attempt.
func (p ProviderInfo) Refuses() bool { return p.Circuit.Refuses() || p.Disabled != nil }

// Degraded reports whether calls fail, or are refused because earlier calls failed.
func (p ProviderInfo) Degraded() bool {
	return p.State == "failing" || p.Circuit.Disturbed()
}

// DegradedSince returns the time at which the provider became degraded, or zero if it is not.
func (p ProviderInfo) DegradedSince() time.Time {
	since := p.FailingSince
	if p.Circuit.Disturbed() && (since.IsZero() || p.Circuit.Since.Before(since)) {
		since = p.Circuit.Since
	}
	return since
}

// Trouble reports whether calls fail or are refused.
func (p ProviderInfo) Trouble() bool { return p.Degraded() || p.Disabled != nil }

// Conversation holds the messages and handoffs between the agents of a run.
type Conversation struct {
	Messages []AgentMessage `json:"messages"`
	Handoffs []Handoff      `json:"handoffs"`
}
