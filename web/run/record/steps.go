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

// Step is one execution of a step of the plan, or of one item of a foreach, assembled from journal
// rows.
type Step struct {
	Node           string
	Visit, Item    int
	Seq            int64 // number of its first row, which identifies it in addresses
	number         int   // number of the execution in the run, from 1
	Status         domain.NodeStatus
	Attempts       []Attempt
	waits          []*domain.Entry
	Calls          []*domain.Entry // model and tool calls within its attempts
	Started, ended time.Time
	Last           *domain.Entry // newest row, or &noEntry if there are only calls
	Final          *domain.Entry
	taken          *walk.Decision // decision of the final row, once decoded
	// Reused is set if a fork took over the result, so that the step ran in the original run.
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
	// Resolved is when a person resolved the attempt, or zero if it was never in doubt, or still
	// is. Started and Ended remain the times of the call. Status is the resolved status.
	Resolved time.Time
}

// InDoubt reports whether the attempt is or was in doubt.
func (a Attempt) InDoubt() bool { return a.Status == domain.NodeInDoubt || !a.Resolved.IsZero() }

// VisitKey identifies an execution of a step, or of one item of a foreach. Item is negative for
// other steps.
type VisitKey struct {
	Node        string
	Visit, Item int
}

func (st *Step) key() VisitKey { return VisitKey{st.Node, st.Visit, st.Item} }

// noEntry is the last row of a step that has only calls.
var noEntry domain.Entry

// Decision returns the decision that the engine recorded in the step's final row. It decodes the
// row once.
func (st *Step) Decision() walk.Decision {
	if st.Final == nil {
		return walk.Decision{}
	}
	if st.taken == nil {
		st.taken = DecisionOf(st.Final.Decision)
	}
	return *st.taken
}

// StepsOf assembles the steps of a run from its journal.
func StepsOf(run domain.Run, journal []domain.Entry) []*Step {
	at := make(map[VisitKey]*Step, len(journal)/2)
	out := make([]*Step, 0, len(journal)/2)
	numbers := map[VisitKey]int{} // all items of a foreach have the same number
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

// numberOf returns the number of the execution to which a row belongs. It assigns the next number
// to a new execution.
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
	if e.Substep > 0 { // a call within an attempt
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

// after completes an attempt with the data of its earlier rows. The row that resolves an attempt in
// doubt does not contain the times of the call.
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

// Attempt returns the attempt with a number, or the last one. It returns nil if there is none.
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

func (st *Step) Label() string { return Label(st.Node, st.Visit, st.Item) }

// Label returns the name of an execution of a step, as "pay", "pay #2", or "pay [0]".
func Label(node string, visit, item int) string {
	if visit > 1 {
		node += fmt.Sprintf(" #%d", visit)
	}
	if item >= 0 {
		node += fmt.Sprintf(" [%d]", item)
	}
	return node
}

// Until returns when the step ended, or now if it is active.
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

// Took returns the duration of the step, including waits.
func (st *Step) Took(now time.Time) time.Duration { return max(st.Until(now).Sub(st.Started), 0) }

// Failed reports whether the step failed or is in doubt.
func (st *Step) Failed() bool {
	return st.Status == domain.NodeFailed || st.Status == domain.NodeInDoubt
}

// Led returns the step to which the decision led, or an empty string.
func (st *Step) Led() string {
	return st.Decision().To
}

// Pause is a time in which a step waited.
type Pause struct {
	timeline.Span
	Reason  domain.WaitReason
	Due     time.Time // zero if it does not wait for a time
	Attempt int
}

// Pauses returns the waits of a step. Each ends with the next attempt, the next wait, or the step.
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

// Usage returns the total usage of a step's calls and result.
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

// DecisionOf decodes the decision of a row. It returns an empty decision if there is none.
func DecisionOf(j domain.RawJSON) *walk.Decision {
	d := &walk.Decision{}
	if len(j) > 0 && json.Unmarshal(j, d) != nil {
		return &walk.Decision{}
	}
	return d
}
