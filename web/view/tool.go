package view

import "github.com/kairosd/kairosd/web/part/circuit"

// ToolPage is one tool: what it is, who uses it, how its calls went.
type ToolPage struct {
	Shell
	Name, About, Reason string
	State               Status
	Facts               []Fact
	Arguments           Block
	Agents, Plans       []Link
	Searched            string // how many plans were looked through, when not all
	Actions             []Link
	Stopped             string
	Circuits            *circuit.List // nil: it has none
	Pulse               Pulse
	Failures            []FailureRow
	Counts              []CountRow
}

// AcceptToolPage holds the accepted and the offered definition of a tool side by
// side.
type AcceptToolPage struct {
	Shell
	Name, Post, Back, Idem, Digest, Error string
	Facts                                 []CompareRow
	Accepted, Offered                     Block // of the arguments
	Same                                  bool  // the arguments are
	Looser                                bool  // a call may be repeated more freely than before
}

// TryToolPage calls a tool by hand: what would be called first, then the call.
type TryToolPage struct {
	Shell
	Name, Post, Back, Idem, Error string
	Problems                      []string
	Fields                        []Field
	Input                         string
	// Preview: what would be called; Digest binds the call to it.
	Checked   bool
	Says      string
	Arguments Block
	Digest    string
	Denied    bool
	// NeedsReason: the call may change something outside; Reason is why it is made.
	NeedsReason bool
	Reason      string
}

// AgentPage is one agent.
type AgentPage struct {
	Shell
	Name, About  string
	Facts        []Fact
	Prompt       Block
	Tools, Plans []Link
	Searched     string
	Actions      []Link
	State        Status
	Error        string
	ErrorAt      Time
	Pulse        Pulse
	Failures     []FailureRow
	Counts       []CountRow
	Card         Block
	Versions     []AgentVersion // newest first
}

// AgentVersion is what an agent was for a time.
type AgentVersion struct {
	Version     string
	From, Until Time // Until is empty for the one in force
	Run         Link // that was told the prompt; empty: none is kept
	Prompt      Block
	Same        bool // it is the prompt of now
}

// ProviderPage is one provider of models.
type ProviderPage struct {
	Shell
	Name     string
	State    Status
	Stopped  string
	Circuit  *circuit.List
	Facts    []Fact
	Limits   []LimitBar
	Pulse    Pulse
	Failures []FailureRow
	Counts   []CountRow
	Agents   []Link
	Actions  []Link
}

// ServerRow is an MCP server in a list.
type ServerRow struct {
	Name, Address, Reason, Tools, Restarts string
	State                                  Status
	Since                                  Time
	Retry                                  string // address; empty: it may not be
}
