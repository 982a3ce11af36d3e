package domain

import (
	"encoding/json"
	"time"
)

// AuditRecord is a record that a checkpoint or an operation adds to the audit log. The store also
// adds one record per checkpoint ("checkpoint"). Events such as node_started and plan_step_* are
// derived from journal rows when the log is read.
type AuditRecord struct {
	Action  string // e.g. run.created, run.resume, approval.decide, login
	Actor   string // user or token name, "system", "cli:NAME"
	Source  string // ui, api, cli, engine
	Run     string
	Object  string // e.g. plan:invoice, user:marta
	Result  string // ok, denied, failed; empty means ok
	Reason  string
	Detail  RawJSON // small, with digests instead of payloads
	Request Request // zero for records of the engine
}

// AuditEvent is a stored record. Seq has no gaps and follows the commit order.
type AuditEvent struct {
	Seq    int64
	RunSeq int64 // position in the journal; 0 if there is none
	At     time.Time
	AuditRecord
	// FirstSeq is the first journal row of a "checkpoint" event, and RunSeq the last. One event
	// stands for all rows of the checkpoint.
	FirstSeq int64
	// Entry is the last journal row of a "checkpoint" event, and Entries holds all rows of it. Both
	// are set on request, and in events that the store publishes after a commit.
	Entry   *Entry
	Entries []Entry
	Mac     string // of the audit chain, hex
}

// AuditLink is a link of the audit chain. The store adds one per commit. A link covers all events
// since the previous link.
type AuditLink struct {
	Seq       int64  // the event that carries the link
	Mac       string // hex; empty if it has not been written
	Before    int64  // the event with the previous link; 0 at the beginning of the chain
	BeforeMac string
	Cut       int64 // last event that retention removed, or 0
	Last      int64 // newest event
}

// AuditCheck is the result of verifying the whole audit log.
type AuditCheck struct {
	Began  time.Time `json:"startedAt,omitzero"`
	Ended  time.Time `json:"endedAt,omitzero"` // zero while the check runs
	By     string    `json:"by,omitempty"`
	Events int64     `json:"events"`
	Links  int64     `json:"links"`
	Last   int64     `json:"lastEvent"` // newest event that was checked
	// Found is the number of problems. 0 means that no event was edited, removed, or reordered.
	// Problems holds the first of them.
	Found    int      `json:"found"`
	Problems []string `json:"problems"`
}

// ChangeDetail returns the audit detail of a change, with the values before and after.
func ChangeDetail(before, after any) RawJSON {
	b, err := json.Marshal(map[string]any{"before": before, "after": after})
	if err != nil {
		return nil // the values are plain
	}
	return b
}

// SplitDetail splits an audit detail into the values before and after, which may be nil, and the
// rest.
func SplitDetail(detail RawJSON) (before, after, rest RawJSON) {
	var m map[string]json.RawMessage
	if json.Unmarshal(detail, &m) != nil {
		return nil, nil, detail
	}
	before, after = RawJSON(m["before"]), RawJSON(m["after"])
	if before == nil || after == nil {
		return nil, nil, detail
	}
	delete(m, "before")
	delete(m, "after")
	if len(m) == 0 {
		return before, after, nil
	}
	b, err := json.Marshal(m)
	if err != nil {
		return before, after, nil // it was valid JSON
	}
	return before, after, b
}
