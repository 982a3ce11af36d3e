package domain

import "time"

// ToolInfo describes a tool to people.
type ToolInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Source is "built-in" or the MCP server that offers it.
	Source string `json:"source"`
	// Effect is the side-effect class of a call whose arguments are not known.
	Effect string `json:"effect"`
	// Permission is allow, ask, or deny. Plans and agents may override it.
	Permission string `json:"permission"`
	// State is ready, unavailable, changed, or gone. Reason explains a state other than ready.
	State  string         `json:"status"`
	Reason string         `json:"reason,omitempty"`
	Schema map[string]any `json:"schema,omitempty"`
	// Timeout limits a call. 0 means that only the timeout of the step applies.
	Timeout Millis `json:"timeoutMs,omitzero"`
	// Change describes how the definition of a changed tool differs from the accepted one.
	Change *ToolChange `json:"change,omitempty"`

	Activity Activity `json:"activity"`
	// Disabled is set if a person disabled the tool.
	Disabled *Disablement `json:"disabled,omitempty"`
	// Breaker holds the settings of its circuit breakers. It is nil if the tool calls no other
	// system.
	Breaker *Breaker `json:"breaker,omitempty"`
	// Circuits holds the circuits with recent failures: at most one, or one per host. Open circuits
	// come first.
	Circuits []Circuit `json:"circuits,omitempty"`
}

// Refuses reports whether all calls fail without an attempt.
func (t ToolInfo) Refuses() bool {
	return t.Disabled != nil || t.Breaker != nil && !t.Breaker.PerHost && len(t.Circuits) > 0 && t.Circuits[0].Refuses()
}

// Disturbed returns the circuits that are open or half open.
func (t ToolInfo) Disturbed() (out []Circuit) {
	for _, c := range t.Circuits {
		if c.Disturbed() {
			out = append(out, c)
		}
	}
	return out
}

// ToolChange is a definition that an MCP server offers instead of the accepted one. It is not used
// before a person accepts it.
type ToolChange struct {
	Accepted ToolDefinition `json:"accepted"`
	Offered  ToolDefinition `json:"offered"`
	// Digest identifies the offered definition. Accepting requires it, so that nothing newer is
	// accepted unseen.
	Digest string `json:"digest"`
}

// ToolDefinition is the definition of a tool by an MCP server.
type ToolDefinition struct {
	Description string         `json:"description"`
	Schema      map[string]any `json:"schema,omitempty"`
	ReadOnly    bool           `json:"readOnlyHint"`
	Idempotent  bool           `json:"idempotentHint"`
	// Effect is the side-effect class of its calls, from the configuration.
	Effect string `json:"effect"`
}

// ToolServer describes an MCP server to people.
type ToolServer struct {
	Name string `json:"name"`
	// Address is the path of its command, or its URL.
	Address string `json:"address"`
	// State is ready, unavailable (kairosd will restart it), disabled (it ended too often), or off
	// (running it is not permitted). Reason explains a state other than ready.
	State    string    `json:"status" enum:"ready,unavailable,disabled,off"`
	Reason   string    `json:"reason,omitempty"`
	Since    time.Time `json:"changedAt,omitzero"`
	Tools    int       `json:"tools"`    // offered now
	Restarts int       `json:"restarts"` // since the start
}
