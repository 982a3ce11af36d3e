package domain

import "time"

// HandoffStatuses are the ways in which a handoff may stand.
var HandoffStatuses = []string{"open", "returned", "failed"}

// HandoffFilter selects handoffs of all runs, newest first.
type HandoffFilter struct {
	From, To, Plan string
	Status         string // one of HandoffStatuses
	Since, Until   time.Time
	// Query is the filter as it was written, for the API; the store does not read it.
	Query string
	Page  Page
}

// HandoffSeen is a handoff with its run and what resulted.
type HandoffSeen struct {
	Handoff
	Plan   PlanRef `json:"plan"`
	Status string  `json:"status"` // open, returned or failed
}

// HandoffDetail is a handoff with what was passed on and what came back.
type HandoffDetail struct {
	HandoffSeen
	// Given is the data that was passed on beside the context: the payload of a request
	// inside of a step, else the receiving step's input; null: nothing.
	Given RawJSON `json:"given"`
	// Size is how many bytes were passed on, of the data or else of the context, and
	// SHA256 what distinguishes them from any others.
	Size   int      `json:"size"`
	SHA256 string   `json:"sha256,omitempty"`
	Tools  []string `json:"tools" doc:"Those that the receiver was offered, as far as that was recorded."`
	// Result is what came back; null: nothing, or nothing yet.
	Result  RawJSON   `json:"result"`
	Failure *Failure  `json:"failure,omitempty"`
	EndedAt time.Time `json:"endedAt,omitzero"`
	TookMs  int64     `json:"durationMs"` // until now, while it is open
	Usage   Usage     `json:"usage,omitzero"`
	// Giver and Receiver are the steps of both; no giver: the supervisor's work is not
	// a step.
	Giver    *HandoffStep `json:"giver,omitempty"`
	Receiver *HandoffStep `json:"receiver,omitempty"`
}

// HandoffStep is where in its run an agent gave or took work.
type HandoffStep struct {
	Node  string `json:"node"`
	Visit int    `json:"visit"`
	Item  int    `json:"item"` // -1: none
	Seq   int64  `json:"seq" doc:"The step's first journal row."`
}
