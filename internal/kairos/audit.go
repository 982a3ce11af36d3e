package kairos

import "time"

// AuditRecord is an act that a checkpoint or a command adds to the audit log.
// The store adds one record of its own per checkpoint ("checkpoint"); started,
// decision and plan_step_* events are derived from journal rows when read
// (ruling 18).
type AuditRecord struct {
	Action  string // e.g. run.created, run.resume, approval.decide, login
	Actor   string // user or token name, "system", "cli:NAME"
	Surface string // ui, api, cli, engine
	Run     string
	Object  string // e.g. plan:invoice, user:marta
	Result  string // ok, denied, failed; empty: ok
	Reason  string
	Detail  RawJSON // small; digests rather than payloads (ruling 19)
}

// AuditEvent is a stored record. Seq is global, gapless and commit order.
type AuditEvent struct {
	Seq    int64
	RunSeq int64 // journal position it speaks of, 0: none
	At     time.Time
	AuditRecord
	// FirstSeq is the first journal row of a "checkpoint" event; RunSeq is its
	// last. One record stands for all rows of the checkpoint (ruling 18).
	FirstSeq int64
	// Entry is the journal row a checkpoint event points at (its last);
	// Entries are all rows of the checkpoint. Both are filled on request, and
	// for the events that the store hands out after a commit.
	Entry   *Entry
	Entries []Entry
	Mac     string // link of the chain, hex
}

// Event is what listeners get: derived from an audit event, one or more each.
// ID is "<incarnation>-<seq>" for the last event of a row; live-only events
// (a node's start) have none and are not replayed.
type Event struct {
	ID     string    `json:"id,omitempty"`
	Seq    int64     `json:"seq,omitempty"`
	Type   string    `json:"type"` // run_created, run_status, node_started, node_completed, …
	Run    string    `json:"runId,omitempty"`
	RunSeq int64     `json:"runSeq,omitempty"`
	At     time.Time `json:"at"`
	Data   any       `json:"data,omitempty"`
}
