package bulk

import (
	"github.com/a-h/templ"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/circuit"
	"github.com/kairosd/kairosd/web/part/query"
	part "github.com/kairosd/kairosd/web/part/run"
)

// PreviewPage shows what a bulk operation would do.
type PreviewPage struct {
	kit.Shell
	Selection
	Form
	Waiting
	Heading, Sentence string
	Error             string
	Consequence       string
	Effects           []string
	Back              string
}

// Selection is which runs the operation is about.
type Selection struct {
	Action, Query string
	Runs          []string // chosen ones
	Count         string
	Refused       []string
	First         kit.Link
	Sample        []part.Row
	Empty         bool
}

// Form is what is sent to start it.
type Form struct {
	Button            string
	Danger            bool
	Canary, CanCanary bool
	Rate, Reason      string
	Idem, Digest      string
	NeedsReason       bool
	CanLabel          bool
	Labels            string
}

// Waiting is for what it may wait: a time in a zone, a provider, and a circuit of a tool.
type Waiting struct {
	// What it may wait for: a time in a zone, a provider, and a circuit of a tool.
	// Circuits are those that are open for these runs.
	CanWait          bool
	At, Zone         string
	Providers, Tools []kit.Option
	Circuits         []circuit.Open
}

// ShowPage is one bulk operation, with the form that stops it.
type ShowPage struct {
	kit.Shell
	Progress
	Items Items
	Idem  string
}

// Progress is a bulk operation in progress, or ended.
type Progress struct {
	ID, Heading    string
	Title          string
	Status         kit.Status
	Note           string
	Facts          []kit.Fact
	Strip          Strip
	CanStop, Final bool
	Topic, Address string
	Circuits       []circuit.Open // that it waits for
}

// Strip shows how many runs are done.
type Strip struct {
	Done, Refused, RefusedAt        string // parts of its width
	DoneText, RefusedText, LeftText string
	Label, Percent                  string
	// Canary is how the first run went, Rate how fast the others follow; empty: there is none.
	Canary kit.Status
	Rate   string
}

// Items are the runs of a bulk operation. Outcomes choose among them.
type Items struct {
	Outcomes       []kit.Link
	Rows           []Item
	Older          string
	Topic, Address string
}

// Item is one run of it.
type Item struct {
	Status     kit.Status
	Run        kit.Link
	Result     kit.Link
	Detail     string
	Node, Code string // of the failure of the run
	Canary     bool
	At         kit.Time
}

// ListPage lists bulk operations.
type ListPage struct {
	kit.Shell
	Bar               query.Bar
	Error, Suggestion string
	Rows              []ListRow
	Older             string
}

// ListRow is one of them.
type ListRow struct {
	Href, Heading, Who string
	Reason             string // or why it stopped
	Status             kit.Status
	At                 kit.Time
	Strip              Strip
}

// following makes a part of the page fetch itself again while the operation is active.
func following(topic, address string) templ.Attributes {
	if topic == "" {
		return nil
	}
	return templ.Attributes{
		"data-live":  topic,
		"hx-get":     address,
		"hx-trigger": "k:" + topic + " from:body",
		"hx-swap":    "morph:outerHTML",
	}
}
