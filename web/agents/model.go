package agents

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/circuit"
	"github.com/kairosd/kairosd/web/part/query"
)

// CatalogPage lists agents, providers or tools.
type CatalogPage struct {
	kit.Shell
	Part      string // agents, providers, tools
	Parts     []kit.Link
	Bar       query.Bar
	Agents    []AgentRow
	Providers []ProviderRow
	Tools     []ToolRow
	Servers   []ServerRow
	Changed   []kit.Link // tools whose definition is not the accepted one
	Empty     string     // configuration that adds to what comes with kairosd, where nothing does
	// Error is why the filter cannot be used.
	Error, Suggestion string
}

// AgentRow is an agent in a list.
type AgentRow struct {
	ID, Name, Href, Icon, About, Provider, Model, Tools, Capabilities string
	Notes, Plans, Version                                             string
	Open                                                              kit.Link // handoffs to it that are still open
	State                                                             kit.Status
	Since                                                             kit.Time // it cannot work; zero: it can
	Pulse                                                             Pulse
}

// ProviderRow is a provider in a list.
type ProviderRow struct {
	Name, Href, Type, Model, Address string
	In, Out, Cost                    string // of the last 24 hours
	Notes, Error                     string
	State                            kit.Status
	Circuit                          []circuit.Row // one, or none while it is closed
	ErrorAt                          kit.Time
	Limits                           []LimitBar
	Pulse                            Pulse
}

// ToolRow is a tool in a list.
type ToolRow struct {
	Name, Href, About, Source, Effect, Permission, Reason, Error string
	State                                                        kit.Status
	Circuits                                                     []circuit.Row // those that are not closed
	More                                                         kit.Link      // the others, on its page
	ErrorAt                                                      kit.Time
	Pulse                                                        Pulse
}

// ToolPage is one tool: what it is, who uses it, how its calls went.
type ToolPage struct {
	kit.Shell
	Name, About, Reason string
	State               kit.Status
	Facts               []kit.Fact
	Arguments           kit.Block
	Agents, Plans       []kit.Link
	Searched            string // how many plans were looked through, when not all
	Actions             []kit.Link
	Disabled            string
	Circuits            *circuit.List // nil: it has none
	Pulse               Pulse
	Failures            []FailureRow
	Counts              []CountRow
}

// AcceptToolPage holds the accepted and the offered definition of a tool side by
// side.
type AcceptToolPage struct {
	kit.Shell
	Name, Post, Back, Idem, Digest, Error string
	Facts                                 []DefinitionRow
	Accepted, Offered                     kit.Block // of the arguments
	Same                                  bool      // the arguments are
	Looser                                bool      // a call may be repeated more freely than before
}

// TryToolPage calls a tool by hand: what would be called first, then the call.
type TryToolPage struct {
	kit.Shell
	Name, Post, Back, Idem, Error string
	Problems                      []string
	Fields                        []kit.Field
	Input                         string
	// Preview: what would be called; Digest binds the call to it.
	Checked   bool
	Text      string
	Arguments kit.Block
	Digest    string
	Denied    bool
	// NeedsReason: the call may change something outside; Reason is why it is made.
	NeedsReason bool
	Reason      string
}

// AgentPage is one agent.
type AgentPage struct {
	kit.Shell
	Name, About  string
	Facts        []kit.Fact
	Prompt       kit.Block
	Tools, Plans []kit.Link
	Searched     string
	Actions      []kit.Link
	State        kit.Status
	Error        string
	ErrorAt      kit.Time
	Pulse        Pulse
	Failures     []FailureRow
	Counts       []CountRow
	Card         kit.Block
	Versions     []AgentVersion // newest first
}

// AgentVersion is what an agent was for a time.
type AgentVersion struct {
	Version     string
	From, Until kit.Time // Until is empty for the active one
	Run         kit.Link // that used the prompt; empty: none is kept
	Prompt      kit.Block
	Same        bool // it is the prompt of now
}

// ProviderPage is one provider of models.
type ProviderPage struct {
	kit.Shell
	Name     string
	State    kit.Status
	Disabled string
	Circuit  *circuit.List
	Facts    []kit.Fact
	Limits   []LimitBar
	Pulse    Pulse
	Failures []FailureRow
	Counts   []CountRow
	Agents   []kit.Link
	Actions  []kit.Link
}

// ServerRow is an MCP server in a list.
type ServerRow struct {
	Name, Address, Reason, Tools, Restarts string
	State                                  kit.Status
	Since                                  kit.Time
	Retry                                  string // address; empty: it may not be
}

// DefinitionRow is one property of a tool's own description: as accepted, and as offered.
type DefinitionRow struct {
	Name, Accepted, Offered string
	Differs                 bool
}
