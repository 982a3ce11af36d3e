package step

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/detail"
	"github.com/kairosd/kairosd/web/run/log"
)

// Inspector shows one step.
type Inspector struct {
	detail.Detail
	Step     string     // its number in addresses
	Main     []kit.Fact // the four facts that say most
	Advice   string     // what its error means, and what helps
	Attempts []kit.Link
	Tabs     []kit.Link
	Prompt   *Prompt // the request to models; its messages are the blocks
	Log      *log.StepLog
	Find     *kit.FindForm
	Actions  []kit.Link
	Doubt    *DoubtForm
	Resume   string // what resuming would do with it
}

// Prompt is what a step asks of a model, apart from the messages.
type Prompt struct {
	Facts []kit.Fact
	Tools []string // that are offered, in order
	Text  string
	More  string // how many messages are not shown
	File  string // address of the whole
}

// DoubtForm settles an attempt that may or may not have happened.
type DoubtForm struct {
	// What reports how it came to be unknown.
	What                       string
	Action                     string
	CSRF, Idem, Rev            string
	Node, Visit, Item, Attempt string
	// Key, Target, and Sent are what the call is looked up by in the other system.
	Key, Target, Sent string
	// Together resolves the other steps in doubt of the node, too; empty: there are none.
	Together kit.Link
	// Calls are those of a conversation whose outcome is not known; none: the
	// step's own call.
	Calls []DoubtCall
}

// DoubtCall is one call inside a step whose outcome is not known.
type DoubtCall struct {
	Tool, Arguments, Key, Sent string
}
