// Package activity keeps how calls of agents, tools and providers went over the
// last day, and which of them people have stopped.
//
//	log := activity.New(nil)
//	log.Ended("tool:http", began, activity.Call{Took: took, Err: err})
//	log.Of("tool:http").Failures
package activity

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

const (
	// slot is the resolution of the statistics, and day how long they are kept.
	slot = 10 * time.Minute
	day  = 24 * time.Hour
	// maxRecent and maxCodes limit the data per subject, and maxSubjects the number of subjects,
	// because names come from the configuration and from tool servers.
	maxRecent, maxCodes, maxSubjects = 10, 20, 500
	maxMessage                       = 500
)

// Kinds of subject.
const (
	Agent    = "agent:"
	Tool     = "tool:"
	Provider = "provider:"
)

// Call is the result of a call.
type Call struct {
	Took  time.Duration
	Usage domain.Usage
	Err   error // nil: success. A cancelled call does not count as failed
}

// Log holds call statistics by subject. It is safe for concurrent use.
type Log struct {
	mask func([]byte) []byte
	now  func() time.Time

	changing sync.Mutex // one change of disabled at a time

	mu       sync.Mutex
	of       map[string]*record
	disabled map[string]domain.Disablement
	dirty    map[string]bool
	known    bool // the list of subjects is stored
}

// record holds the statistics of one subject. Its fields are stored.
type record struct {
	Last   time.Time            `json:"last,omitzero"`
	Slots  []*counts            `json:"slots,omitempty"` // oldest first
	Recent []domain.CallFailure `json:"recent,omitempty"`
}

// counts contains the numbers of one slot. Took is a histogram: the number of calls by [bound] of
// each step.
type counts struct {
	At       time.Time        `json:"at"`
	Calls    int64            `json:"calls"`
	Failures int64            `json:"failures,omitempty"`
	Codes    map[string]int64 `json:"codes,omitempty"`
	Took     map[int]int64    `json:"took,omitempty"`
	Usage    domain.Usage     `json:"usage,omitzero"`
}

// New returns an empty log. mask removes secrets from failure messages; nil means that there are
// none.
func New(mask func([]byte) []byte) *Log {
	return &Log{mask: mask, now: time.Now, of: map[string]*record{}, disabled: map[string]domain.Disablement{}, dirty: map[string]bool{}}
}

// place is the run and node that make a call.
type place struct{ run, node string }

type placeKey struct{}

// In returns a context whose calls belong to this run and node.
func In(ctx context.Context, run, node string) context.Context {
	return context.WithValue(ctx, placeKey{}, place{run, node})
}

// Ended records a call that has ended.
func (l *Log) Ended(ctx context.Context, subject string, c Call) {
	if l == nil {
		return
	}
	now := l.now().UTC()
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.of[subject]
	if r == nil {
		if len(l.of) >= maxSubjects {
			return
		}
		r = &record{}
		l.of[subject], l.known = r, false
	}
	r.Last, l.dirty[subject] = now, true
	s := r.slot(now)
	s.Calls++
	s.Usage = s.Usage.Add(c.Usage)
	if s.Took == nil {
		s.Took = map[int]int64{}
	}
	s.Took[step(c.Took)]++
	if c.Err == nil || errors.Is(c.Err, context.Canceled) { // a cancelled call shows nothing about the subject
		return
	}
	f := walk.AsFailure(c.Err)
	s.Failures++
	if s.Codes == nil {
		s.Codes = map[string]int64{}
	}
	code := f.Code
	if _, known := s.Codes[code]; !known && len(s.Codes) >= maxCodes {
		code = "other"
	}
	s.Codes[code]++
	at, _ := ctx.Value(placeKey{}).(place)
	r.Recent = slices.Insert(
		r.Recent,
		0,
		domain.CallFailure{At: now.Truncate(time.Millisecond), Code: f.Code, Message: l.text(f.Message), Run: at.run, Node: at.node},
	)
	r.Recent = r.Recent[:min(len(r.Recent), maxRecent)]
}

func (l *Log) text(s string) string {
	if l.mask != nil {
		s = string(l.mask([]byte(s)))
	}
	if r := []rune(s); len(r) > maxMessage {
		s = string(r[:maxMessage-1]) + "…"
	}
	return s
}

// slot returns the newest slot, of the given time. It drops slots that are older than a day.
func (r *record) slot(now time.Time) *counts {
	at := now.Truncate(slot)
	r.Slots = slices.DeleteFunc(r.Slots, func(c *counts) bool { return now.Sub(c.At) > day })
	if n := len(r.Slots); n > 0 && !r.Slots[n-1].At.Before(at) { // also if the clock was set back
		return r.Slots[n-1]
	}
	c := &counts{At: at}
	r.Slots = append(r.Slots, c)
	return c
}

// Of returns the statistics of a subject.
func (l *Log) Of(subject string) domain.Activity {
	var a domain.Activity
	if l == nil {
		return a
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.of[subject]
	if r == nil {
		return a
	}
	a.LastCallAt = r.Last
	codes, took, total := map[string]int64{}, map[int]int64{}, int64(0)
	for _, s := range r.Slots {
		if now.Sub(s.At) > day {
			continue
		}
		a.Calls, a.Failures, a.Usage = a.Calls+s.Calls, a.Failures+s.Failures, a.Usage.Add(s.Usage)
		if now.Sub(s.At) <= time.Hour {
			a.Hour.Calls, a.Hour.Failures = a.Hour.Calls+s.Calls, a.Hour.Failures+s.Failures
		}
		for code, n := range s.Codes {
			codes[code] += n
		}
		for i, n := range s.Took {
			took[i] += n
			total += n
		}
		a.Slots = append(
			a.Slots,
			domain.CallSlot{At: s.At, CallCounts: domain.CallCounts{Calls: s.Calls, Failures: s.Failures}, Usage: s.Usage},
		)
	}
	a.P50, a.P95 = domain.Millis(quantile(took, total, 0.5)), domain.Millis(quantile(took, total, 0.95))
	for code, n := range codes {
		a.Errors = append(a.Errors, domain.ErrorCount{Code: code, Count: n})
	}
	slices.SortFunc(a.Errors, func(x, y domain.ErrorCount) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Code, y.Code))
	})
	for _, f := range r.Recent {
		if now.Sub(f.At) <= day {
			a.Recent = append(a.Recent, f)
		}
	}
	return a
}

// The length of each step is a fifth more than that of the previous one, so that a quantile has an
// error of at most a tenth.
const growth = 1.2

func step(d time.Duration) int {
	if d <= time.Millisecond {
		return 0
	}
	return int(math.Ceil(math.Log(float64(d)/float64(time.Millisecond)) / math.Log(growth)))
}

// bound returns the longest duration of a step.
func bound(step int) time.Duration {
	return time.Duration(math.Pow(growth, float64(step)) * float64(time.Millisecond)).Round(100 * time.Microsecond)
}

func quantile(took map[int]int64, total int64, q float64) time.Duration {
	if total == 0 {
		return 0
	}
	rank, seen := int64(math.Ceil(q*float64(total))), int64(0)
	for _, i := range slices.Sorted(maps.Keys(took)) {
		if seen += took[i]; seen >= rank {
			return bound(i)
		}
	}
	return 0
}
