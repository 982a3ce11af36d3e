package domain

import "time"

// Memory is one exchange of a session: the request of a run, and its
// answer. Owner is who started the run: no one else's runs are notified of it.
type Memory struct {
	Owner   string    `json:"owner"`
	Session string    `json:"session"`
	Run     string    `json:"run"` // where it comes from
	Input   string    `json:"input"`
	Output  string    `json:"output"`
	At      time.Time `json:"createdAt"`
}

// MaxMemory bounds each text of an exchange, in bytes; longer ones are cut.
const MaxMemory = 16 << 10

// MemorySession is a session that remembers something.
type MemorySession struct {
	Session   string    `json:"session"`
	Exchanges int64     `json:"exchanges"`
	LastAt    time.Time `json:"lastAt,omitzero"`
}

// CheckMemoryOwner refuses a principal who may not see what an owner's sessions
// remember: CodeForbidden. One's own may be seen; those of others by admins.
func CheckMemoryOwner(who Actor, owner string) error {
	if owner == who.Name || who.Role.Includes(RoleAdmin) {
		return nil
	}
	return Errorf(CodeForbidden, "what others' sessions remember is for admins")
}
