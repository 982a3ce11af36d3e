package planner

// Walk is where a run stands in its program: which visits are open, what they
// get as input, and what their outcomes lead to. It is pure and incremental
// (O(degree) per settlement), and not safe for concurrent use.
//
// A driver takes [Walk.Ready], runs each visit, and hands every final outcome
// to [Walk.Settle], which says what was decided. After a crash the same walk
// is rebuilt by [Walk.Replay] from recorded settlements and decisions.
type Walk struct {
	walkState
}

// VisitKey names one passage through a node. Visits count from 1.
type VisitKey struct {
	Node  int
	Visit int
}

// Status of a settled visit or item.
type Status string

const (
	Completed Status = "completed"
	Failed    Status = "failed"
	Skipped   Status = "skipped"
	Cancelled Status = "cancelled"
)

// Settlement tells the walk that a visit, or one item of a foreach visit,
// ended for good: retries are over. Item is -1 for a visit without foreach.
type Settlement struct {
	VisitKey
	Item    int
	Status  Status
	Output  any // JSON value as [Normalize] gives it
	Failure *Failure
}

// Decision is everything that was decided when a settlement was applied. It is
// stored with the settlement; replaying it needs no evaluation (ruling 9).
// The zero Decision stands for "the only, unconditional edge was taken" or
// "nothing was to be decided".
type Decision struct {
	// Edge is the taken edge's position in the document plus one; 0: none.
	Edge int    `json:"edge,omitempty"`
	To   string `json:"to,omitempty"`
	// Ended says why no edge was taken though the node has some.
	Ended string `json:"ended,omitempty"`
	// Evaluated lists every edge condition that was looked at, in order.
	Evaluated []Evaluation `json:"evaluated,omitempty"`
	// Settled lists nodes that were decided as a consequence, in order: ready
	// or skipped.
	Settled []Consequence `json:"settled,omitempty"`
	// Handled says what took care of a failure: "edge", "skip", "continue".
	Handled string `json:"handled,omitempty"`
	// Visit is set on the item's settlement that ended its foreach visit, to
	// the status with which the visit ended.
	Visit Status `json:"visit,omitempty"`
	// Failure is set when the decision itself failed the run: max_visits, a
	// failing expression, strict without match.
	Failure *Failure `json:"failure,omitempty"`
}

// Evaluation records one condition and the value it saw.
type Evaluation struct {
	To        string `json:"to,omitempty"`
	Condition string `json:"condition"`
	// Result is "true", "false", "not found", "fallback" or "error".
	Result string `json:"result"`
	// Saw is the text form of the left side, if at most 1 KiB, else its hash
	// as "sha256:…" (ruling 23).
	Saw string `json:"saw,omitempty"`
}

// Consequence is what became of a node because of another one's settlement.
type Consequence struct {
	Node   string `json:"node"`
	Visit  int    `json:"visit"`
	Status string `json:"status"` // "ready" or "skipped"
	Reason string `json:"reason,omitempty"`
	// Evaluated holds a `when:` condition that was looked at.
	Evaluated *Evaluation `json:"evaluated,omitempty"`
}

// Facts are what a walk knows of its run from the start.
type Facts struct {
	RunID  string
	Input  any // the run's input, a JSON value
	Memory any // what memory returned; nil: nothing
}

// Outcome is how a walk ended.
type Outcome struct {
	Done    bool
	Status  Status // Completed, Failed or Cancelled, once Done
	Output  any
	Failure *Failure // the first unhandled failure, if any
}

// Reset lists what a resume opens again (ruling 10). It is stored and replayed.
type Reset struct {
	// Reopened are visits that run again; items lists, for a foreach visit,
	// only those of its items that run again.
	Reopened []ResetVisit `json:"reopened"`
	// Forgotten are visits that were skipped or decided because of them.
	Forgotten []ResetVisit `json:"forgotten,omitempty"`
}

// ResetVisit names one visit in a [Reset].
type ResetVisit struct {
	Node  string `json:"node"`
	Visit int    `json:"visit"`
	Items []int  `json:"items,omitempty"`
}
