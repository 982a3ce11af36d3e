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

// StepHitView is an attempt of a step, found across runs, on the wire.
type StepHitView struct {
	Run       string     `json:"run"`
	Plan      string     `json:"plan"`
	Version   int        `json:"version,omitempty"`
	Seq       int64      `json:"seq" doc:"Its row of the run's journal."`
	Node      string     `json:"node"`
	Visit     int        `json:"visit"`
	Item      int        `json:"item" doc:"Index in a foreach, -1: none."`
	Attempt   int        `json:"attempt"`
	Status    NodeStatus `json:"status"`
	Code      string     `json:"code,omitempty"`
	Message   string     `json:"message,omitempty"`
	TookMs    int64      `json:"tookMs"`
	StartedAt time.Time  `json:"startedAt,omitzero"`
	At        time.Time  `json:"at"`
}

// ViewStepHit gives a hit as it is on the wire.
func ViewStepHit(h StepHit) StepHitView {
	return StepHitView{
		Run:       h.Run,
		Plan:      h.PlanKey,
		Version:   h.Version,
		Seq:       h.Seq,
		Node:      h.Node,
		Visit:     h.Visit,
		Item:      h.Item,
		Attempt:   h.Attempt,
		Status:    h.Status,
		Code:      h.Code,
		Message:   h.Message,
		TookMs:    h.Took().Milliseconds(),
		StartedAt: h.StartedAt,
		At:        h.At,
	}
}

// Hit gives the hit that a view shows.
func (v StepHitView) Hit() StepHit {
	return StepHit{
		Run:       v.Run,
		PlanKey:   v.Plan,
		Version:   v.Version,
		Seq:       v.Seq,
		Node:      v.Node,
		Visit:     v.Visit,
		Item:      v.Item,
		Attempt:   v.Attempt,
		Status:    v.Status,
		Code:      v.Code,
		Message:   v.Message,
		StartedAt: v.StartedAt,
		At:        v.At,
	}
}

// StepHits is one page of steps: runs were looked at back to Since, and Whole says
// that there are no others. Next goes on from there, also when the page is short.
type StepHits struct {
	Items []StepHit
	Next  string
	Since time.Time
	Whole bool
}

// PlanFlow is how the newest runs of a plan went through its nodes.
type PlanFlow struct {
	// Runs were looked at, back to Since; Whole says that they are all of the
	// window that was asked for.
	Runs  int
	Since time.Time
	Whole bool
	Nodes map[string]*NodeFlow
	// Edges says how often each edge was chosen, by its place in the document; where
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

// PlanFlowView is a PlanFlow on the wire.
type PlanFlowView struct {
	Runs  int                     `json:"runs" doc:"How many were looked at: the newest, at most 500."`
	Since time.Time               `json:"since,omitzero" doc:"When the oldest of them began."`
	Whole bool                    `json:"whole" doc:"They are all that began in the window."`
	Nodes map[string]NodeFlowView `json:"nodes"`
	Edges map[int]int             `json:"edges" doc:"How often each edge was chosen, by its place in the document."`
}

// NodeFlowView is how runs went through a node, on the wire.
type NodeFlowView struct {
	Runs     int           `json:"runs"`
	Settled  int           `json:"settled" doc:"Visits and items that ended."`
	Failed   int           `json:"failed" doc:"Of those."`
	Skipped  int           `json:"skipped" doc:"Of those."`
	Attempts int           `json:"attempts"`
	P50Ms    int64         `json:"p50Ms"`
	P95Ms    int64         `json:"p95Ms"`
	Failures []StepHitView `json:"failures" doc:"The last attempts that failed."`
	Slow     []StepHitView `json:"slow" doc:"The attempts that took longest."`
}

// ViewPlanFlow gives a flow as it is on the wire.
func ViewPlanFlow(f PlanFlow) PlanFlowView {
	v := PlanFlowView{Runs: f.Runs, Since: f.Since, Whole: f.Whole, Nodes: map[string]NodeFlowView{}, Edges: f.Edges}
	views := func(hits []StepHit) []StepHitView {
		out := make([]StepHitView, len(hits))
		for i, h := range hits {
			out[i] = ViewStepHit(h)
		}
		return out
	}
	for id, n := range f.Nodes {
		v.Nodes[id] = NodeFlowView{
			Runs:     n.Runs,
			Settled:  n.Settled,
			Failed:   n.Failed,
			Skipped:  n.Skipped,
			Attempts: n.Attempts,
			P50Ms:    n.P50.Milliseconds(),
			P95Ms:    n.P95.Milliseconds(),
			Failures: views(n.Failures),
			Slow:     views(n.Slow),
		}
	}
	return v
}

// Flow gives the flow that a view shows.
func (v PlanFlowView) Flow() PlanFlow {
	f := PlanFlow{Runs: v.Runs, Since: v.Since, Whole: v.Whole, Nodes: map[string]*NodeFlow{}, Edges: v.Edges}
	hits := func(views []StepHitView) []StepHit {
		out := make([]StepHit, len(views))
		for i, h := range views {
			out[i] = h.Hit()
		}
		return out
	}
	for id, n := range v.Nodes {
		f.Nodes[id] = &NodeFlow{Runs: n.Runs, Settled: n.Settled, Failed: n.Failed, Skipped: n.Skipped, Attempts: n.Attempts,
			P50: time.Duration(
				n.P50Ms,
			) * time.Millisecond, P95: time.Duration(n.P95Ms) * time.Millisecond, Failures: hits(n.Failures), Slow: hits(n.Slow)}
	}
	return f
}
