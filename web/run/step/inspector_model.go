package step

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/detail"
	"github.com/kairosd/kairosd/web/run/log"
)

// Inspector shows one step.
type Inspector struct {
	detail.Detail
	Step     string     // journal row that identifies the step in addresses
	Main     []kit.Fact // most important facts
	Advice   string     // meaning and remedy of its error
	Attempts []kit.Link
	Tabs     []kit.Link
	Prompt   *Prompt // requests to models, without the messages in Blocks
	Log      *log.StepLog
	Find     *kit.FindForm
	Actions  []kit.Link
	Doubt    *DoubtForm
	Resume   string // effect of a resume on the step
}

// Prompt describes the requests of a step to models, without the messages.
type Prompt struct {
	Facts []kit.Fact
	Tools []string // offered tools, in order
	Text  string
	More  string // number of messages that are not shown
	File  string // address of the complete conversation
}

// DoubtForm resolves an attempt in doubt.
type DoubtForm struct {
	// What describes why the outcome is unknown.
	What                       string
	Action                     string
	CSRF, Idem, Rev            string
	Node, Visit, Item, Attempt string
	// Key, Target, and Sent identify the call in the other system.
	Key, Target, Sent string
	// Together links to a form that also resolves the other calls in doubt of the step. It is empty
	// if there are none.
	Together kit.Link
	// Calls are the calls in doubt within a conversation. If there are none, the call of the step
	// itself is in doubt.
	Calls []DoubtCall
}

// DoubtCall is a call in doubt within a conversation.
type DoubtCall struct {
	Tool, Arguments, Key, Sent string
}
