package domain

import "time"

// BulkState is where a bulk operation stands.
type BulkState string

const (
	// BulkCanary: one run was acted on; the rest waits for what becomes of it.
	BulkCanary BulkState = "canary"
	// BulkRunning: runs are acted on, one after the other, at the rate.
	BulkRunning BulkState = "running"
	// BulkStopped: it ended early; Note states why. What was not reached is as it was.
	BulkStopped BulkState = "stopped"
	// BulkDone: every run was acted on, or refused.
	BulkDone BulkState = "done"
)

// BulkStates lists all states of a bulk operation.
var BulkStates = []BulkState{BulkCanary, BulkRunning, BulkStopped, BulkDone}

// Final reports whether nothing happens any more.
func (s BulkState) Final() bool { return s == BulkStopped || s == BulkDone }

// BulkRequest asks for one bulk operation: those that Query selects, or Runs.
type BulkRequest struct {
	Action Action   `json:"action"`
	Query  string   `json:"filter,omitempty"`
	Runs   []string `json:"runs,omitempty"`
	Reason string   `json:"reason,omitempty"`
	// Canary acts on one run first and on the rest only if that does not fail.
	Canary bool `json:"canary"`
	// Rate is how many runs are acted on per minute; 0: as fast as it goes.
	Rate int `json:"rate"`
	// Labels are given to the runs by ActionLabel.
	Labels map[string]string `json:"labels,omitempty"`
	// NotBefore is when it begins; zero: at once. Provider, if not empty, must take
	// calls for it to begin, and to continue; after a canary that failed as before, the
	// next run is one. Tool is the same of a tool, or of one host of it, as
	// [CircuitName] writes them.
	NotBefore time.Time `json:"startAt,omitzero"`
	Provider  string    `json:"provider,omitempty"`
	Tool      string    `json:"tool,omitempty"`
	// Digest is a preview's; CodeStale if other runs would be acted on by now.
	Digest string `json:"digest,omitempty"`
}

// BulkPreview states what a BulkRequest would do.
type BulkPreview struct {
	Action Action `json:"action"`
	// Eligible is how many of the Matching runs the act is possible on; Refused
	// counts the others by the reason.
	Matching int            `json:"matching"`
	Eligible int            `json:"eligible"`
	Refused  map[string]int `json:"refused"`
	// Refusals are the messages of these reasons.
	Refusals map[string]Message `json:"-"`
	// More: there are more matching runs than one bulk operation takes.
	More   bool      `json:"more"`
	At     time.Time `json:"createdAt"`
	Digest string    `json:"digest"`
	// First is the run that would be the canary, and what the act does to it.
	First   string   `json:"first"`
	Preview *Preview `json:"preview,omitempty"`
	// Circuits are those that are open of the tools which the runs call where they
	// continue: as it is now, their calls would be refused.
	Circuits []ToolCircuit `json:"circuits,omitempty"`
	// Sample are the first eligible runs.
	Sample []Run `json:"-"`
}

// Bulk is one bulk operation. It is stored and continues after a restart.
type Bulk struct {
	ID        string            `json:"id"`
	Action    Action            `json:"action"`
	Query     string            `json:"filter"`
	Reason    string            `json:"reason"`
	Actor     string            `json:"actor"`
	Role      Role              `json:"role"`
	Surface   string            `json:"surface"`
	Canary    bool              `json:"canary"`
	Rate      int               `json:"rate"`
	Labels    map[string]string `json:"labels,omitempty"`
	NotBefore time.Time         `json:"startAt,omitzero"`
	Provider  string            `json:"provider,omitempty"`
	Tool      string            `json:"tool,omitempty"`
	State     BulkState         `json:"status"`
	// Note states why it was stopped.
	Note      string    `json:"note"`
	Total     int64     `json:"total"`
	CreatedAt time.Time `json:"createdAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	// Acted and Refused count the runs that the act was done to, or could not be.
	Acted   int64 `json:"acted"`
	Refused int64 `json:"refused"`
}

// BulkItem is one run of a bulk operation.
type BulkItem struct {
	Position int64  `json:"position"`
	Run      string `json:"run"`
	// Rev is the revision of the run that the operator saw.
	Rev int64 `json:"rev"`
	// Node and Code are how the run had failed.
	Node  string `json:"node,omitempty"`
	Code  string `json:"code,omitempty"`
	State string `json:"status"` // pending, acted, refused
	// Result is the run that came of a rerun; Detail states why it was refused.
	Result string `json:"result,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Message is Detail with its arguments kept apart.
	Message Message   `json:"-"`
	At      time.Time `json:"actedAt,omitzero"`
}

// BulkMax is how many runs one bulk operation takes at most.
const BulkMax = 10_000
