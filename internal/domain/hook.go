package domain

import (
	"maps"
	"slices"
	"time"
)

// OriginHook marks runs that a delivery to a hook started.
const OriginHook = "hook"

// HookScheme is how the sender of a delivery proves its identity.
type HookScheme string

const (
	HookStandard HookScheme = "standard" // Standard Webhooks
	HookGitHub   HookScheme = "github"
	HookStripe   HookScheme = "stripe"
	HookSlack    HookScheme = "slack"
	HookBearer   HookScheme = "bearer" // a token in Authorization
	HookFiles    HookScheme = "files"  // no sender: kairosd finds new files in a directory
)

// HookSchemes lists all values.
var HookSchemes = []HookScheme{HookStandard, HookGitHub, HookStripe, HookSlack, HookBearer, HookFiles}

// Valid reports whether the value is known.
func (s HookScheme) Valid() bool { return slices.Contains(HookSchemes, s) }

// Limits of hooks.
const (
	// MaxHookBody is the maximum size of a delivery.
	MaxHookBody = 1 << 20
	// HookTolerance is how far the timestamp of a delivery may be from the time of its arrival.
	HookTolerance = 5 * time.Minute
	// HookRetention is how long deliveries are kept, and a repeated event is recognized.
	HookRetention = 30 * 24 * time.Hour
	// HookRate and HookBurst limit the deliveries of verified senders to a hook, per second and at once. A
	// configured rate replaces HookRate, and changes the other limits in proportion.
	HookRate, HookBurst = 20, 100
	// HookSenderRate and HookSenderBurst limit the requests from one address to all hooks.
	HookSenderRate, HookSenderBurst = 50, 200
	// StoredRefusals is how many deliveries of senders that are not verified a hook stores, before it
	// stores one per minute.
	StoredRefusals = 60
	// SettleDefault, SettleMin, and SettleMax are how long a file must be unchanged before it is delivered.
	SettleDefault, SettleMin, SettleMax = 5 * time.Second, time.Second, time.Hour
	// MaxWatchedFiles and MaxWatchedEntries limit the files that match the pattern of a hook, and the
	// entries of directories that are read to find them.
	MaxWatchedFiles, MaxWatchedEntries = 10_000, 100_000
	// MaxWatchedDepth is the maximum number of parts of a pattern below the permitted directory.
	MaxWatchedDepth = 8
	// MaxFileStarts is how many files of a hook are delivered at once. The others follow a second later.
	MaxFileStarts = 100
	// MaxReplays is the maximum number of deliveries that one operation replays.
	MaxReplays = 1000
)

// HookSpec is what a person defines about a hook.
type HookSpec struct {
	Scheme HookScheme
	// Secret is the name of a secret of the configuration. It is empty if the scheme is HookFiles.
	Secret string
	// Files is the pattern of the files that are delivered, such as /data/in/*.csv, and Settle is how long
	// a file must be unchanged before that. Both are zero unless the scheme is HookFiles.
	Files  string
	Settle time.Duration
	// Filter, Input, Signal, and SignalKey are CEL expressions. An empty filter accepts all. An empty
	// input is the body.
	Filter, Input     string
	Signal, SignalKey string
	Profile           string // of the runs
	Labels            map[string]string
}

// Hook is an address to which another system delivers events. A delivery starts a run of a plan, or
// sends a signal.
type Hook struct {
	ID, Key string
	// PlanID and PlanKey are empty if deliveries send a signal.
	PlanID, PlanKey string
	Version         int // 0 is the current version
	HookSpec
	// Paused is why deliveries are refused.
	Paused *Disablement
	// Last is the newest delivery, in lists. It is nil if there is none.
	Last                 *HookDelivery
	Actor                string // created the hook or changed it last; the actor of its runs
	Rev                  int64
	CreatedAt, UpdatedAt time.Time
}

// WatchedFile is a file that was delivered to a hook.
type WatchedFile struct {
	Event string // path, size, and modification time
	Gone  bool   // the file was deleted or changed after that
}

// RunLabels returns the labels of the runs that a hook starts.
func (h *Hook) RunLabels() map[string]string {
	labels := maps.Clone(h.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels["hook"] = h.Key
	return labels
}

// HookFilter selects hooks. Zero fields do not restrict.
type HookFilter struct {
	Text string // part of the key
	Page Page
}

// DeliveryState is the outcome of a delivery.
type DeliveryState string

const (
	DeliveryAccepted  DeliveryState = "accepted"  // it started a run, or sent a signal
	DeliveryDuplicate DeliveryState = "duplicate" // a delivery with its key was accepted before
	DeliveryFiltered  DeliveryState = "filtered"  // the filter does not select it
	DeliveryRefused   DeliveryState = "refused"
)

// DeliveryStates lists all values.
var DeliveryStates = []DeliveryState{DeliveryAccepted, DeliveryDuplicate, DeliveryFiltered, DeliveryRefused}

// HookDelivery is a request to a hook.
type HookDelivery struct {
	ID     string
	HookID string
	Hook   string // key
	// Key is the ID of the event. For a replay, it names the original and the operation. Of the
	// deliveries with one key, one is accepted.
	Key string
	// Event is the ID of the event at the sender, also for a replay.
	Event string
	State DeliveryState
	// Reason is a code, and Message explains it, unless the delivery was accepted.
	Reason  string
	Message string
	// Headers, without credentials, and Body are empty in lists. Only verified senders have a body.
	Headers map[string]string
	Body    string
	Size    int
	Remote  string // address of the sender
	// Verified reports that the sender was verified. Only such deliveries can be replayed.
	Verified bool
	// Run or Signal is what an accepted delivery led to.
	Run, Signal string
	// ReplayOf is the delivery that this one repeats.
	ReplayOf   string
	ReceivedAt time.Time
}

// CheckReplay returns an error with CodeConflict if the delivery cannot be replayed.
func (d *HookDelivery) CheckReplay() error {
	if !d.Verified || d.State == DeliveryDuplicate {
		return Errorf(CodeConflict, "delivery %s cannot be replayed", ShortID(d.ID)).
			Suggest("replay deliveries of verified senders, and the first one of duplicates")
	}
	return nil
}

// DeliveryFilter selects deliveries to a hook. Zero fields do not restrict.
type DeliveryFilter struct {
	Hook  string // ID
	State DeliveryState
	Page  Page
}

// ReplayFilter selects the deliveries of verified senders that a replay repeats: one of each event, and
// none of events that were accepted later.
type ReplayFilter struct {
	Hook  string // ID
	State DeliveryState
	Since time.Time
	Limit int
}

// ReplayRequest is a request to replay deliveries.
type ReplayRequest struct {
	Hook       Hook
	Deliveries []string
	Canary     bool
	Rate       int
	Reason     string
}
