package bulk

import (
	"github.com/a-h/templ"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/circuit"
	"github.com/kairosd/kairosd/web/part/query"
	part "github.com/kairosd/kairosd/web/part/run"
)

// PreviewPage is the model of the preview of a bulk operation.
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

// Selection contains the runs of the operation.
type Selection struct {
	Action, Query string
	Runs          []string // selected runs
	Count         string
	Refused       []string
	First         kit.Link
	Sample        []part.Row
	Empty         bool
}

// Form contains the fields of the form that starts the operation.
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

// Waiting contains the conditions that the operation can wait for.
type Waiting struct {
	// A condition is a time in a zone, a provider, or a circuit of a tool. Circuits are the open
	// circuits that these runs use.
	CanWait          bool
	At, Zone         string
	Providers, Tools []kit.Option
	Circuits         []circuit.Open
}

// ShowPage is the model of the page of a bulk operation.
type ShowPage struct {
	kit.Shell
	Progress
	Items Items
	Idem  string
}

// Progress is the state of a bulk operation.
type Progress struct {
	ID, Heading    string
	Title          string
	Status         kit.Status
	Note           string
	Facts          []kit.Fact
	Strip          Strip
	CanStop, Final bool
	Topic, Address string
	Circuits       []circuit.Open // circuits that it waits for
}

// Strip is the progress bar of a bulk operation.
type Strip struct {
	Done, Refused, RefusedAt        string // widths and position in percent
	DoneText, RefusedText, LeftText string
	Label, Percent                  string
	// Canary is the result of the first run, and Rate is the speed of the others. Both are empty if
	// not used.
	Canary kit.Status
	Rate   string
}

// Items is a page of the runs of a bulk operation. Outcomes are links that filter it.
type Items struct {
	Outcomes       []kit.Link
	Rows           []Item
	Older          string
	Topic, Address string
}

// Item is a run of a bulk operation.
type Item struct {
	Status     kit.Status
	Run        kit.Link
	Result     kit.Link
	Detail     string
	Node, Code string // failure of the run
	Canary     bool
	At         kit.Time
}

// ListPage is the model of the list of bulk operations.
type ListPage struct {
	kit.Shell
	Bar               query.Bar
	Error, Suggestion string
	Rows              []ListRow
	Older             string
}

// ListRow is a bulk operation in the list.
type ListRow struct {
	Href, Heading, Actor string
	Reason               string // reason given by the user, or why it stopped
	Status               kit.Status
	At                   kit.Time
	Strip                Strip
}

// following returns the attributes that refresh a region while the operation is active.
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
