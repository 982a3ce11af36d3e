package approvals

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/approval"
	part "github.com/kairosd/kairosd/web/part/run"
)

// Inbox is the list of what waits for a person.
type Inbox struct {
	// Doubts are runs with a call of which nobody knows whether it happened, Over those
	// that used all they may; where there are more, an address of them all.
	Doubts, Over         []part.Row
	MoreDoubts, MoreOver string
	Items                []approval.Card
	Newer, Older         string
	Topic, Address       string
	Empty, Others        string
}

// Confirmation is a decision that was just made.
type Confirmation struct {
	Outcome      kit.Status
	Request, Run kit.Link
}

// ApprovalsPage is the inbox with a decision beside it.
type ApprovalsPage struct {
	kit.Shell
	Inbox
	Confirmation *Confirmation
	// Plan, Agent, Show and Status are what the list is narrowed to; Plans and Agents
	// what it may be narrowed to further.
	Plan, Agent, Show, Status string
	Plans, Agents             []string
	States, Terms             []kit.Link
	List                      string
	Chosen                    bool // the decision was asked for: a small screen shows it alone
	Decision                  *approval.Card
}

// ApprovalsBulkPage lists what one answer would decide.
type ApprovalsBulkPage struct {
	kit.Shell
	Heading, Verb, Plan, Node, Answer string
	Items                             []approval.Card
	Idem, Error, Reason               string
	Refused                           []string
	Danger                            bool
}
