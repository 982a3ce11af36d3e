package view

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
}

// AgentRow is an agent in a list.
type AgentRow struct {
	ID, Name, Href, Icon, About, Provider, Model, Tools, Capabilities string
	Notes                                                             string
}

// ProviderRow is a provider in a list.
type ProviderRow struct {
	Name, Type, Model, Address, Calls, Failures, In, Out, Cost string
	Notes, Error, Circuit                                      string
	State                                                      Status
	LastCall, ErrorAt, Until                                   Time
}

// ToolRow is a tool in a list.
type ToolRow struct {
	Name, Href, About, Source, Effect, Permission, Reason, Calls, Failures, Error string
	State                                                                         Status
	ErrorAt                                                                       Time
}
