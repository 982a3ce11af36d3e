package kairos

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

// HandoffSeen is a handoff with its run and what came of it.
type HandoffSeen struct {
	Handoff
	Plan   string `json:"plan"`
	Status string `json:"status"` // open, returned or failed
}
