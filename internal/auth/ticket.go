package auth

import (
	"maps"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// SecondFactorNeeded reports that a password was correct and a code is required. Ticket identifies
// the login, which waits for the code for five minutes.
type SecondFactorNeeded struct{ Ticket string }

func (*SecondFactorNeeded) Error() string { return "a code of the second factor is required" }

// NeedsCode returns the ticket of a login that waits for a code.
func (e *SecondFactorNeeded) NeedsCode() string { return e.Ticket }

// ticket is a login that waits for its code. It ends when the password changes.
type ticket struct {
	user  string
	hash  string // of the correct password
	ends  time.Time
	tries int
}

const (
	ticketLifetime = 5 * time.Minute
	ticketTries    = 5
	maxTickets     = 1000
)

// tickets contains the logins that wait for a code.
type tickets struct {
	mu     sync.Mutex
	byHash map[string]*ticket
}

// open keeps a login with a correct password until its code arrives. The error contains the ticket.
func (t *tickets) open(u domain.User, now time.Time) error {
	secret := newSecret()
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.byHash, func(_ string, k *ticket) bool { return !now.Before(k.ends) })
	if len(t.byHash) >= maxTickets {
		return tooMany(ticketLifetime)
	}
	t.byHash[hashOf(secret)] = &ticket{user: u.ID, hash: u.PasswordHash, ends: now.Add(ticketLifetime)}
	return &SecondFactorNeeded{Ticket: secret}
}

// drop ends the logins of a user that wait for a code.
func (t *tickets) drop(userID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.byHash, func(_ string, k *ticket) bool { return k.user == userID })
}

// use counts a code for a ticket. It returns nil if the ticket does not exist or has expired.
func (t *tickets) use(hash string, now time.Time) *ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.byHash[hash]
	if k == nil {
		return nil
	}
	if k.tries++; k.tries > ticketTries || !now.Before(k.ends) {
		delete(t.byHash, hash)
		return nil
	}
	return k
}

// end removes a ticket when its login is complete.
func (t *tickets) end(hash string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byHash, hash)
}
