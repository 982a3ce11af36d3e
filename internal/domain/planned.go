package domain

// PlannedTotals sums over the versions that a planner generated.
type PlannedTotals struct {
	Plans, Steps int64
	// Confidence is the sum over the WithConfidence plans whose planner stated one.
	WithConfidence int64
	Confidence     float64
	Last           int64 // the newest version that is included
}

// PlannedRuns counts the ended runs of generated plans.
type PlannedRuns struct{ Ended, Completed int64 }
