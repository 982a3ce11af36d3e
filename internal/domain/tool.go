package domain

import "time"

// ToolInfo is what people see of a tool.
type ToolInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Source is "built-in" or the MCP server that offers it.
	Source string `json:"source"`
	// Effect is what a call may do when its arguments are not known.
	Effect string `json:"effect"`
	// Permission is allow, ask or deny, as far as neither plan nor agent say more.
	Permission string `json:"permission"`
	// State is ready, unavailable, changed or gone; Reason states why it is not
	// ready.
	State  string         `json:"status"`
	Reason string         `json:"reason,omitempty"`
	Schema map[string]any `json:"schema,omitempty"`
	// Timeout bounds one call by the configuration; 0: only the step's own does.
	Timeout Millis `json:"timeoutMs,omitzero"`
	// Change is how the definition of a changed tool differs from the accepted one.
	Change *ToolChange `json:"change,omitempty"`

	Activity Activity `json:"activity"`
	// Disabled states who has disabled it, since when, and why; nil: it is enabled.
	Disabled *Stop `json:"disabled,omitempty"`
	// Breaker is when its circuits open; nil: it reaches no one, and has none.
	Breaker *Breaker `json:"breaker,omitempty"`
	// Circuits are those that have failed recently: one at most, or one for each host.
	// Those that are open come first.
	Circuits []Circuit `json:"circuits,omitempty"`
}

// Refuses reports whether no call of it is even tried.
func (t ToolInfo) Refuses() bool {
	return t.Disabled != nil || t.Breaker != nil && !t.Breaker.PerHost && len(t.Circuits) > 0 && t.Circuits[0].Refuses()
}

// Disturbed lists the circuits whose calls are refused, or tried one at a time.
func (t ToolInfo) Disturbed() (out []Circuit) {
	for _, c := range t.Circuits {
		if c.Disturbed() {
			out = append(out, c)
		}
	}
	return out
}

// ToolChange is a definition that an MCP server offers in place of the accepted
// one. It is used once a person accepts it.
type ToolChange struct {
	Accepted ToolDefinition `json:"accepted"`
	Offered  ToolDefinition `json:"offered"`
	// Digest names what is offered: accepting with it accepts what was read, and
	// nothing that the server offers since.
	Digest string `json:"digest"`
}

// ToolDefinition is what an MCP server states of a tool.
type ToolDefinition struct {
	Description string         `json:"description"`
	Schema      map[string]any `json:"schema,omitempty"`
	ReadOnly    bool           `json:"readOnlyHint"`
	Idempotent  bool           `json:"idempotentHint"`
	// Effect is what a call may do under it, by the configuration.
	Effect string `json:"effect"`
}

// ToolServer is what people see of an MCP server.
type ToolServer struct {
	Name string `json:"name"`
	// Address is its command's path, or its URL.
	Address string `json:"address"`
	// State is ready, unavailable (it will be started again), given up (it ended
	// too often) or off (it may not be run); Reason states why it is not ready.
	State    string    `json:"status" enum:"ready,unavailable,given up,off"`
	Reason   string    `json:"reason,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Tools    int       `json:"tools"`    // that it offers now
	Restarts int       `json:"restarts"` // since the start
}
