package web

import (
	"fmt"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/timeline"
)

// step is one visit, or one item of it, put together from journal rows.
type step struct {
	node           string
	visit, item    int
	seq            int64 // of its first row: its address
	number         int   // its place among the steps, from 1
	status         kairos.NodeStatus
	attempts       []attempt
	waits          []kairos.Entry
	calls          []*kairos.Entry // of models and tools inside its attempts
	started, ended time.Time
	last           kairos.Entry // newest row
	final          *kairos.Entry
	// reused says that a fork took it over; it ran in the other run.
	reused bool
	// lost is what is known of it behind the damage of its journal; nil: nothing of
	// it is damaged.
	lost *kairos.LostStep
}

// attempt is one try of a step.
type attempt struct {
	number         int
	status         kairos.NodeStatus
	started, ended time.Time
	entry          kairos.Entry
	input          kairos.RawJSON
	log            kairos.RawJSON
}

// visitKey names a visit, or an item of it.
type visitKey struct {
	node        string
	visit, item int
}

func (st *step) key() visitKey { return visitKey{st.node, st.visit, st.item} }

// stepsOf folds a run's journal into what its pages show.
func stepsOf(run kairos.Run, journal []kairos.Entry) []*step {
	at := map[visitKey]*step{}
	var out []*step
	for i := range journal {
		e := &journal[i]
		if e.Node == "" || e.Kind == kairos.EntryReset || e.Kind == kairos.EntryReplan {
			continue
		}
		k := visitKey{e.Node, e.Visit, e.Item}
		st := at[k]
		if st == nil && e.Kind == kairos.EntryResolve && !e.Final {
			continue // a result that waits for the step's turn
		}
		if st == nil {
			st = &step{node: e.Node, visit: e.Visit, item: e.Item, seq: e.Seq, number: len(out) + 1, started: cmpTime(e.StartedAt, e.At)}
			st.reused = run.ForkedFrom != "" && e.At.Before(run.CreatedAt)
			at[k] = st
			out = append(out, st)
		}
		if !e.At.Before(run.CreatedAt) {
			st.reused = false
		}
		st.add(e)
	}
	return out
}

func cmpTime(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

func (st *step) add(e *kairos.Entry) {
	if e.Substep > 0 { // a call inside an attempt
		st.ended = e.At
		if e.Kind == kairos.EntrySubstep {
			st.calls = append(st.calls, e)
		}
		return
	}
	st.last, st.ended = *e, e.At
	switch e.Kind {
	case kairos.EntryIntent:
		st.status = kairos.NodeRunning
		st.final = nil
		st.attempts = append(st.attempts, attempt{number: e.Attempt, status: kairos.NodeRunning, started: cmpTime(e.StartedAt, e.At), entry: *e, input: e.Input, log: e.Log})
	case kairos.EntryResult:
		st.status = e.Status
		a := attempt{number: e.Attempt, status: e.Status, started: cmpTime(e.StartedAt, e.At), ended: e.At, entry: *e, input: e.Input, log: e.Log}
		if n := len(st.attempts); n > 0 && st.attempts[n-1].number == e.Attempt {
			if a.input == nil {
				a.input = st.attempts[n-1].input
			}
			if a.log == nil {
				a.log = st.attempts[n-1].log
			}
			st.attempts[n-1] = a
		} else {
			st.attempts = append(st.attempts, a)
		}
		if e.Final {
			st.final = e
		}
	case kairos.EntryWait:
		st.status = kairos.NodeWaiting
		st.waits = append(st.waits, *e)
	case kairos.EntryResolve:
		if e.Final {
			st.status, st.final = e.Status, e
			st.attempts = append(st.attempts, attempt{number: e.Attempt, status: e.Status, started: e.At, ended: e.At, entry: *e, log: e.Log})
		}
	}
}

func (st *step) label() string {
	l := st.node
	if st.visit > 1 {
		l += fmt.Sprintf(" #%d", st.visit)
	}
	if st.item >= 0 {
		l += fmt.Sprintf(" [%d]", st.item)
	}
	return l
}

// until is when the step was over; now, while it is not.
func (st *step) until(now time.Time) time.Time {
	if st.final != nil {
		return st.final.At
	}
	switch st.status {
	case kairos.NodeRunning, kairos.NodeWaiting:
		return now
	}
	return st.ended
}

// took is how long it took in all, its waits included.
func (st *step) took(now time.Time) time.Duration { return max(st.until(now).Sub(st.started), 0) }

// failed reports whether its last word is a failure, or that nobody knows.
func (st *step) failed() bool {
	return st.status == kairos.NodeFailed || st.status == kairos.NodeInDoubt
}

// led is the node that its decision led to.
func (st *step) led() string {
	if st.final == nil {
		return ""
	}
	return decision(st.final.Decision).To
}

// pause is a time in which a step waited, and for what.
type pause struct {
	timeline.Span
	reason kairos.WaitReason
}

// pauses are its waits, each until the next attempt, wait or end.
func (st *step) pauses(now time.Time) []pause {
	var out []pause
	for i, w := range st.waits {
		end := st.until(now)
		if i+1 < len(st.waits) && st.waits[i+1].At.Before(end) {
			end = st.waits[i+1].At
		}
		for _, a := range st.attempts {
			if a.started.After(w.At) && a.started.Before(end) {
				end = a.started
			}
		}
		out = append(out, pause{timeline.Span{From: w.At, To: end}, kairos.WaitReason(w.Reason)})
	}
	return out
}
