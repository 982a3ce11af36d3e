package signals

import "github.com/kairosd/kairosd/web/kit"

// ListPage is the list of signals.
type ListPage struct {
	kit.Shell
	Tabs        []kit.Link
	States      []kit.Link
	Find, State string
	Rows        []Row
	New         string // empty if the user may not send signals
	More        string
	EmptyText   string
}

// Row is a signal in the list.
type Row struct {
	Name   kit.Link
	Key    string
	Status kit.Status
	Expiry kit.Time // of a signal that no step waits for yet
	Runs   []kit.Link
	More   string // number of further runs
	Source string
	Sent   kit.Time
}

// WaitsPage is the list of the steps that wait for a signal.
type WaitsPage struct {
	kit.Shell
	Tabs      []kit.Link
	Find      string
	Rows      []WaitRow
	More      string
	EmptyText string
}

// WaitRow is a step that waits for a signal.
type WaitRow struct {
	Name, Key  string
	Run, Plan  kit.Link
	Step       string
	Since, Due kit.Time
	Send       kit.Link
}

// SignalPage is the page of one signal.
type SignalPage struct {
	kit.Shell
	Crumbs  kit.Crumbs
	Address string
	Heading string
	Status  kit.Status
	Text    string // explains the status
	Facts   []kit.Fact
	Data    kit.Block
	Matches []MatchRow
}

// MatchRow is a wait that a signal ended.
type MatchRow struct {
	Run  kit.Link
	Step string
	At   kit.Time
}

// SendPage is the form that sends a signal.
type SendPage struct {
	kit.Shell
	Crumbs                    kit.Crumbs
	Heading, Post, Back, Idem string
	Error                     string
	Name, Key, Data, Keep     string
	All                       bool
}
