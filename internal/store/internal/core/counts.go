package core

// Values of the reason column in the counters: acknowledged failed runs, runs with many attempts,
// and runs without progress.
const (
	Acknowledged = "acknowledged"
	Stubborn     = "stubborn"
	Silent       = "silent"
)
