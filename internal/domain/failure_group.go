package domain

import "time"

// FailureRef identifies a failure group: failures of one plan, at one node, with one error code,
// and with messages that differ only in numbers, IDs, times, and quoted values.
type FailureRef struct {
	PlanKey string `json:"-"`
	Node    string `json:"node"`
	Code    string `json:"code"`
	// Fingerprint is the fingerprint of the messages. Empty means any.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Covers reports whether the failures of other are among those of r.
func (r FailureRef) Covers(other FailureRef) bool {
	return r.PlanKey == other.PlanKey && r.Node == other.Node && r.Code == other.Code &&
		(r.Fingerprint == "" || r.Fingerprint == other.Fingerprint)
}

// FailureGroup groups the failed runs of a plan that have the same failure and were not
// acknowledged. An outage that fails 400 runs is one group.
type FailureGroup struct {
	// Plan is the plan of the runs, in the version of the newest run.
	Plan        PlanRef `json:"plan"`
	Node        string  `json:"node"`
	Code        string  `json:"code"`
	Fingerprint string  `json:"fingerprint"` // see FailureRef
	Runs        int64   `json:"runs"`
	// First and Last are the times of the first and the newest failure.
	First time.Time `json:"firstAt"`
	Last  time.Time `json:"lastAt"`
	// Newest is the run that failed last, and Headline its status message.
	Newest   string `json:"newest"`
	Headline string `json:"statusMessage"`
	// Message is Headline with its arguments kept apart.
	Message Message `json:"-"`
	// Ack is the acknowledgment of an earlier failure of the group. The failure has occurred again
	// since.
	Ack *FailureAck `json:"acknowledgement,omitempty"`
}

// Ref identifies the group.
func (g FailureGroup) Ref() FailureRef { return FailureRef{g.Plan.Key, g.Node, g.Code, g.Fingerprint} }

// FailureAck records that a person acknowledged failures. Their runs need no attention until they
// fail again.
type FailureAck struct {
	FailureRef
	Plan  PlanRef `json:"plan"`
	Actor string  `json:"actor"`
	Note  string  `json:"note"`
	Runs  int64   `json:"runs"` // number of runs that needed attention
	// Headline is the status message of the newest run.
	Headline string    `json:"statusMessage,omitempty"`
	Message  Message   `json:"-"` // Headline with its arguments kept apart
	At       time.Time `json:"acknowledgedAt"`
}

// FailureOrigin compares the first failed run of a group with the last successful run before it.
// The differences may be the cause.
type FailureOrigin struct {
	// Version is the version of the plan in the first failed run, and FirstAt the time at which
	// that run was created.
	Version int       `json:"version"`
	FirstAt time.Time `json:"firstAt"`
	// Good is the last successful run of the plan before it, or empty. GoodVersion is its version,
	// and GoodAt the time at which it was created.
	Good        string    `json:"good,omitempty"`
	GoodVersion int       `json:"goodVersion,omitempty"`
	GoodAt      time.Time `json:"goodAt,omitzero"`
}

// OutcomeSlot is the time span of an [Outcome].
const OutcomeSlot = 30 * time.Minute

// Outcome counts the runs of a plan that ended with one status in one slot. A run that was resumed
// and ended again counts twice.
type Outcome struct {
	PlanKey string    `json:"plan"`
	From    time.Time `json:"from"` // start of the slot
	Status  RunStatus `json:"status"`
	Runs    int64     `json:"runs"`
}
