package hooks

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/plan"
)

// ListPage is the list of hooks.
type ListPage struct {
	kit.Shell
	Tabs      []kit.Link
	Find      string
	Rows      []Row
	New       string // empty if the user may not create hooks
	More      string
	EmptyText string
}

// Row is a hook in the list.
type Row struct {
	Name, Target kit.Link
	Status       kit.Status
	Scheme       string
	Last         kit.Time
	LastStatus   kit.Status
	LastReason   string
	LastRun      kit.Link
}

// HookPage is the page of one hook.
type HookPage struct {
	kit.Shell
	Crumbs     kit.Crumbs
	Here       string
	Heading    string
	Status     kit.Status
	Actions    []kit.Link
	Facts      []kit.Fact
	Notes      []string // reasons why deliveries are refused, and warnings
	Address    string   // empty if the hook watches files
	Files      string   // pattern
	Settle     string
	Rules      []Rule
	Limits     []string
	Deliveries Deliveries
}

// Rule is an expression of a hook.
type Rule struct{ Term, Text string }

// Deliveries is the list of deliveries to a hook.
type Deliveries struct {
	States    []kit.Link
	Rows      []DeliveryRow
	Here      string
	Choose    string // address of the list with check boxes; empty if the user may not replay deliveries
	Replay    string // address of the form that replays the chosen ones; empty without check boxes
	Runs      string
	More      string
	EmptyText string
}

// DeliveryRow is a delivery in the list.
type DeliveryRow struct {
	ID     string
	At     kit.Link
	Time   kit.Time
	Status kit.Status
	Reason string
	Event  string
	Result kit.Link // the run or the signal
	Choose bool     // whether it can be replayed
}

// DeliveryPage is the page of one delivery.
type DeliveryPage struct {
	kit.Shell
	Crumbs  kit.Crumbs
	Heading string
	Status  kit.Status
	Actions []kit.Link
	Facts   []kit.Fact
	Reason  string
	Blocks  []kit.Block
}

// EditPage is the form that creates or changes a hook.
type EditPage struct {
	kit.Shell
	Crumbs                                kit.Crumbs
	Heading, Post, Back, Idem, Rev, Error string
	New                                   bool
	Key, Plan, Version, Signal, SignalKey string
	Secret, Filter, Input, Labels         string
	Files, Settle                         string
	Profile                               plan.ProfileField
	Scheme                                []kit.Option
	Plans                                 []string
	Button                                string
}

// ReplayPage is the form and the preview of a replay.
type ReplayPage struct {
	kit.Shell
	Crumbs                          kit.Crumbs
	Heading, Post, Here, Back, Idem string
	Error                           string
	// Chosen are deliveries selected by ID. Without them, State and Since select.
	Chosen       []string
	State        []kit.Option
	Status       string
	Since, Zone  string
	Previewed    bool
	CanCanary    bool
	Sentence     string
	Digest, Rate string
	Canary       bool
	Button       string
}
