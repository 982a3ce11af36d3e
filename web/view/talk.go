package view

import "github.com/kairosd/kairosd/web/part/circuit"

// Talk is the part of a run page about agents and models.
type Talk struct {
	Nodes    []TalkNode
	Total    TalkNode
	Calls    []TalkCall
	Messages []TalkMessage
	More     int // calls and messages that are not listed
}

// TalkNode is what a node's agents used.
type TalkNode struct {
	Step                                Link
	Agent, Models, Tools, In, Out, Cost string
}

// TalkCall is one call of a model or a tool.
type TalkCall struct {
	Seq, What, Agent, In, Out, Cost, Took, Text string
	Step                                        Link
	Status                                      Status
	At                                          Time
}

// TalkMessage is what one agent said to another.
type TalkMessage struct {
	Type, From, To, Node, Note, Text string
	At                               Time
}

// CrewPage lists agents, providers or tools.
type CrewPage struct {
	Shell
	Part      string // agents, providers, tools
	Parts     []Link
	Agents    []AgentRow
	Providers []ProviderRow
	Tools     []ToolRow
	Servers   []ServerRow
	Changed   []Link // tools whose definition is not the accepted one
	Empty     string // configuration that adds to what comes with kairosd, where nothing does
}

// AgentRow is an agent in a list.
type AgentRow struct {
	ID, Name, Href, Icon, About, Provider, Model, Tools, Capabilities string
	Notes, Plans, Version                                             string
	Open                                                              Link // handoffs to it that are still open
	State                                                             Status
	Since                                                             Time // it cannot work; zero: it can
	Pulse                                                             Pulse
}

// ProviderRow is a provider in a list.
type ProviderRow struct {
	Name, Href, Type, Model, Address string
	In, Out, Cost                    string // of the last 24 hours
	Notes, Error                     string
	State                            Status
	Circuit                          []circuit.Row // one, or none while it is closed
	ErrorAt                          Time
	Limits                           []LimitBar
	Pulse                            Pulse
}

// ToolRow is a tool in a list.
type ToolRow struct {
	Name, Href, About, Source, Effect, Permission, Reason, Error string
	State                                                        Status
	Circuits                                                     []circuit.Row // those that are not closed
	More                                                         Link          // the others, on its page
	ErrorAt                                                      Time
	Pulse                                                        Pulse
}
