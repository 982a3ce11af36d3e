package approvals

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/approval"
)

// Inbox is the list of what waits for a person.
type Inbox struct {
	// Requests wait for a decision; More leads to those that are not listed. Items were decided.
	Requests       []approval.Request
	More           []kit.Link
	Items          []approval.Card
	Newer, Older   string
	Topic, Address string
	Empty, Others  string
}

// ApprovalsPage is the inbox with a decision beside it.
type ApprovalsPage struct {
	kit.Shell
	Inbox
	Confirmation *approval.Confirmation
	// Plan, Agent, Show and Status are what the list is narrowed to; Plans and Agents
	// what it may be narrowed to further.
	Plan, Agent, Show, Status string
	Plans, Agents             []string
	States, Terms             []kit.Link
	List                      string
	Chosen                    bool // the address names the decision: a small screen shows it alone
	Decision                  *approval.Card
}

// ApprovalsBulkPage lists what one answer would decide.
type ApprovalsBulkPage struct {
	kit.Shell
	Heading, Verb, Plan, Node, Answer string
	Items                             []approval.Card
	Idem, Error, Reason               string
	Outcomes                          []approval.Decided
	Danger                            bool
	// Risks are what the reader confirms to have checked.
	Risks []string
}
