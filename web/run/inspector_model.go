package run

import (
	"strings"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/web/kit"
)

// Inspector shows one step.
type Inspector struct {
	Name, Sub string
	Step      string // its number in addresses
	// Key names what is shown in the page: another step or attempt is another element, so
	// that a form or a log of the one before never becomes a part of it.
	Key      string
	Status   kit.Status
	Attempts []kit.Link
	Tabs     []kit.Link
	Prompt   *Prompt // what is asked of models; its messages are the blocks
	Blocks   []kit.Block
	Log      *StepLog
	Find     *kit.FindForm
	Actions  []kit.Link
	Doubt    *DoubtForm
	Facts    []kit.Fact
	Began    kit.Time
	Resume   string // what resuming would do with it
	Page     string // its own page
	// Beside is the path of the page in whose pane it stands; empty: it is a page itself.
	Beside string
}

// get makes a link within the page beside which the step stands a request of htmx.
func (i Inspector) get(href string) templ.Attributes {
	if i.Beside == "" || !strings.HasPrefix(href, i.Beside+"?") {
		return nil
	}
	return kit.Get(href)
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
