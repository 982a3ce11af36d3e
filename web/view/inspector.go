package view

// Inspector shows one step.
type Inspector struct {
	Name, Sub string
	Step      string // its number in addresses
	Status    Status
	Attempts  []Link
	Tabs      []Link
	Prompt    *Prompt // what is asked of models; its messages are the blocks
	Blocks    []Block
	Log       *StepLog
	Find      *FindForm
	Actions   []Link
	Doubt     *DoubtForm
	Facts     []Fact
	Began     Time
	Resume    string // what resuming would do with it
	Page      string // its own page
}

// Prompt is what a step asks of a model, apart from the messages.
type Prompt struct {
	Facts []Fact
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
