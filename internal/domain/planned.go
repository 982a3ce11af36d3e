package domain

// PlannedTotals add up the versions that a planner made.
type PlannedTotals struct {
	Plans, Steps int64
	// Confidence is the sum over the plans whose planner gave one: Sure of them.
	Sure       int64
	Confidence float64
	Last       int64 // the newest version that is counted
}

// PlannedRuns are the ended runs of plans that a planner made.
type PlannedRuns struct{ Ended, Completed int64 }
