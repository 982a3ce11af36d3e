package kairos

import "time"

// AgentInfo is what people are told of an agent.
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
}

// ProviderInfo is what people are told of a provider: never its key.
type ProviderInfo struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Model   string `json:"model,omitempty"`
	BaseURL string `json:"baseUrl,omitempty"`
	Default bool   `json:"default"`
	// State is unused, working or failing, by the last call; a restart does not
	// forget it, nor the last error.
	State string `json:"state" enum:"unused,working,failing"`
	// Circuit is open while calls are refused, until OpenUntil, since the provider
	// has failed again and again; half open: the next call is a trial.
	Circuit       string    `json:"circuit" enum:"closed,open,half_open"`
	OpenUntil     time.Time `json:"openUntil,omitzero"`
	FailuresInRow int       `json:"failuresInRow,omitempty"`
	// Models are those that plans may name; empty: any.
	Models      []string  `json:"models,omitempty"`
	Calls       int64     `json:"calls"` // since the start, failures included
	Failures    int64     `json:"failures"`
	Usage       Usage     `json:"usage"`
	LastCallAt  time.Time `json:"lastCallAt,omitzero"`
	LastError   string    `json:"lastError,omitempty"` // kept when later calls succeed
	LastErrorAt time.Time `json:"lastErrorAt,omitzero"`
}

// Conversation is what a run's agents said to each other and how work passed
// between them.
type Conversation struct {
	Messages []Message `json:"messages"`
	Handoffs []Handoff `json:"handoffs"`
}
