package domain

import "time"

// BulkState is the status of a bulk operation.
type BulkState string

const (
	// BulkCanary means that the first run has been processed, and the others wait for its result.
	BulkCanary BulkState = "canary"
	// BulkRunning means that the runs are processed one after the other at the configured rate.
	BulkRunning BulkState = "running"
	// BulkStopped means that the operation ended early. Note gives the reason. The remaining runs
	// were not changed.
	BulkStopped BulkState = "stopped"
	// BulkDone means that every run was processed.
	BulkDone BulkState = "done"
)

// BulkStates lists all states.
var BulkStates = []BulkState{BulkCanary, BulkRunning, BulkStopped, BulkDone}

// Final reports whether the operation has ended.
func (s BulkState) Final() bool { return s == BulkStopped || s == BulkDone }

// BulkRequest is a request for a bulk operation on the runs that Query selects, or on Runs.
type BulkRequest struct {
	Action Action   `json:"action"`
	Query  string   `json:"filter,omitempty"`
	Runs   []string `json:"runs,omitempty"`
	Reason string   `json:"reason,omitempty"`
	// Canary processes one run first, and the others only if that run does not fail.
	Canary bool `json:"canary"`
	// Rate is the number of runs per minute. 0 means no limit.
	Rate int `json:"rate"`
	// Labels are added to the runs, for ActionLabel.
	Labels map[string]string `json:"labels,omitempty"`
	// NotBefore is the start time. Zero means at once. Provider, if not empty, must accept calls
	// before the operation starts or continues. If the canary fails again with the same error, the
	// next run becomes the canary. Tool is the same for a tool, or for one host of it, as
	// [CircuitName] formats it.
	NotBefore time.Time `json:"startAt,omitzero"`
	Provider  string    `json:"provider,omitempty"`
	Tool      string    `json:"tool,omitempty"`
	// Digest, if not empty, is the digest of a preview. If the selected runs have changed, the
	// error has CodeStale.
	Digest string `json:"digest,omitempty"`
}

// BulkPreview shows what a [BulkRequest] would do.
type BulkPreview struct {
	Action Action `json:"action"`
	// Eligible is the number of Matching runs for which the action is possible. Refused counts the
	// others by reason.
	Matching int            `json:"matching"`
	Eligible int            `json:"eligible"`
	Refused  map[string]int `json:"refused"`
	// Refusals holds the message of each reason in Refused.
	Refusals map[string]Message `json:"-"`
	// More reports that more runs match than one bulk operation accepts.
	More   bool      `json:"more"`
	At     time.Time `json:"createdAt"`
	Digest string    `json:"digest"`
	// First is the run that would be the canary, and Preview the preview of its action.
	First   string   `json:"first"`
	Preview *Preview `json:"preview,omitempty"`
	// Circuits holds the open circuits of tools that the runs would call. Such calls would be
	// refused now.
	Circuits []ToolCircuit `json:"circuits,omitempty"`
	// Sample holds the first eligible runs.
	Sample []Run `json:"-"`
}

// Bulk is a bulk operation. It is stored, and continues after a restart.
type Bulk struct {
	ID        string            `json:"id"`
	Action    Action            `json:"action"`
	Query     string            `json:"filter"`
	Reason    string            `json:"reason"`
	Actor     string            `json:"actor"`
	Role      Role              `json:"role"`
	Source    string            `json:"source"`
	Canary    bool              `json:"canary"`
	Rate      int               `json:"rate"`
	Labels    map[string]string `json:"labels,omitempty"`
	NotBefore time.Time         `json:"startAt,omitzero"`
	Provider  string            `json:"provider,omitempty"`
	Tool      string            `json:"tool,omitempty"`
	State     BulkState         `json:"status"`
	// Note is the reason why it stopped.
	Note      string    `json:"note"`
	Total     int64     `json:"total"`
	CreatedAt time.Time `json:"createdAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	// Acted counts the runs whose action was carried out, and Refused the runs for which it was not
	// possible.
	Acted   int64 `json:"acted"`
	Refused int64 `json:"refused"`
}

// BulkItem is one run of a bulk operation.
type BulkItem struct {
	Position int64  `json:"position"`
	Run      string `json:"run"`
	// Rev is the revision of the run that the operator saw.
	Rev int64 `json:"rev"`
	// Node and Code identify the failure of the run.
	Node  string `json:"node,omitempty"`
	Code  string `json:"code,omitempty"`
	State string `json:"status"` // pending, acted, refused
	// Result is the ID of the run that a rerun started. Detail is the reason of a refusal.
	Result string `json:"result,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Message is Detail with its arguments kept apart.
	Message Message   `json:"-"`
	At      time.Time `json:"actedAt,omitzero"`
}

// BulkItemFilter selects runs of a bulk operation after a position, in order. An empty state selects all.
type BulkItemFilter struct {
	Bulk  string
	State string
	After int64
	Limit int
}

// MaxBulkRuns is the maximum number of runs of one bulk operation.
const MaxBulkRuns = 10_000
