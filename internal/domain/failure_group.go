package domain

import "time"

// FailureRef names failures that are fingerprint: of one plan, at one node, with one
// error code, whose messages say the same but for numbers, ids, times and quoted
// values.
type FailureRef struct {
	PlanKey string `json:"-"`
	Node    string `json:"node"`
	Code    string `json:"code"`
	// Fingerprint is of their messages, as the function Fingerprint gives it; empty: whatever
	// they say.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Covers reports whether failures of another name are among those of this one.
func (r FailureRef) Covers(other FailureRef) bool {
	return r.PlanKey == other.PlanKey && r.Node == other.Node && r.Code == other.Code &&
		(r.Fingerprint == "" || r.Fingerprint == other.Fingerprint)
}

// FailureGroup is all failed runs of a plan that failed alike and that no one has
// acknowledged: an outage that fails 400 runs is one group.
type FailureGroup struct {
	// Plan is that of the runs, in the version of the newest.
	Plan        PlanRef `json:"plan"`
	Node        string  `json:"node"`
	Code        string  `json:"code"`
	Fingerprint string  `json:"fingerprint"` // their messages, see FailureRef
	Runs        int64   `json:"runs"`
	// First and Last are when the first and the newest of them failed.
	First time.Time `json:"firstAt"`
	Last  time.Time `json:"lastAt"`
	// Newest is the run that failed last, Headline its status message.
	Newest   string `json:"newest"`
	Headline string `json:"headline"`
	// Message is Headline with its arguments kept apart.
	Message Message `json:"-"`
	// Ack is who acknowledged failures like these before; they have come back.
	Ack *FailureAck `json:"acknowledgement,omitempty"`
}

// Ref names the group.
func (g FailureGroup) Ref() FailureRef { return FailureRef{g.Plan.Key, g.Node, g.Code, g.Fingerprint} }

// FailureAck reports that a person acknowledged failures. The runs it was about
// need no attention any more; one that fails again does.
type FailureAck struct {
	FailureRef
	Plan  PlanRef `json:"plan"`
	Actor string  `json:"actor"`
	Note  string  `json:"note"`
	Runs  int64   `json:"runs"` // that needed attention then
	// Headline is what the newest of them said.
	Headline string    `json:"headline,omitempty"`
	Message  Message   `json:"-"` // Headline with its arguments kept apart
	At       time.Time `json:"acknowledgedAt"`
}

// FailureOrigin is what went before the first failure of a group that still
// needs attention. What changed between the two runs is why it may have begun.
type FailureOrigin struct {
	// Version is the plan's in the first run that failed so, FirstAt when that run
	// was created.
	Version int       `json:"version"`
	FirstAt time.Time `json:"firstAt"`
	// Good is the last run of the plan before it that succeeded, empty if there
	// was none; GoodVersion its version, GoodAt when it was created.
	Good        string    `json:"good,omitempty"`
	GoodVersion int       `json:"goodVersion,omitempty"`
	GoodAt      time.Time `json:"goodAt,omitzero"`
}

// OutcomeSlot is the time that an Outcome counts.
const OutcomeSlot = 30 * time.Minute

// Outcome counts the runs of a plan that ended one way in one slot; a run that
// is resumed and ends again has ended twice.
type Outcome struct {
	PlanKey string    `json:"plan"`
	From    time.Time `json:"from"` // the slot's beginning
	Status  RunStatus `json:"status"`
	Runs    int64     `json:"runs"`
}
