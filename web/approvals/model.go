package approvals

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/approval"
	part "github.com/kairosd/kairosd/web/part/run"
)

// Inbox is the list of what waits for a person.
type Inbox struct {
	// Doubts are runs with a call that may or may not have happened, Over those that reached a
	// limit; where there are more, an address of them all.
	Doubts, Over         []part.Row
	MoreDoubts, MoreOver string
	Items                []approval.Card
	Similar              []SimilarGroup
	Newer, Older         string
	Topic, Address       string
	Empty, Others        string
}

// SimilarGroup are requests of one step of a plan that can be decided together.
type SimilarGroup struct {
	Text    string
	Answers []kit.Link
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
	Refused                           []string
	Danger                            bool
}
