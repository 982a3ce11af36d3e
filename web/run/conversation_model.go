package run

import "github.com/kairosd/kairosd/web/kit"

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
	Step                                kit.Link
	Agent, Models, Tools, In, Out, Cost string
}

// TalkCall is one call of a model or a tool.
type TalkCall struct {
	Seq, What, Agent, In, Out, Cost, Took, Text string
	Step                                        kit.Link
	Status                                      kit.Status
	At                                          kit.Time
}

// TalkMessage is what one agent said to another.
type TalkMessage struct {
	Type, From, To, Node, Note, Text string
	At                               kit.Time
}
