package kairos

// ToolInfo is what people are told of a tool.
type ToolInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Source is "built-in" or the MCP server that offers it.
	Source string `json:"source"`
	// Effect is what a call may do when its arguments are not known.
	Effect string `json:"effect"`
	// Permission is allow, ask or deny, as far as neither plan nor agent say more.
	Permission string `json:"permission"`
	// State is ready, unavailable, changed or gone; Reason says why it is not
	// ready.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// Offered is the description that a changed tool has now; it is used once a
	// person accepts the tool.
	Offered string         `json:"offered,omitempty"`
	Schema  map[string]any `json:"schema,omitempty"`
}
