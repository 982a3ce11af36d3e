package runstate

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// PlansRow returns the first row of a journal. It pins plan nodes to versions: hashes by plan key.
func PlansRow(plans map[string]string, at time.Time) domain.Entry {
	return domain.Entry{Seq: 1, Kind: domain.EntryAction, Item: NoItem, Decision: RunActionDecision{Action: RunActionPlans,
		Plans: plans}.JSON(),
		Actor: domain.System.Name, At: at}
}

// MemoryRow returns the row with the memory of the session when the run began.
func MemoryRow(v domain.RawJSON, seq int64, at time.Time) domain.Entry {
	return domain.Entry{Seq: seq, Kind: domain.EntryAction, Item: NoItem, Decision: RunActionDecision{Action: RunActionMemory}.JSON(),
		Output: v, Actor: domain.System.Name, At: at}
}

// Reasons of final rows that a person settled without running the step.
const (
	ReasonHappened = "a person reported that it happened"
	ReasonSkipped  = "skipped by a person"
	ReasonExpired  = "no answer in time"
	ReasonFailed   = "a person reported that it failed"
)
