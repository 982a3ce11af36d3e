package record

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

// Step is one visit, or one item of it, put together from journal rows.
type Step struct {
	Node           string
	Visit, Item    int
	Seq            int64 // of its first row: its address
	number         int   // its place among the visits, from 1
	Status         domain.NodeStatus
	Attempts       []Attempt
	waits          []*domain.Entry
	Calls          []*domain.Entry // of models and tools inside its attempts
	Started, ended time.Time
	Last           *domain.Entry // newest row; one without content where only calls are there
	Final          *domain.Entry
	taken          *walk.Decision // of the final row, once it was read
	// Reused reports that a fork took it over; it ran in the other run.
	Reused bool
}

// Attempt is one attempt of a step.
type Attempt struct {
	Number         int
	Status         domain.NodeStatus
	Started, Ended time.Time
	Entry          *domain.Entry
	Input          domain.RawJSON
	Log            domain.RawJSON
	Key            string // idempotency key
	// Resolved is when a person resolved it; zero: it was never in doubt, or still is. Its times
	// stay those of the call, and its status is what the person said.
	Resolved time.Time
}

// InDoubt reports whether the outcome of the attempt was unknown at some time.
func (a Attempt) InDoubt() bool { return a.Status == domain.NodeInDoubt || !a.Resolved.IsZero() }

// VisitKey names a visit, or an item of it.
type VisitKey struct {
	Node        string
	Visit, Item int
}

func (st *Step) key() VisitKey { return VisitKey{st.Node, st.Visit, st.Item} }

// noEntry stands for the rows of a step of which only calls are there.
var noEntry domain.Entry

// Decision is what the walk decided at the step's final row; it is read once.
func (st *Step) Decision() walk.Decision {
	if st.Final == nil {
		return walk.Decision{}
	}
	if st.taken == nil {
		st.taken = DecisionOf(st.Final.Decision)
	}
	return *st.taken
}

// StepsOf folds a run's journal into what its pages show.
func StepsOf(run domain.Run, journal []domain.Entry) []*Step {
	at := make(map[VisitKey]*Step, len(journal)/2)
	out := make([]*Step, 0, len(journal)/2)
	numbers := map[VisitKey]int{} // of visits: the items of a foreach have the number of theirs
	for i := range journal {
		e := &journal[i]
		if e.Kind == domain.EntryReplan {
			failed, dropped := domain.StepsEndedBy(e)
			for _, st := range out {
				switch {
				case st.Final != nil:
				case st.Node == failed:
					st.replanned(e, domain.NodeFailed, e.Failure)
				case slices.Contains(dropped, st.Node):
					st.replanned(e, domain.NodeSkipped, nil)
					last := *st.Last
					last.Reason = "the new version of the plan does not continue it"
					st.Last = &last
				}
			}
		}
		if e.Node == "" || e.Kind == domain.EntryReset || e.Kind == domain.EntryReplan {
			continue
		}
		k := VisitKey{e.Node, e.Visit, e.Item}
		st := at[k]
		if st == nil && e.Kind == domain.EntryResolve && !e.Final {
			continue // a result that waits for the step's turn
		}
		if st == nil {
			st = &Step{
				Node:    e.Node,
				Visit:   e.Visit,
				Item:    e.Item,
				Seq:     e.Seq,
				number:  numberOf(numbers, e),
				Last:    &noEntry,
				Started: TimeOr(e.StartedAt, e.At),
			}
			st.Reused = run.ForkedFrom != "" && e.At.Before(run.CreatedAt)
			at[k] = st
			out = append(out, st)
		}
		if !e.At.Before(run.CreatedAt) {
			st.Reused = false
		}
		st.add(e)
	}
	return out
}

// numberOf is the number of the visit that a row is of; a new one has the next.
func numberOf(numbers map[VisitKey]int, e *domain.Entry) int {
	k := VisitKey{e.Node, e.Visit, -1}
	if numbers[k] == 0 {
		numbers[k] = len(numbers) + 1
	}
	return numbers[k]
}

func TimeOr(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

func (st *Step) add(e *domain.Entry) {
	if e.Substep > 0 { // a call inside an attempt
		st.ended = e.At
		if e.Kind == domain.EntrySubstep {
			st.Calls = append(st.Calls, e)
		}
		return
	}
	st.Last, st.ended = e, e.At
	switch e.Kind {
	case domain.EntryIntent:
		st.Status = domain.NodeRunning
		st.Final, st.taken = nil, nil
		st.Attempts = append(
			st.Attempts,
			Attempt{
				Number:  e.Attempt,
				Status:  domain.NodeRunning,
				Started: TimeOr(e.StartedAt, e.At),
				Entry:   e,
				Input:   e.Input,
				Log:     e.Log,
				Key:     e.IdempotencyKey,
			},
		)
	case domain.EntryResult:
		st.Status = e.Status
		a := Attempt{
			Number:  e.Attempt,
			Status:  e.Status,
			Started: TimeOr(e.StartedAt, e.At),
			Ended:   e.At,
			Entry:   e,
			Input:   e.Input,
			Log:     e.Log,
			Key:     e.IdempotencyKey,
		}
		if n := len(st.Attempts); n > 0 && st.Attempts[n-1].Number == e.Attempt {
			st.Attempts[n-1] = a.after(st.Attempts[n-1])
		} else {
			st.Attempts = append(st.Attempts, a)
		}
		if e.Final {
			st.Final, st.taken = e, nil
			if e.Status == domain.NodeFailed && st.Decision().Handled == "skip" {
				st.Status = domain.NodeSkipped // on_error: skip
			}
		}
	case domain.EntryWait:
		st.Status, st.Final, st.taken = domain.NodeWaiting, nil, nil
		st.waits = append(st.waits, e)
	case domain.EntryResolve:
		if e.Final {
			st.Status, st.Final, st.taken = e.Status, e, nil
			st.Attempts = append(
				st.Attempts,
				Attempt{Number: e.Attempt, Status: e.Status, Started: e.At, Ended: e.At, Entry: e, Log: e.Log},
			)
		}
	}
}

// after completes an attempt by what its earlier rows recorded. The row that resolves an attempt
// in doubt has no times of its own.
func (a Attempt) after(earlier Attempt) Attempt {
	if a.Input == nil {
		a.Input = earlier.Input
	}
	if a.Log == nil {
		a.Log = earlier.Log
	}
	a.Key = cmp.Or(a.Key, earlier.Key)
	if earlier.Status == domain.NodeInDoubt {
		a.Resolved, a.Started, a.Ended = a.Ended, earlier.Started, earlier.Ended
	}
	return a
}

// replanned ends a step at the row that replaced the plan.
func (st *Step) replanned(e *domain.Entry, status domain.NodeStatus, failure *domain.Failure) {
	final := *st.Last
	final.At, final.Status, final.Final, final.Failure, final.Decision = e.At, status, true, failure, nil
	st.Status, st.ended, st.Final, st.taken = status, e.At, &final, nil
}

// Attempt is the one with a number, or the last.
func (st *Step) Attempt(number string) *Attempt {
	for n := range st.Attempts {
		if strconv.Itoa(st.Attempts[n].Number) == number {
			return &st.Attempts[n]
		}
	}
	if n := len(st.Attempts); n > 0 {
		return &st.Attempts[n-1]
	}
	return nil
}

func (st *Step) Label() string {
	l := st.Node
	if st.Visit > 1 {
		l += fmt.Sprintf(" #%d", st.Visit)
	}
	if st.Item >= 0 {
		l += fmt.Sprintf(" [%d]", st.Item)
	}
	return l
}

// Until is when the step was over; now, while it is not.
func (st *Step) Until(now time.Time) time.Time {
	if st.Final != nil {
		return st.Final.At
	}
	switch st.Status {
	case domain.NodeRunning, domain.NodeWaiting:
		return now
	}
	return st.ended
}

// Took is how long it took in all, its waits included.
func (st *Step) Took(now time.Time) time.Duration { return max(st.Until(now).Sub(st.Started), 0) }

// Failed reports whether its last word is a failure, or that it is unknown.
func (st *Step) Failed() bool {
	return st.Status == domain.NodeFailed || st.Status == domain.NodeInDoubt
}

// Led is the node that its decision led to.
func (st *Step) Led() string {
	return st.Decision().To
}

// Pause is a time in which a step waited, and for what.
type Pause struct {
	timeline.Span
	Reason  domain.WaitReason
	Due     time.Time // zero: it waits for no time
	Attempt int
}

// Pauses are its waits, each until the next attempt, wait or end.
func (st *Step) Pauses(now time.Time) []Pause {
	var out []Pause
	for i, w := range st.waits {
		end := st.Until(now)
		if i+1 < len(st.waits) && st.waits[i+1].At.Before(end) {
			end = st.waits[i+1].At
		}
		for _, a := range st.Attempts {
			if a.Started.After(w.At) && a.Started.Before(end) {
				end = a.Started
			}
		}
		out = append(out, Pause{timeline.Span{From: w.At, To: end}, domain.WaitReason(w.Reason), w.DueAt, w.Attempt})
	}
	return out
}

// Usage is what a step's calls and result used.
func (st *Step) Usage() domain.Usage {
	var u domain.Usage
	for _, c := range st.Calls {
		u = u.Add(c.Usage)
	}
	if st.Final != nil {
		u = u.Add(st.Final.Usage)
	}
	return u
}

// DecisionOf reads the walk's decision of a row.
func DecisionOf(j domain.RawJSON) *walk.Decision {
	d := &walk.Decision{}
	if len(j) > 0 && json.Unmarshal(j, d) != nil {
		return &walk.Decision{}
	}
	return d
}
