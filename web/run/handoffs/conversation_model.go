package handoffs

import "github.com/kairosd/kairosd/web/kit"

// Conversation is the part of a run page about agents and models.
type Conversation struct {
	Nodes    []ConversationNode
	Total    ConversationNode
	Calls    []ConversationCall
	Messages []ConversationMessage
	More     int // calls and messages that are not listed
}

// ConversationNode is what a node's agents used.
type ConversationNode struct {
	Step                                kit.Link
	Agent, Models, Tools, In, Out, Cost string
}

// ConversationCall is one call of a model or a tool.
type ConversationCall struct {
	Seq, What, Agent, In, Out, Cost, Took, Text string
	Step                                        kit.Link
	Status                                      kit.Status
	At                                          kit.Time
}

// ConversationMessage is what one agent said to another.
type ConversationMessage struct {
	Type, From, To, Node, Note, Text string
	At                               kit.Time
}
