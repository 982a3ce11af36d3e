package auth

import (
	"net/netip"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

const (
	// addressBurst is the number of failures that an address may cause at once. Each refill permits
	// one more attempt.
	addressBurst  = 10
	addressRefill = 6 * time.Second
	// accountFree is the number of failures of an account without a wait. The wait doubles with
	// each further failure, up to accountWait.
	accountFree = 5
	accountWait = 5 * time.Minute
	// accountForget is the time without failures after which an account's failures are cleared.
	accountForget = 30 * time.Minute

	retrySoon = 2 * time.Second
	// throttleSize limits the memory that an attacker can use.
	throttleSize = 20_000
)

// throttle slows down guessing: per address, and per account over all addresses. Attempts from
// other addresses on an account do not slow down a person who has logged in from an address before.
type throttle struct {
	mu        sync.Mutex
	addresses map[string]*bucket
	accounts  map[string]*failures
	known     map[device]time.Time
}

type bucket struct {
	left    float64
	at      time.Time
	blocked bool // whether the current wait was reported
}

type failures struct {
	count   int
	at      time.Time
	blocked bool // whether the current wait was reported
}

type device struct{ account, address string }

func newThrottle() *throttle {
	return &throttle{addresses: map[string]*bucket{}, accounts: map[string]*failures{}, known: map[device]time.Time{}}
}

// allow returns how long this attempt must wait; 0 permits it. first reports the first refusal of a
// wait, which is worth recording. A permitted attempt counts as a failure at once, so that many
// concurrent attempts cannot pass together; succeeded undoes that. If the account is not known yet,
// only the address counts.
func (t *throttle) allow(now time.Time, account, address string) (wait time.Duration, first bool) {
	address = network(address)
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.addresses[address]
	if b == nil {
		makeRoom(t.addresses, func(b *bucket) time.Time { return b.at })
		b = &bucket{left: addressBurst, at: now}
		t.addresses[address] = b
	}
	b.left = min(addressBurst, b.left+now.Sub(b.at).Seconds()/addressRefill.Seconds())
	b.at = now
	if b.left < 1 {
		first, b.blocked = !b.blocked, true
		return time.Duration((1 - b.left) * float64(addressRefill)), first
	}
	if account == "" {
		b.left, b.blocked = b.left-1, false
		return 0, false
	}
	f := t.accounts[account]
	if f == nil {
		makeRoom(t.accounts, func(f *failures) time.Time { return f.at })
		f = &failures{}
		t.accounts[account] = f
	}
	if now.Sub(f.at) > accountForget {
		f.count = 0
	}
	if f.count >= accountFree {
		if _, known := t.known[device{account, address}]; !known {
			until := f.at.Add(accountDelay(f.count))
			if now.Before(until) {
				first, f.blocked = !f.blocked, true
				return until.Sub(now), first
			}
		}
	}
	b.left, b.blocked = b.left-1, false
	f.count, f.at, f.blocked = f.count+1, now, false
	return 0, false
}

// succeeded undoes the counting of the attempt and remembers the device.
func (t *throttle) succeeded(now time.Time, account, address string) {
	address = network(address)
	t.mu.Lock()
	defer t.mu.Unlock()
	if b := t.addresses[address]; b != nil {
		b.left = min(addressBurst, b.left+1)
	}
	if account == "" {
		return
	}
	delete(t.accounts, account)
	makeRoom(t.known, func(at time.Time) time.Time { return at })
	t.known[device{account, address}] = now
}

// forget makes all devices of an account unknown.
func (t *throttle) forget(account string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for d := range t.known {
		if d.account == account {
			delete(t.known, d)
		}
	}
}

func accountDelay(count int) time.Duration {
	d := time.Second
	for range count - accountFree {
		if d *= 2; d >= accountWait {
			return accountWait
		}
	}
	return d
}

// makeRoom drops the older half of a full map.
func makeRoom[K comparable, V any](m map[K]V, at func(V) time.Time) {
	if len(m) < throttleSize {
		return
	}
	var oldest, newest time.Time
	for _, v := range m {
		if a := at(v); oldest.IsZero() || a.Before(oldest) {
			oldest = a
		}
		if a := at(v); a.After(newest) {
			newest = a
		}
	}
	middle := oldest.Add(newest.Sub(oldest) / 2)
	for k, v := range m {
		if !at(v).After(middle) {
			delete(m, k)
		}
	}
}

// network returns the part of an address that counts as one client: an IPv4 address, or the /64
// that one customer of an IPv6 network usually has.
func network(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		if ap, err := netip.ParseAddrPort(address); err == nil {
			a = ap.Addr()
		} else {
			return address
		}
	}
	a = a.Unmap().WithZone("")
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

func tooMany(wait time.Duration) *domain.Error {
	e := domain.Errorf(domain.CodeTooMany, "too many attempts").Suggest("wait a few seconds, then try again")
	e.RetryAfter = max(wait.Round(time.Second), time.Second)
	return e
}
