package domain

import "time"

// Reasons for a [Hold].
const (
	// HoldRolledBack: the database is older than the audit anchor beside it.
	HoldRolledBack = "rolled_back"
	// HoldRestored: an operator restored a backup.
	HoldRestored = "restored"
	// HoldKeyLost: the database continues without the key file that authenticates it.
	HoldKeyLost = "key_lost"
)

// ApprovalKeyLost is the comment of an approval request that was cancelled because the
// key file was lost.
const ApprovalKeyLost = "the origin of this request is unknown because the key file was lost"

// Hold states why nothing is executed: the database was taken back to an earlier
// state, so what happened outside since then is unknown to it (G15). Runs that
// were unfinished wait with reason held, and so does every run that is started
// while the hold lasts, until an operator releases them.
type Hold struct {
	Reason string    `json:"reason"` // one of the constants above
	Since  time.Time `json:"since"`
	// Backup is the file that was restored.
	Backup string `json:"backup,omitempty"`
	// Last is the newest audit event that the database has. If events after it
	// are known to be lost, Lost is the newest of them; 0: none that is known.
	Last int64 `json:"last"`
	Lost int64 `json:"lost,omitempty"`
	// Held is how many runs were unfinished and now wait.
	Held int64 `json:"held"`
}
