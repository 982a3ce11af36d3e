package run

import "github.com/kairosd/kairosd/web/kit"

// Inspector shows one step.
type Inspector struct {
	Name, Sub string
	Step      string // its number in addresses
	Status    kit.Status
	Attempts  []kit.Link
	Tabs      []kit.Link
	Prompt    *Prompt // what is asked of models; its messages are the blocks
	Blocks    []kit.Block
	Log       *StepLog
	Find      *kit.FindForm
	Actions   []kit.Link
	Doubt     *DoubtForm
	Facts     []kit.Fact
	Began     kit.Time
	Resume    string // what resuming would do with it
	Page      string // its own page
}

// Prompt is what a step asks of a model, apart from the messages.
type Prompt struct {
	Facts []kit.Fact
	Tools []string // that are offered, in order
	Says  string
	More  string // how many messages are not shown
	File  string // address of the whole
}

// DoubtForm settles an attempt that may or may not have happened.
type DoubtForm struct {
	// What says how it came to be unknown.
	What                       string
	Action                     string
	CSRF, Idem, Rev            string
	Node, Visit, Item, Attempt string
	Key                        string
	// Calls are those of a conversation whose outcome is not known; none: the
	// step's own call.
	Calls []DoubtCall
}

// DoubtCall is one call inside a step whose outcome is not known.
type DoubtCall struct {
	Tool, Arguments, Key, Sent string
}
