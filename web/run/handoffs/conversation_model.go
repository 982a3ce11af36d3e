package handoffs

import "github.com/kairosd/kairosd/web/kit"

// Conversation contains the calls and messages of a run's agents.
type Conversation struct {
	Nodes    []ConversationNode
	Total    ConversationNode
	Calls    []ConversationCall
	Messages []ConversationMessage
	More     int // number of calls and messages that are not listed
}

// ConversationNode is the usage of a step's agents.
type ConversationNode struct {
	Step                                kit.Link
	Agent, Models, Tools, In, Out, Cost string
}

// ConversationCall is one model or tool call.
type ConversationCall struct {
	Seq, What, Agent, In, Out, Cost, Took, Text string
	Step                                        kit.Link
	Status                                      kit.Status
	At                                          kit.Time
}

// ConversationMessage is a message from one agent to another.
type ConversationMessage struct {
	Type, From, To, Node, Note, Text string
	At                               kit.Time
}
