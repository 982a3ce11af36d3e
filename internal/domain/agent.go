package domain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// AgentInfo is what people see of an agent.
type AgentInfo struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Description  string   `json:"description,omitempty"`
	Icon         string   `json:"icon,omitempty"`
	Color        string   `json:"color,omitempty"`
	Capabilities []string `json:"capabilities"`
	Provider     string   `json:"provider"`
	Model        string   `json:"model,omitempty"` // empty: the provider's own
	Tools        []string `json:"tools"`
	SystemPrompt string   `json:"systemPrompt,omitempty"`
	// Default is the one that answers where none is named; Selectable ones may be
	// chosen by planners; System ones are part of kairosd.
	Default    bool `json:"default"`
	Selectable bool `json:"selectable"`
	System     bool `json:"system"`

	Activity Activity `json:"activity"`
}

// Version names what an agent is: whatever changes of its card changes it. Its state
// is not part of it.
func (a AgentInfo) Version() string {
	a.Activity = Activity{}
	b, err := json.Marshal(a)
	if err != nil { // strings and booleans
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}

// ProviderInfo is what people see of a provider: never its key.
type ProviderInfo struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Model   string `json:"model,omitempty"`
	BaseURL string `json:"baseUrl,omitempty"`
	Default bool   `json:"default"`
	// State is unused, working or failing, by the last call; a restart does not
	// forget it, nor the last error.
	State string `json:"status" enum:"unused,working,failing"`
	// Circuit reports whether calls are made, Breaker when it opens automatically.
	Circuit Circuit `json:"circuit"`
	Breaker Breaker `json:"breaker"`
	// Models are those that plans may name; empty: any.
	Models      []string  `json:"models,omitempty"`
	Calls       int64     `json:"calls"` // since the start, failures included
	Failures    int64     `json:"failures"`
	Usage       Usage     `json:"usage"`
	LastCallAt  time.Time `json:"lastCallAt,omitzero"`
	LastError   string    `json:"lastError,omitempty"` // kept when later calls succeed
	LastErrorAt time.Time `json:"lastErrorAt,omitzero"`
	// FailingSince is when the first of the calls failed that all failed since; zero:
	// the last one did not.
	FailingSince time.Time `json:"failingSince,omitzero"`

	Activity Activity `json:"activity"`
	// Limits are what the provider said of its own limits in its last answer.
	Limits []ProviderLimit `json:"limits,omitempty"`
	// Key states where its key comes from; nil: it is called without one.
	Key *KeyInfo `json:"key,omitempty"`
	// Disabled states who has disabled it, since when, and why; nil: it is enabled.
	Disabled *Stop `json:"disabled,omitempty"`
}

// ProviderLimit is how much of something a provider lets one have, and how much of
// it is left.
type ProviderLimit struct {
	Of        string    `json:"of" doc:"requests, tokens, input tokens or output tokens"`
	Limit     int64     `json:"limit"`
	Remaining int64     `json:"remaining"`
	ResetAt   time.Time `json:"resetAt,omitzero" doc:"When all of it is there again."`
	At        time.Time `json:"observedAt" doc:"When the provider said so."`
}

// KeyInfo is where a key comes from: never the key.
type KeyInfo struct {
	Source string `json:"source"`
	Set    bool   `json:"set" doc:"It is not empty."`
	// ChangedAt is when the file was last written; zero for the environment.
	ChangedAt time.Time `json:"changedAt,omitzero"`
}

// Refuses reports whether calls are not even tried.
func (p ProviderInfo) Refuses() bool { return p.Circuit.Refuses() || p.Disabled != nil }

// Degraded reports whether calls fail, or are refused because they did.
func (p ProviderInfo) Degraded() bool {
	return p.State == "failing" || p.Circuit.Disturbed()
}

// DegradedSince is when that began; zero: it is not degraded.
func (p ProviderInfo) DegradedSince() time.Time {
	since := p.FailingSince
	if p.Circuit.Disturbed() && (since.IsZero() || p.Circuit.Since.Before(since)) {
		since = p.Circuit.Since
	}
	return since
}

// Trouble reports whether calls fail, or are not made.
func (p ProviderInfo) Trouble() bool { return p.Degraded() || p.Disabled != nil }

// Conversation is what a run's agents said to each other and how work passed
// between them.
type Conversation struct {
	Messages []AgentMessage `json:"messages"`
	Handoffs []Handoff      `json:"handoffs"`
}
