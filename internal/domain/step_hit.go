package domain

import "time"

// StepFilter selects attempts of steps across runs; zero fields do not restrict.
type StepFilter struct {
	PlanKey string
	Version int
	Nodes   []string
	// Statuses of attempts: completed, failed, skipped, cancelled, in_doubt.
	Statuses   []NodeStatus
	ErrorCodes []string
	// MinTook and MaxTook bound how long the attempt took.
	MinTook, MaxTook time.Duration
	MinAttempt       int64
	// Since and Until apply to when the run was created.
	Since, Until time.Time
	// Slowest sorts by what took longest among the newest that match; otherwise
	// they are listed by run, newest first.
	Slowest bool
	// Query is the filter as it was written, for the API; the store does not read it.
	Query string
	Page  Page // only After and Limit
}

// StepHit is an attempt of a step, found across runs.
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

// Took is how long the attempt took.
func (h *StepHit) Took() time.Duration {
	if h.StartedAt.IsZero() {
		return 0
	}
	return max(h.At.Sub(h.StartedAt), 0)
}

// StepHits is one page of steps: runs were looked at back to Since, and Whole reports
// that there are no others. Next continues from there, also when the page is short.
type StepHits struct {
	Items []StepHit
	Next  string
	Since time.Time
	Whole bool
}

// PlanFlow is how the newest runs of a plan went through its nodes.
type PlanFlow struct {
	// Runs were looked at, back to Since; Whole reports that they are all of the
	// requested window.
	Runs  int
	Since time.Time
	Whole bool
	Nodes map[string]*NodeFlow
	// Edges states how often each edge was chosen, by its place in the document; where
	// there is no choice, every completed visit takes the edge.
	Edges map[int]int
}

// NodeFlow is how runs went through a node.
type NodeFlow struct {
	Runs     int // that came to it
	Settled  int // visits and items that ended
	Failed   int // of those
	Skipped  int
	Attempts int // that ran
	P50, P95 time.Duration
	Cost     float64 // of all that it did
	// Failures are the last attempts that failed, Slow those that took longest.
	Failures, Slow []StepHit
}
