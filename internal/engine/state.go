package engine

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// noItem is the item of a visit without foreach.
const noItem = -1

// workKey names one piece of work: a visit, or one item of a foreach visit.
type workKey struct {
	planner.VisitKey
	item int
}

// phase is where a piece of work stands, by the journal alone.
type phase uint8

const (
	phaseReady   phase = iota // nothing recorded is under way
	phaseRunning              // an intent row without its result
	phaseWaiting              // a wait row without its answer
	phaseDoubt                // in doubt: a person must say what happened
)

// work is an open visit or item.
type work struct {
	workKey
	order   int // position in the order of becoming ready
	phase   phase
	attempt int // number of the last attempt that began
	tries   int // failed attempts that count against the retry budget
	retries int // error retries ever; names child runs (ruling 13)
	crashes int // unclean deaths while it was open, since the last release

	reason domain.WaitReason // while waiting
	since  time.Time
	due    time.Time
	ref    string // approval or child run
	asked  int64  // the row of the wait
	// binding is the digest of what the request of an approval step is about.
	binding string
	input   domain.RawJSON
	effect  planner.Effect // of the attempt in flight or in doubt
	begun   time.Time      // when that attempt began

	usage   domain.Usage    // of everything that is recorded of it
	failure *domain.Failure // of the last attempt
	// substeps are the recorded responses by number, which the next attempt
	// inherits; see forgetSubsteps.
	substeps map[int]domain.Entry
	// flying are the non-idempotent sub-steps without a recorded outcome, by
	// number: several may be in flight at once.
	flying map[int]domain.OpenCall
	// consent is the call that a person is asked about, grants are the answers
	// so far, by sub-step; 0 is the node's own call.
	consent *consent
	grants  map[int]grant
	// tail is the version that a person is asked to accept.
	tail *tail
	// givenUp is set when no new tail is to be had, just before the row that
	// says so.
	givenUp bool
	// answer is what a person said of an attempt that was in doubt when the
	// run was cancelled; it takes effect when a resume opens the work again.
	answer *answer
}

// answer is a person's word on an attempt in doubt.
type answer struct {
	action string
	output domain.RawJSON
	// given is why it was given before the step began; empty for the word on an
	// attempt in doubt.
	given string
}

// override replaces limits of a node for one visit; zero fields do not.
type override struct {
	timeout  time.Duration
	attempts int
}

// doubt is an attempt in doubt of a visit that was cancelled meanwhile
// (ruling 15).
type doubt struct {
	attempt int
	since   time.Time
	calls   []domain.OpenCall
	answer  *answer
}

// fan is an open foreach visit.
type fan struct {
	planner.VisitKey
	order    int
	total    int    // -1 until the list is resolved
	open     int    // items begun and not settled
	begunAll bool   // no item is left to begin
	values   []byte // digest of the values that the approvals of its items are bound to
	// parked counts those of them that wait: they hold no slot (ruling 7).
	parked int
}

// past is what work that did not complete leaves for its next opening.
type past struct {
	attempt, retries int
	substeps         map[int]domain.Entry // that its next attempt takes up
	grants           map[int]grant        // of these sub-steps
}

// settled is one settled visit.
type settled struct {
	node, visit int
	status      domain.NodeStatus
}

// completion says when a visit completed, by its row.
type completion struct {
	visit int
	seq   int64
}

// state is where a run stands: everything that its journal says.
type state struct {
	prog *planner.Program
	walk *planner.Walk
	seq  int64
	// request is the run's input.
	request any

	work   map[workKey]*work
	fans   map[planner.VisitKey]*fan
	doubts map[workKey]*doubt
	past   map[workKey]past
	opened int
	// stopMark is how much had become ready when the run began to stop; 0: it
	// does not.
	stopMark int
	// fresh lists work and foreach visits that became ready since the actor
	// looked last.
	fresh []workKey

	steps int64
	// settled lists the visits that settled, in order: all of them if history,
	// else those that nobody has taken note of yet, for a run that goes on must not
	// grow with its past.
	settled []settled
	history bool
	// completed are the last two completed visits of nodes with an agent, the
	// last one first: a reset may take that one back.
	completed map[int][2]completion
	agents    map[int]string // who ran a node, if an agent did

	// only are the visits that a resume was asked for; once they have settled, the
	// run pauses. overrides are what visits get instead of what their nodes say.
	only      map[planner.VisitKey]bool
	overrides map[planner.VisitKey]override

	paused      bool
	cancelled   bool
	quarantined bool
	held        bool
	budget      *budget // a limit is reached; nil: none is
	clean       bool    // the last row says that the run was put down cleanly
	plans       map[string]string
	memory      any // what the run's session said before it began; nil: nothing
	// replans counts replan rows; redefined says since which of them a node of
	// that name does something else.
	replans   int
	redefined map[string]int64
}

// remember takes up what the run's session said before it began.
func (s *state) remember(v any) {
	s.memory = v
	s.walk.Remember(v)
}

// move changes where work stands, keeping count of parked items.
func (s *state) move(w *work, p phase) {
	was := w.parked()
	w.phase = p
	if f := s.fans[w.VisitKey]; f != nil && w.item != noItem && was != w.parked() {
		if was {
			f.parked--
		} else {
			f.parked++
		}
	}
}

// inFlight reports whether the journal says that an attempt is under way. One of
// a pure node has no intent row, but its non-idempotent sub-steps have.
func (w *work) inFlight() bool {
	return w.phase == phaseRunning || w.phase == phaseReady && len(w.flying) > 0
}

// openCalls lists the calls whose outcome is not recorded, in their order.
func (w *work) openCalls() []domain.OpenCall {
	var list []domain.OpenCall
	for _, n := range slices.Sorted(maps.Keys(w.flying)) {
		list = append(list, w.flying[n])
	}
	return list
}

// parked reports whether the work waits for something and holds no slot.
func (w *work) parked() bool { return w.phase == phaseWaiting || w.phase == phaseDoubt }

// sorted lists open work in the order in which it became ready.
func (s *state) sorted() []*work {
	list := make([]*work, 0, len(s.work))
	for _, w := range s.work {
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b *work) int { return cmp.Compare(a.order, b.order) })
	return list
}

// openFans lists open foreach visits in the order in which they became ready.
func (s *state) openFans() []planner.VisitKey {
	list := slices.Collect(maps.Keys(s.fans))
	slices.SortFunc(list, func(a, b planner.VisitKey) int { return cmp.Compare(s.fans[a].order, s.fans[b].order) })
	return list
}

// waits lists what the run waits for (ruling 14), in order of precedence.
func (s *state) waits() []domain.Wait {
	var list []domain.Wait
	flag := func(on bool, r domain.WaitReason, message string) {
		if on {
			list = append(list, domain.Wait{Item: noItem, Reason: r, Message: message})
		}
	}
	flag(s.quarantined, domain.WaitQuarantined, "")
	flag(s.held, domain.WaitHeld, "")
	flag(s.paused, domain.WaitPaused, "")
	if b := s.budget; b != nil {
		list = append(list, domain.Wait{Item: noItem, Reason: domain.WaitBudget, Since: b.since, Message: b.message})
	}
	for _, w := range s.sorted() {
		wait := domain.Wait{Node: s.prog.Nodes[w.Node].ID, Visit: w.Visit, Item: w.item, Since: w.since}
		switch w.phase {
		case phaseDoubt:
			wait.Reason, wait.Calls = domain.WaitInDoubt, w.openCalls()
		case phaseWaiting:
			wait.Reason, wait.Due = w.reason, w.due
			switch w.reason {
			case domain.WaitApproval:
				wait.Approval = w.ref
				wait.Message = question(w.input)
				if c := w.consent; c != nil {
					wait.Message = c.message(wait.Node)
				}
			case domain.WaitChild:
				wait.Child = w.ref
			}
		default:
			continue
		}
		if w.failure != nil && wait.Message == "" {
			wait.Message = w.failure.Message
		}
		list = append(list, wait)
	}
	for _, k := range s.openDoubts() {
		list = append(list, domain.Wait{Node: s.prog.Nodes[k.Node].ID, Visit: k.Visit, Item: k.item,
			Reason: domain.WaitInDoubt, Since: s.doubts[k].since, Calls: s.doubts[k].calls})
	}
	slices.SortStableFunc(list, func(a, b domain.Wait) int {
		return cmp.Compare(slices.Index(domain.WaitReasons, a.Reason), slices.Index(domain.WaitReasons, b.Reason))
	})
	return list
}

// openDoubts lists cancelled attempts in doubt that nobody has resolved.
func (s *state) openDoubts() []workKey {
	var list []workKey
	for k, d := range s.doubts {
		if d.answer == nil {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b workKey) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Visit, b.Visit), cmp.Compare(a.item, b.item))
	})
	return list
}

// due is when the earliest wait ends by itself, those left out that need no
// timer; zero: none does.
func (s *state) due(quiet func(*work) bool) time.Time {
	var due time.Time
	for _, w := range s.work {
		if w.phase == phaseWaiting && !w.due.IsZero() && (due.IsZero() || w.due.Before(due)) && !quiet(w) {
			due = w.due
		}
	}
	return due
}

// triedMost is how many attempts were made of what waits for its next one; of
// several, the most.
func (s *state) triedMost() int {
	most := 0
	for _, w := range s.work {
		if w.phase == phaseWaiting && w.reason == domain.WaitRetry {
			most = max(most, w.attempt)
		}
	}
	return most
}
