package hook

import (
	"net/netip"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"github.com/kairosd/kairosd/internal/domain"
)

// limits are the rate limits of senders and hooks. It is safe for concurrent use.
type limits struct {
	perSecond func() int // deliveries to a hook
	senders   *lru.Cache[netip.Prefix, *rate.Limiter]
	mu        sync.Mutex
	hooks     map[string]*hookLimits // by ID
}

// hookLimits limit the deliveries of verified senders to a hook, and the stored deliveries of others.
type hookLimits struct{ verified, stored *rate.Limiter }

// maxSenders is the number of addresses whose rates are known. Older ones are forgotten.
const maxSenders = 10_000

func newLimits(perSecond func() int) *limits {
	senders, err := lru.New[netip.Prefix, *rate.Limiter](maxSenders)
	if err != nil {
		panic(err) // the size is positive
	}
	return &limits{perSecond: perSecond, senders: senders, hooks: map[string]*hookLimits{}}
}

// sender reports whether an address may send a request now. Addresses of one IPv6 network share a limit.
func (l *limits) sender(address string, now time.Time) bool {
	var network netip.Prefix // of addresses that cannot be parsed
	if a, err := netip.ParseAddr(address); err == nil {
		bits := a.BitLen()
		if a.Is6() {
			bits = 64
		}
		network, _ = a.Prefix(bits) // the number of bits fits
	}
	limiter, known := l.senders.Get(network)
	if !known {
		limiter = l.limiter(domain.HookSenderRate, domain.HookSenderBurst)
		if first, known, _ := l.senders.PeekOrAdd(network, limiter); known {
			limiter = first
		}
	}
	return l.allow(limiter, domain.HookSenderRate, domain.HookSenderBurst, now)
}

// delivery reports whether a verified sender may deliver to a hook now.
func (l *limits) delivery(hook string, now time.Time) bool {
	return l.allow(l.hook(hook).verified, domain.HookRate, domain.HookBurst, now)
}

// scaled returns a limit in proportion to the configured rate.
func (l *limits) scaled(limit int) int { return max(limit*l.perSecond()/domain.HookRate, 1) }

// limiter returns a limiter with default limits, in proportion to the configured rate.
func (l *limits) limiter(limit, burst int) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(l.scaled(limit)), l.scaled(burst))
}

// allow takes a token from a limiter. It adjusts the limiter if the configured rate has changed.
func (l *limits) allow(limiter *rate.Limiter, limit, burst int, now time.Time) bool {
	if want := rate.Limit(l.scaled(limit)); limiter.Limit() != want {
		limiter.SetLimitAt(now, want)
		limiter.SetBurstAt(now, l.scaled(burst))
	}
	return limiter.AllowN(now, 1)
}

func (l *limits) hook(id string) *hookLimits {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hooks[id]
	if h == nil {
		h = &hookLimits{verified: l.limiter(domain.HookRate, domain.HookBurst),
			stored: rate.NewLimiter(rate.Every(time.Minute), domain.StoredRefusals)}
		l.hooks[id] = h
	}
	return h
}
