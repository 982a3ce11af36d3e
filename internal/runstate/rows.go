package runstate

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// PlansRow is the row that pins plan nodes to versions: hashes by plan key. It is the first
// of its journal.
func PlansRow(plans map[string]string, at time.Time) domain.Entry {
	return domain.Entry{Seq: 1, Kind: domain.EntryVerb, Item: NoItem, Decision: VerbDecision{Verb: VerbPlans, Plans: plans}.JSON(),
		Actor: domain.System.Name, At: at}
}

// MemoryRow is the row of what the run's session knew before the run began.
func MemoryRow(v domain.RawJSON, seq int64, at time.Time) domain.Entry {
	return domain.Entry{Seq: seq, Kind: domain.EntryVerb, Item: NoItem, Decision: VerbDecision{Verb: VerbMemory}.JSON(),
		Output: v, Actor: domain.System.Name, At: at}
}

// Reasons of final rows that a person settled without running the step.
const (
	ReasonHappened = "a person said that it happened"
	ReasonSkipped  = "skipped by a person"
	ReasonExpired  = "no answer in time"
	ReasonFailed   = "a person said that it failed"
)
