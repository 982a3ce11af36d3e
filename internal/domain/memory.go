package domain

import "time"

// Memory is an exchange of a session: the request of a run and its answer. Owner is the person who
// started the run. Only runs of the same owner read it.
type Memory struct {
	Owner   string    `json:"owner"`
	Session string    `json:"session"`
	Run     string    `json:"run"` // the run of the exchange
	Input   string    `json:"input"`
	Output  string    `json:"output"`
	At      time.Time `json:"createdAt"`
}

// MaxMemory limits each text of an exchange, in bytes. Longer texts are cut.
const MaxMemory = 16 << 10

// MemorySession is a session with a memory.
type MemorySession struct {
	Session   string    `json:"session"`
	Exchanges int64     `json:"exchanges"`
	LastAt    time.Time `json:"lastAt,omitzero"`
}

// CheckMemoryOwner returns an error with CodeForbidden if who may not read the memory of an owner.
// Admins may read all memories, and others only their own.
func CheckMemoryOwner(who Actor, owner string) error {
	if owner == who.Name || who.Role.Includes(RoleAdmin) {
		return nil
	}
	return Errorf(CodeForbidden, "only an admin can read the memory of other users' sessions")
}
