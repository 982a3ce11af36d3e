package domain

import (
	"encoding/json"
	"time"
)

// AuditRecord is an act that a checkpoint or a command adds to the audit log.
// The store adds one record of its own per checkpoint ("checkpoint"); started,
// decision and plan_step_* events are derived from journal rows when read.
type AuditRecord struct {
	Action  string // e.g. run.created, run.resume, approval.decide, login
	Actor   string // user or token name, "system", "cli:NAME"
	Surface string // ui, api, cli, engine
	Run     string
	Object  string // e.g. plan:invoice, user:marta
	Result  string // ok, denied, failed; empty: ok
	Reason  string
	Detail  RawJSON // small; digests rather than payloads
	Request Request // by which it was done; the engine's own records have none
}

// AuditEvent is a stored record. Seq is global, gapless and commit order.
type AuditEvent struct {
	Seq    int64
	RunSeq int64 // journal position it speaks of, 0: none
	At     time.Time
	AuditRecord
	// FirstSeq is the first journal row of a "checkpoint" event; RunSeq is its
	// last. One record stands for all rows of the checkpoint.
	FirstSeq int64
	// Entry is the journal row a checkpoint event points at (its last);
	// Entries are all rows of the checkpoint. Both are filled on request, and
	// for the events that the store hands out after a commit.
	Entry   *Entry
	Entries []Entry
	Mac     string // link of the chain, hex
}

// AuditLink is where in the chain of the audit log an event stands. A link is
// made once per commit and covers every event since the link before it.
type AuditLink struct {
	Seq       int64  // of the event that carries the link
	Mac       string // hex; empty: not written yet
	Before    int64  // of the event that carries the link before; 0: the chain begins here
	BeforeMac string
	Cut       int64 // last event that retention removed; 0: none
	Last      int64 // newest event
}

// AuditCheck is a verification of the whole audit log.
type AuditCheck struct {
	Began  time.Time `json:"startedAt,omitzero"`
	Ended  time.Time `json:"endedAt,omitzero"` // zero: it is active
	By     string    `json:"by,omitempty"`
	Events int64     `json:"events"`
	Links  int64     `json:"links"`
	Last   int64     `json:"lastEvent"` // newest event that was read
	// Found is how many things do not fit; 0: nothing was edited, removed or
	// reordered. Problems are the first of them.
	Found    int      `json:"found"`
	Problems []string `json:"problems"`
}

// ChangeDetail is the detail of an act that changed something: how it was before,
// and how it is now.
func ChangeDetail(before, after any) RawJSON {
	b, err := json.Marshal(map[string]any{"before": before, "after": after})
	if err != nil {
		return nil // plain values only
	}
	return b
}

// SplitDetail takes a detail apart: what was before, what is after (nil: it does
// not say), and everything else.
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
		return before, after, nil // it was JSON before
	}
	return before, after, b
}
