package core

// What stands in the counters for the reason: of failed runs that somebody took
// note of, of runs that are tried again and again, and of those that work without
// a sign of life.
const (
	Acknowledged = "acknowledged"
	Stubborn     = "stubborn"
	Silent       = "silent"
)
