package circuit

import (
	"cmp"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// ID identifies a circuit.
type ID struct {
	// Subject is the target of the calls, as in the activity log: "tool:http".
	Subject string
	// Part is the host, for a tool that has a circuit per host.
	Part string
}

const (
	// maxCircuits limits the number of circuits, because hosts come from plans and models. Only
	// circuits that have failed are stored.
	maxCircuits = 256
	// remembered is how long an unused circuit is kept.
	remembered = 24 * time.Hour
	// maxKept is the maximum length of the stored text of a failure, and maxMessage that of the
	// part that is shown.
	maxKept    = 1000
	maxMessage = 300
	maxPart    = 255
)

// Board holds the circuits of a server. It is safe for concurrent use. A nil Board permits every
// call.
type Board struct {
	mask func([]byte) []byte
	now  func() time.Time

	saving sync.Mutex // one save at a time, so that the newest state is stored last

	mu      sync.Mutex
	of      map[ID]*entry
	counts  map[string]*counts // by subject
	dirty   bool
	learned chan struct{} // nil: circuits are not stored
	log     *slog.Logger  // nil: nothing is logged
}

// entry is a circuit that has failed.
type entry struct {
	breaker Breaker
	since   time.Time         // when it last opened
	last    walk.FailureCause // the failure that counted
	lastAt  time.Time
}

type counts struct{ opened, refused int64 }

// NewBoard returns a board with all circuits closed. mask removes secrets from stored failures; nil
// means that failures contain none.
func NewBoard(mask func([]byte) []byte) *Board {
	return &Board{mask: mask, now: time.Now, of: map[ID]*entry{}, counts: map[string]*counts{}}
}

// Pass is a permitted call.
type Pass struct {
	id       ID
	settings Settings
	entry    *entry // the circuit that permitted the call; nil: it has not failed
	trial    bool
}

// Refusal is the reason why a call is not permitted now.
type Refusal struct {
	Wait    time.Duration // time until the next trial
	Circuit domain.Circuit
	behind  walk.FailureCause
}

// Enter requests a call. If it returns a refusal, do not make the call; otherwise call Leave when
// it has ended.
func (b *Board) Enter(id ID, s Settings) (Pass, *Refusal) {
	if b == nil {
		return Pass{}, nil
	}
	id = b.named(id)
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	p := Pass{id: id, settings: s, entry: b.of[id]}
	if p.entry == nil {
		return p, nil
	}
	p.entry.breaker.Settings = s
	trial, wait := p.entry.breaker.Enter(now)
	if wait > 0 {
		b.countsOf(id.Subject).refused++
		return Pass{}, &Refusal{Wait: wait, Circuit: p.entry.circuit(id, now), behind: p.entry.last}
	}
	p.trial = trial
	return p, nil
}

// Leave reports the outcome of a permitted call.
func (b *Board) Leave(p Pass, v Verdict, err error) {
	if b == nil {
		return
	}
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.of[p.id]
	if e == nil {
		if v != Unwell || p.settings.Failures < 0 {
			return
		}
		if e = b.room(now); e == nil {
			return
		}
		e.breaker.Settings = p.settings
		b.of[p.id] = e
	}
	before, _, rowBefore := e.breaker.State(now)
	e.breaker.Leave(now, p.trial && e == p.entry, v)
	after, until, row := e.breaker.State(now)
	if v == Unwell {
		e.lastAt = now.UTC().Truncate(time.Millisecond)
		if err != nil {
			f := walk.AsFailure(err)
			e.last = walk.FailureCause{Code: f.Code, Message: b.text(f.Message), Text: f.Localize().Map(b.text).Encode()}
		}
	}
	if before == after && rowBefore == row && v != Unwell {
		return
	}
	switch {
	case after == domain.CircuitOpen && before != domain.CircuitOpen:
		if e.since.IsZero() {
			e.since = now.UTC().Truncate(time.Millisecond)
		}
		b.countsOf(p.id.Subject).opened++
		if b.log != nil {
			b.log.Warn(
				"circuit opened; refusing calls",
				"circuit",
				p.id.String(),
				"until",
				until,
				"failures",
				row,
				"err",
				oneLine(e.last.Message),
			)
		}
	case after == domain.CircuitClosed && row == 0:
		delete(b.of, p.id)
		if before != domain.CircuitClosed && b.log != nil {
			b.log.Info("circuit closed; calls resume", "circuit", p.id.String())
		}
	}
	b.change()
}

// room returns a new entry. If the board is full, it replaces the entry with the oldest failure,
// but never an open circuit.
func (b *Board) room(now time.Time) *entry {
	b.forget(now)
	if len(b.of) >= maxCircuits {
		var oldest *ID
		for id, e := range b.of {
			if state, _, _ := e.breaker.State(now); state != domain.CircuitOpen && !e.breaker.trial &&
				(oldest == nil || e.lastAt.Before(b.of[*oldest].lastAt)) {
				oldest = &id
			}
		}
		if oldest == nil {
			return nil
		}
		delete(b.of, *oldest)
	}
	return &entry{}
}

// forget drops circuits that were unused for a day.
func (b *Board) forget(now time.Time) {
	maps.DeleteFunc(b.of, func(_ ID, e *entry) bool {
		state, _, _ := e.breaker.State(now)
		return state != domain.CircuitOpen && !e.breaker.trial && now.Sub(later(e.lastAt, e.since)) > remembered
	})
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Circuit returns the status of one circuit.
func (b *Board) Circuit(id ID) domain.Circuit {
	if b == nil {
		return domain.Circuit{Part: id.Part, State: domain.CircuitClosed}
	}
	id = b.named(id)
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of[id].circuit(id, now)
}

// Of lists the circuits of a subject that have failed: open ones first, then by part.
func (b *Board) Of(subject string) []domain.Circuit {
	if b == nil {
		return nil
	}
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(now)
	var out []domain.Circuit
	for id, e := range b.of {
		if id.Subject == subject {
			out = append(out, e.circuit(id, now))
		}
	}
	order := []domain.CircuitState{domain.CircuitOpen, domain.CircuitHalfOpen, domain.CircuitClosed}
	slices.SortFunc(out, func(x, y domain.Circuit) int {
		return cmp.Or(cmp.Compare(slices.Index(order, x.State), slices.Index(order, y.State)), cmp.Compare(x.Part, y.Part))
	})
	return out
}

// Counts returns statistics since the start, by subject. Subjects whose circuits never opened are
// left out.
func (b *Board) Counts() []domain.CircuitCount {
	if b == nil {
		return nil
	}
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	open := map[string]int{}
	for id, e := range b.of {
		if state, _, _ := e.breaker.State(now); state == domain.CircuitOpen {
			open[id.Subject]++
			b.countsOf(id.Subject) // also a circuit that was open before a restart
		}
	}
	var out []domain.CircuitCount
	for _, subject := range slices.Sorted(maps.Keys(b.counts)) {
		kind, name, _ := strings.Cut(subject, ":")
		c := b.counts[subject]
		out = append(out, domain.CircuitCount{Kind: kind, Name: name, Open: open[subject], Opened: c.opened, RefusedCalls: c.refused})
	}
	return out
}

func (b *Board) countsOf(subject string) *counts {
	c := b.counts[subject]
	if c == nil {
		c = &counts{}
		b.counts[subject] = c
	}
	return c
}

// Forget removes a circuit without a log message: its subject is no longer called.
func (b *Board) Forget(id ID) {
	if b == nil {
		return
	}
	id = b.named(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of[id] != nil {
		delete(b.of, id)
		b.change()
	}
}

// change schedules storing the state.
func (b *Board) change() {
	b.dirty = true
	if b.learned != nil {
		select {
		case b.learned <- struct{}{}:
		default: // already scheduled
		}
	}
}

// named returns an ID as it is stored and shown, with secrets removed: the part may come from
// arguments.
func (b *Board) named(id ID) ID {
	if id.Part == "" {
		return id
	}
	if b.mask != nil {
		id.Part = string(b.mask([]byte(id.Part)))
	}
	if len(id.Part) > maxPart {
		id.Part = strings.ToValidUTF8(id.Part[:maxPart], "")
	}
	return id
}

// text returns the text of a failure without secrets.
func (b *Board) text(s string) string {
	if b.mask != nil {
		s = string(b.mask([]byte(s)))
	}
	s = strings.ToValidUTF8(s, "�")
	if r := []rune(s); len(r) > maxKept {
		s = string(r[:maxKept])
	}
	return s
}

// oneLine shortens a failure to one line for people.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxMessage {
		s = string(r[:maxMessage-1]) + "…"
	}
	return s
}

func (e *entry) circuit(id ID, now time.Time) domain.Circuit {
	if e == nil {
		return domain.Circuit{Part: id.Part, State: domain.CircuitClosed}
	}
	state, until, row := e.breaker.State(now)
	c := domain.Circuit{Part: id.Part, State: state, FailuresInRow: row, LastError: oneLine(e.last.Message), LastErrorAt: e.lastAt}
	if state != domain.CircuitClosed {
		c.Since = e.since
	}
	if !until.IsZero() {
		c.OpenUntil = until.UTC().Truncate(time.Millisecond)
	}
	return c
}

// String returns an ID for logs and people: "tool:http api.example".
func (id ID) String() string { return strings.TrimSpace(id.Subject + " " + id.Part) }

// Failure returns the failure of a call that was not made. Its retry waits until the next trial.
// what names the subject. The message is stored and read later, so it contains no remaining time.
func (r *Refusal) Failure(code, what string) *walk.Failure {
	c := r.Circuit
	f := &walk.Failure{Code: code, NoEffect: true, RetryAfter: r.Wait,
		Suggestion: "see its last error; give the step longer retries, or close the circuit when the other system works again"}
	if c.LastError == "" {
		return f.WithMessage("circuit of %s is open after repeated failures; the call was not made", what)
	}
	f.CausedBy = &r.behind
	return f.WithMessage("circuit of %s is open after repeated failures; the call was not made. Last error: %s", what, c.LastError)
}
