package domain

import "time"

// HandoffStatuses lists the statuses of handoffs.
var HandoffStatuses = []string{"open", "returned", "failed"}

// HandoffFilter selects handoffs of all runs, newest first.
type HandoffFilter struct {
	From, To, Plan string
	Status         string // one of HandoffStatuses
	Since, Until   time.Time
	// Query is the filter as text, for the API. The store does not read it.
	Query string
	Page  Page
}

// HandoffSummary is a handoff with its run and result.
type HandoffSummary struct {
	Handoff
	Plan   PlanRef `json:"plan"`
	Status string  `json:"status"` // open, returned or failed
}

// HandoffDetail is a handoff with the data in both directions.
type HandoffDetail struct {
	HandoffSummary
	// Given is the data that was passed on in addition to the context: the payload of a request
	// inside a step, or the input of the receiving step. Null means none.
	Given RawJSON `json:"given"`
	// Size is the size of the data, or else of the context, in bytes. SHA256 is its hash.
	Size   int      `json:"size"`
	SHA256 string   `json:"sha256,omitempty"`
	Tools  []string `json:"tools" doc:"The tools of the receiver, if they were recorded."`
	// Result is the result of the receiver. Null means none so far.
	Result  RawJSON   `json:"result"`
	Failure *Failure  `json:"failure,omitempty"`
	EndedAt time.Time `json:"endedAt,omitzero"`
	TookMs  int64     `json:"durationMs"` // until now if it is open
	Usage   Usage     `json:"usage,omitzero"`
	// Giver and Receiver are the steps of both agents. Giver is nil for the supervisor, whose work
	// is not a step.
	Giver    *HandoffStep `json:"giver,omitempty"`
	Receiver *HandoffStep `json:"receiver,omitempty"`
}

// HandoffStep is the step in which an agent handed over or received work.
type HandoffStep struct {
	Node  string `json:"node"`
	Visit int    `json:"visit"`
	Item  int    `json:"item"` // -1 outside a foreach
	Seq   int64  `json:"seq" doc:"The step's first journal row."`
}
