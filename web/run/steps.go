package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/timeline"
	"github.com/kairosd/kairosd/planner/walk"
)

// step is one visit, or one item of it, put together from journal rows.
type step struct {
	node           string
	visit, item    int
	seq            int64 // of its first row: its address
	number         int   // its place among the visits, from 1
	status         domain.NodeStatus
	attempts       []attempt
	waits          []*domain.Entry
	calls          []*domain.Entry // of models and tools inside its attempts
	started, ended time.Time
	last           *domain.Entry // newest row; one without content where only calls are there
	final          *domain.Entry
	taken          *walk.Decision // of the final row, once it was read
	// reused reports that a fork took it over; it ran in the other run.
	reused bool
}

// attempt is one attempt of a step.
type attempt struct {
	number         int
	status         domain.NodeStatus
	started, ended time.Time
	entry          *domain.Entry
	input          domain.RawJSON
	log            domain.RawJSON
	key            string // idempotency key
	// resolved is when a person resolved it; zero: it was never in doubt, or still is. Its times
	// stay those of the call, and its status is what the person said.
	resolved time.Time
}

// inDoubt reports whether the outcome of the attempt was unknown at some time.
func (a attempt) inDoubt() bool { return a.status == domain.NodeInDoubt || !a.resolved.IsZero() }

// visitKey names a visit, or an item of it.
type visitKey struct {
	node        string
	visit, item int
}

func (st *step) key() visitKey { return visitKey{st.node, st.visit, st.item} }

// noEntry stands for the rows of a step of which only calls are there.
var noEntry domain.Entry

// decision is what the walk decided at the step's final row; it is read once.
func (st *step) decision() walk.Decision {
	if st.final == nil {
		return walk.Decision{}
	}
	if st.taken == nil {
		st.taken = decision(st.final.Decision)
	}
	return *st.taken
}

// stepsOf folds a run's journal into what its pages show.
func stepsOf(run domain.Run, journal []domain.Entry) []*step {
	at := make(map[visitKey]*step, len(journal)/2)
	out := make([]*step, 0, len(journal)/2)
	numbers := map[visitKey]int{} // of visits: the items of a foreach have the number of theirs
	for i := range journal {
		e := &journal[i]
		if e.Kind == domain.EntryReplan {
			failed, dropped := domain.StepsEndedBy(e)
			for _, st := range out {
				switch {
				case st.final != nil:
				case st.node == failed:
					st.replanned(e, domain.NodeFailed, e.Failure)
				case slices.Contains(dropped, st.node):
					st.replanned(e, domain.NodeSkipped, nil)
					last := *st.last
					last.Reason = "the new version of the plan does not continue it"
					st.last = &last
				}
			}
		}
		if e.Node == "" || e.Kind == domain.EntryReset || e.Kind == domain.EntryReplan {
			continue
		}
		k := visitKey{e.Node, e.Visit, e.Item}
		st := at[k]
		if st == nil && e.Kind == domain.EntryResolve && !e.Final {
			continue // a result that waits for the step's turn
		}
		if st == nil {
			st = &step{
				node:    e.Node,
				visit:   e.Visit,
				item:    e.Item,
				seq:     e.Seq,
				number:  numberOf(numbers, e),
				last:    &noEntry,
				started: cmpTime(e.StartedAt, e.At),
			}
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

// numberOf is the number of the visit that a row is of; a new one has the next.
func numberOf(numbers map[visitKey]int, e *domain.Entry) int {
	k := visitKey{e.Node, e.Visit, -1}
	if numbers[k] == 0 {
		numbers[k] = len(numbers) + 1
	}
	return numbers[k]
}

func cmpTime(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

func (st *step) add(e *domain.Entry) {
	if e.Substep > 0 { // a call inside an attempt
		st.ended = e.At
		if e.Kind == domain.EntrySubstep {
			st.calls = append(st.calls, e)
		}
		return
	}
	st.last, st.ended = e, e.At
	switch e.Kind {
	case domain.EntryIntent:
		st.status = domain.NodeRunning
		st.final, st.taken = nil, nil
		st.attempts = append(
			st.attempts,
			attempt{
				number:  e.Attempt,
				status:  domain.NodeRunning,
				started: cmpTime(e.StartedAt, e.At),
				entry:   e,
				input:   e.Input,
				log:     e.Log,
				key:     e.IdempotencyKey,
			},
		)
	case domain.EntryResult:
		st.status = e.Status
		a := attempt{
			number:  e.Attempt,
			status:  e.Status,
			started: cmpTime(e.StartedAt, e.At),
			ended:   e.At,
			entry:   e,
			input:   e.Input,
			log:     e.Log,
			key:     e.IdempotencyKey,
		}
		if n := len(st.attempts); n > 0 && st.attempts[n-1].number == e.Attempt {
			st.attempts[n-1] = a.after(st.attempts[n-1])
		} else {
			st.attempts = append(st.attempts, a)
		}
		if e.Final {
			st.final, st.taken = e, nil
			if e.Status == domain.NodeFailed && st.decision().Handled == "skip" {
				st.status = domain.NodeSkipped // on_error: skip
			}
		}
	case domain.EntryWait:
		st.status, st.final, st.taken = domain.NodeWaiting, nil, nil
		st.waits = append(st.waits, e)
	case domain.EntryResolve:
		if e.Final {
			st.status, st.final, st.taken = e.Status, e, nil
			st.attempts = append(
				st.attempts,
				attempt{number: e.Attempt, status: e.Status, started: e.At, ended: e.At, entry: e, log: e.Log},
			)
		}
	}
}

// after completes an attempt by what its earlier rows recorded. The row that resolves an attempt
// in doubt has no times of its own.
func (a attempt) after(earlier attempt) attempt {
	if a.input == nil {
		a.input = earlier.input
	}
	if a.log == nil {
		a.log = earlier.log
	}
	a.key = cmp.Or(a.key, earlier.key)
	if earlier.status == domain.NodeInDoubt {
		a.resolved, a.started, a.ended = a.ended, earlier.started, earlier.ended
	}
	return a
}

// replanned ends a step at the row that replaced the plan.
func (st *step) replanned(e *domain.Entry, status domain.NodeStatus, failure *domain.Failure) {
	final := *st.last
	final.At, final.Status, final.Final, final.Failure, final.Decision = e.At, status, true, failure, nil
	st.status, st.ended, st.final, st.taken = status, e.At, &final, nil
}

// attempt is the one with a number, or the last.
func (st *step) attempt(number string) *attempt {
	for n := range st.attempts {
		if strconv.Itoa(st.attempts[n].number) == number {
			return &st.attempts[n]
		}
	}
	if n := len(st.attempts); n > 0 {
		return &st.attempts[n-1]
	}
	return nil
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
	case domain.NodeRunning, domain.NodeWaiting:
		return now
	}
	return st.ended
}

// took is how long it took in all, its waits included.
func (st *step) took(now time.Time) time.Duration { return max(st.until(now).Sub(st.started), 0) }

// failed reports whether its last word is a failure, or that it is unknown.
func (st *step) failed() bool {
	return st.status == domain.NodeFailed || st.status == domain.NodeInDoubt
}

// led is the node that its decision led to.
func (st *step) led() string {
	return st.decision().To
}

// pause is a time in which a step waited, and for what.
type pause struct {
	timeline.Span
	reason  domain.WaitReason
	due     time.Time // zero: it waits for no time
	attempt int
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
		out = append(out, pause{timeline.Span{From: w.At, To: end}, domain.WaitReason(w.Reason), w.DueAt, w.Attempt})
	}
	return out
}

// usage is what a step's calls and result used.
func (st *step) usage() domain.Usage {
	var u domain.Usage
	for _, c := range st.calls {
		u = u.Add(c.Usage)
	}
	if st.final != nil {
		u = u.Add(st.final.Usage)
	}
	return u
}

// decision reads the walk's decision of a row.
func decision(j domain.RawJSON) *walk.Decision {
	d := &walk.Decision{}
	if len(j) > 0 && json.Unmarshal(j, d) != nil {
		return &walk.Decision{}
	}
	return d
}
