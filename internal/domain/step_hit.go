package domain

import "time"

// StepFilter selects attempts of steps across runs. Zero fields do not restrict.
type StepFilter struct {
	PlanKey string
	Version int
	Nodes   []string
	// Statuses of attempts: completed, failed, skipped, cancelled, in_doubt.
	Statuses   []NodeStatus
	ErrorCodes []string
	// MinTook and MaxTook limit the duration of the attempt.
	MinTook, MaxTook time.Duration
	MinAttempt       int64
	// Since and Until limit the time at which the run was created.
	Since, Until time.Time
	// Slowest sorts the newest matches by duration. Otherwise, they are sorted by run, newest
	// first.
	Slowest bool
	// Query is the filter as text, for the API. The store does not read it.
	Query string
	Page  Page // only After and Limit
}

// StepHit is an attempt of a step.
type StepHit struct {
	Run, PlanKey string
	Version      int
	Seq          int64
	Node         string
	Visit, Item  int
	Attempt      int
	Status       NodeStatus
	Code         string // of its failure
	Message      string
	StartedAt    time.Time
	At           time.Time
}

// Took returns the duration of the attempt.
func (h *StepHit) Took() time.Duration {
	if h.StartedAt.IsZero() {
		return 0
	}
	return max(h.At.Sub(h.StartedAt), 0)
}

// StepHits is a page of attempts. Since is the creation time of the oldest run that was read. Whole
// reports that there are no older runs. Next continues from there, even if the page is short.
type StepHits struct {
	Items []StepHit
	Next  string
	Since time.Time
	Whole bool
}

// PlanFlow describes how the newest runs of a plan passed through its nodes.
type PlanFlow struct {
	// Runs is the number of runs that were read, back to Since. Whole reports that these are all
	// runs of the requested time.
	Runs  int
	Since time.Time
	Whole bool
	Nodes map[string]*NodeFlow
	// Edges counts how often each edge was chosen, by its position in the document. A node with
	// only one edge is not counted, because every completed visit takes it.
	Edges map[int]int
}

// NodeFlow describes how runs passed through a node.
type NodeFlow struct {
	Runs     int // runs that reached it
	Settled  int // visits and items that ended
	Failed   int // of these
	Skipped  int
	Attempts int // that ran
	P50, P95 time.Duration
	Cost     float64 // of all of them
	// Failures holds the last failed attempts, and Slow the slowest ones.
	Failures, Slow []StepHit
}
