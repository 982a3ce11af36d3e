package run

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/approval"
)

// DoubtsPage resolves the steps in doubt of one node together.
type DoubtsPage struct {
	kit.Shell
	Way             kit.Crumbs
	Heading         string
	Plan, Node, Run string // Run is empty: of all runs of the plan
	Items           []DoubtItem
	More            string
	Outcomes        []approval.Decided
	Error           string
	Idem            string
	Output, Reason  string
	Back            kit.Link
}

// DoubtItem is a step in doubt; Address names it with a digest of what is shown.
type DoubtItem struct {
	Address   string
	Step, Run kit.Link
	Facts     []kit.Fact // of its input
	Text      string     // its input, if it has too many facts
	Calls     []kit.Fact // of a conversation
	Key       string
	Sent      kit.Time
}
