package approvals

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/approval"
)

// Inbox is the list of pending decisions.
type Inbox struct {
	// Requests are pending. More links to those that are not listed. Items are decided.
	Requests       []approval.Request
	More           []kit.Link
	Items          []approval.Card
	Newer, Older   string
	Topic, Address string
	Empty, Others  string
}

// ApprovalsPage is the inbox next to a decision.
type ApprovalsPage struct {
	kit.Shell
	Inbox
	Confirmation *approval.Confirmation
	// Plan, Agent, Show, and Status are the values of the filter. Plans and Agents are its options.
	Plan, Agent, Show, Status string
	Plans, Agents             []string
	States, Terms             []kit.Link
	List                      string
	Chosen                    bool // set if the address contains the approval; small screens then show only the decision
	Decision                  *approval.Card
}

// ApprovalsBulkPage lists the approvals that one answer would decide.
type ApprovalsBulkPage struct {
	kit.Shell
	Heading, Verb, Plan, Node, Answer string
	Items                             []approval.Card
	Idem, Error, Reason               string
	Outcomes                          []approval.Decided
	Danger                            bool
	// Risks are the labels that the user confirms to have checked.
	Risks []string
}
