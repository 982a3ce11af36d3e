package domain

import "time"

// Reasons for a [Hold].
const (
	// HoldRolledBack means that the database is older than the audit anchor next to it.
	HoldRolledBack = "rolled_back"
	// HoldRestored means that an operator restored a backup.
	HoldRestored = "restored"
	// HoldKeyLost means that the database continues without the key file that authenticates it.
	HoldKeyLost = "key_lost"
)

// ApprovalKeyLost is the comment of an approval request that was cancelled because the
// key file was lost.
const ApprovalKeyLost = "the origin of this request is unknown because the key file was lost"

// Hold is the reason why no step starts: the database was reset to an earlier state, and does not
// record what happened since then. Unfinished runs wait with reason held, and so do runs that start
// during the hold, until an operator releases them.
type Hold struct {
	Reason string    `json:"reason"` // one of the constants above
	Since  time.Time `json:"startedAt"`
	// Backup is the path of the restored file.
	Backup string `json:"backup,omitempty"`
	// Last is the newest audit event of the database. Lost is the newest event that is known to be
	// lost, or 0.
	Last int64 `json:"last"`
	Lost int64 `json:"lost,omitempty"`
	// Held is the number of unfinished runs that wait.
	Held int64 `json:"held"`
}
