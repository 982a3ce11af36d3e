package agents

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/circuit"
	"github.com/kairosd/kairosd/web/part/query"
)

// CatalogPage is the model of the list of agents, providers, or tools.
type CatalogPage struct {
	kit.Shell
	Part      string // agents, providers, or tools
	Parts     []kit.Link
	Bar       query.Bar
	Agents    []AgentRow
	Providers []ProviderRow
	Tools     []ToolRow
	Servers   []ServerRow
	Changed   []kit.Link // tools whose definition differs from the accepted one
	Empty     string     // example configuration, if nothing is configured
	// Error explains why the filter is invalid.
	Error, Suggestion string
}

// AgentRow is a row of the agent list.
type AgentRow struct {
	ID, Name, Href, Icon, About, Provider, Model, Tools, Capabilities string
	Notes, Plans, Version                                             string
	Open                                                              kit.Link // unfinished handoffs to the agent
	State                                                             kit.Status
	Since                                                             kit.Time // when it became unavailable; zero if available
	Pulse                                                             Pulse
}

// ProviderRow is a row of the provider list.
type ProviderRow struct {
	Name, Href, Type, Model, Address string
	In, Out, Cost                    string // usage in the last 24 hours
	Notes, Error                     string
	State                            kit.Status
	Circuit                          []circuit.Row // empty while the circuit is closed
	ErrorAt                          kit.Time
	Limits                           []LimitBar
	Pulse                            Pulse
}

// ToolRow is a row of the tool list.
type ToolRow struct {
	Name, Href, About, Source, Effect, Permission, Reason, Error string
	State                                                        kit.Status
	Circuits                                                     []circuit.Row // circuits that are not closed
	More                                                         kit.Link      // link to further circuits on its page
	ErrorAt                                                      kit.Time
	Pulse                                                        Pulse
}

// ToolPage is the model of the page of a tool.
type ToolPage struct {
	kit.Shell
	Name, About, Reason string
	State               kit.Status
	Facts               []kit.Fact
	Arguments           kit.Block
	Agents, Plans       []kit.Link
	Searched            string // number of searched plans; empty if all
	Actions             []kit.Link
	Disabled            string
	Circuits            *circuit.List // nil if it has no circuit breaker
	Pulse               Pulse
	Failures            []FailureRow
	Counts              []CountRow
}

// AcceptToolPage compares the accepted definition of a tool with the current one.
type AcceptToolPage struct {
	kit.Shell
	Name, Post, Back, Idem, Digest, Error string
	Facts                                 []DefinitionRow
	Accepted, Offered                     kit.Block // schemas of the arguments
	Same                                  bool      // both schemas are equal
	Looser                                bool      // the new side-effect class allows retries
}

// TryToolPage is the model of the form that calls a tool. It previews the call before making it.
type TryToolPage struct {
	kit.Shell
	Name, Post, Back, Idem, Error string
	Problems                      []string
	Fields                        []kit.Field
	Input                         string
	// Checked is set for the preview of a call. Digest identifies the previewed call.
	Checked   bool
	Text      string
	Arguments kit.Block
	Digest    string
	Denied    bool
	// NeedsReason is set if the call may have side effects.
	NeedsReason bool
	Reason      string
}

// AgentPage is the model of the page of an agent.
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

// AgentVersion is a version of an agent with the time in which it was active.
type AgentVersion struct {
	Version     string
	From, Until kit.Time // Until is empty for the active version
	Run         kit.Link // a run that used the prompt; empty if none is stored
	Prompt      kit.Block
	Same        bool // prompt equals the current one
}

// ProviderPage is the model of the page of a provider.
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

// ServerRow is an MCP server.
type ServerRow struct {
	Name, Address, Reason, Tools, Restarts string
	State                                  kit.Status
	Since                                  kit.Time
	Retry                                  string // address of the restart form; empty if not allowed
}

// DefinitionRow compares one property of a tool's definition, as accepted and as offered.
type DefinitionRow struct {
	Name, Accepted, Offered string
	Differs                 bool
}
