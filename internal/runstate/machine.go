package runstate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// Machine decides how one run continues. Handle takes an event and returns the checkpoints
// and commands that follow from it; every row that it decides is applied to State at once.
// It has no goroutines, store, or clock, and nothing that it decides depends on the order
// of a map. It belongs to one goroutine.
type Machine struct {
	Run     domain.Run // the run's row, with everything that was decided since it was read
	Program *Compiled
	State   *State
	// Observe, if set, is called with the state of every checkpoint that is completed.
	Observe func(*State)

	env Env      // of the event being handled
	out Decision // of the event being handled

	next      domain.Checkpoint // being put together
	hasFinal  bool              // next holds a final row
	completed int64             // number of the last completed checkpoint

	queue    queue
	starting bool                 // a step is being started or run inline
	attempts map[StepKey]*Attempt // active
	budget   domain.Message       // why nothing starts as long as something runs

	runningSince time.Duration // reading of the monotonic clock
	dueDirty     bool          // the time at which the run is due may have changed
	ended        bool
	reopening    bool      // a resume is being recorded; its status is set already
	replanAsked  bool      // for the step that waits for a new version
	path         []Settled // the first settled visits; see pathKept
	pathLen      int       // letters of the run's path that are recorded
	noted        map[domain.Use]bool
	// loaded and recovered are the sequence numbers before and after Recover. announced is
	// set if what Recover did was previewed.
	loaded, recovered int64
	announced         bool
}

const (
	maxPath  = 64          // letters of the run's path
	pathKept = 2 * maxPath // settled visits that are kept for it; a reset takes some away
)

// Env is what a decision needs to know of other systems: values only.
type Env struct {
	Now       time.Time
	Monotonic time.Duration // reading of a clock that no one can set
	// Jitter are random numbers in [0, 1): of a backoff, and of a delay that a server
	// requires.
	Jitter [2]float64
	// HasSlot is set if the run may work.
	HasSlot bool
	// Stopping is set if the daemon stops, Maintenance if no step may start anywhere.
	Stopping, Maintenance bool
	// Hold is set if no step may start right now: messages wait, or too many checkpoints
	// are on their way.
	Hold    bool
	Options *Options
}

// Options are the settings that decisions depend on.
type Options struct {
	Safe            bool          // nothing is executed
	Replans         bool          // new versions can be planned
	MaxReplans      int           // of one run
	QuarantineAfter int           // crashes within one step
	ConsentTimeout  time.Duration // 0: a call waits forever for an answer
	// Speakers are the agents behind the nodes of the program, by index; "": none is.
	Speakers []string
}

// Decision is what follows from an event. Its slices are valid until the next one.
type Decision struct {
	Checkpoints []domain.Checkpoint // that were completed, in order
	Commands    []Command
	// Began is set if a step was started or run: another may start at once.
	Began bool
}

// NewMachine returns the machine of a run whose journal was folded to s with its history.
// completed is the number of checkpoints completed before.
func NewMachine(run domain.Run, prog *Compiled, s *State, completed int64) *Machine {
	m := &Machine{Run: run, Program: prog, State: s, completed: completed, attempts: map[StepKey]*Attempt{}}
	m.queue.attempts = m.attempts
	m.path = slices.Clone(s.Settled[:min(len(s.Settled), pathKept)])
	s.KeepHistory = false
	s.Settled = nil
	m.queue.requeue(s)
	m.pathLen = len(run.Path)
	m.ended = run.Status.Final()
	m.dueDirty = true
	m.loaded, m.recovered = s.Seq, s.Seq
	return m
}

// Handle decides what follows from an event. With an error nothing has changed.
func (m *Machine) Handle(ev Event, env Env) (Decision, error) {
	clear(m.out.Checkpoints)
	clear(m.out.Commands)
	m.env, m.out = env, Decision{Checkpoints: m.out.Checkpoints[:0], Commands: m.out.Commands[:0]}
	err := ev.handle(m)
	return m.out, err
}

// Pending lists what must be active according to the state. The runner executes it
// after the last row of a journal has been applied.
func (m *Machine) Pending() []Command {
	var list []Command
	if m.ended {
		return nil
	}
	for _, t := range m.attemptsInOrder() {
		list = append(list, Command{Task: StartAttempt{t}})
	}
	for _, task := range childTasks(m) {
		list = append(list, Command{Task: task})
	}
	if w := m.State.Replanning(); w != nil && w.ReplanTarget == nil {
		list = append(list, Command{Task: AskReplan{w.StepKey}})
	}
	due := m.State.NextDue(func(*Step) bool { return false })
	switch {
	case m.Run.StartedAt.IsZero() && !m.Run.StartAt.IsZero():
		due = m.Run.StartAt
	case m.State.Paused || m.State.Held || m.State.Quarantined:
		due = time.Time{}
	}
	return append(list, Command{Task: ArmTimer{due}})
}

// Ended reports whether the run is over.
func (m *Machine) Ended() bool { return m.ended }

// Attempts is how many attempts are active.
func (m *Machine) Attempts() int { return len(m.attempts) }

// Next is the step that may start next; nil: none may.
func (m *Machine) Next(now time.Time) *StepKey { return m.queue.peek(m.State, now) }

// Draft lists the rows of the checkpoint being put together.
func (m *Machine) Draft() []domain.Entry { return m.next.Entries }

// Blocked reports whether nothing may start.
func (m *Machine) Blocked(env Env) bool {
	m.env = env
	return m.blocked()
}

func (m *Machine) blocked() bool { return m.env.Stopping || m.barred() }

// barred is blocked for a reason that outlives a restart.
func (m *Machine) barred() bool {
	s := m.State
	return s.Paused || s.Held || s.Quarantined || m.env.Options.Safe || !m.budget.IsZero() || s.Budget != nil || m.ended || m.early() ||
		m.Program.Replans && s.Replanning() != nil
}

// early reports whether the run may not start yet.
func (m *Machine) early() bool {
	return m.Run.StartedAt.IsZero() && !m.Run.StartAt.IsZero() && m.Run.StartAt.After(m.env.Now)
}

// do adds a command that is executed at once.
func (m *Machine) do(t Task) { m.out.Commands = append(m.out.Commands, Command{Task: t}) }

// doAfter adds a command that is executed once the checkpoint being put together is durable.
func (m *Machine) doAfter(t Task) {
	m.out.Commands = append(m.out.Commands, Command{After: m.completed + 1, Task: t})
}

// complete ends the checkpoint being put together.
func (m *Machine) complete() {
	m.status()
	if c := &m.next; len(c.Entries) == 0 && c.Patch == nil && len(c.Audit) == 0 && len(c.Approvals) == 0 {
		return
	}
	m.Run.LastSeq = m.State.Seq
	if m.Observe != nil {
		m.Observe(m.State)
	}
	m.out.Checkpoints = append(m.out.Checkpoints, m.next)
	m.next, m.hasFinal = domain.Checkpoint{}, false
	m.completed++
}

// separate completes a checkpoint that holds a final row: one finished step is one
// checkpoint.
func (m *Machine) separate() {
	if m.hasFinal {
		m.complete()
	}
}

// patch is the change of the run's row in the checkpoint being put together.
func (m *Machine) patch() *domain.RunPatch {
	if m.next.Patch == nil {
		m.next.Patch = &domain.RunPatch{}
	}
	return m.next.Patch
}

// entry begins a row about a step; seq is assigned by add.
func (m *Machine) entry(kind domain.EntryKind, k StepKey) domain.Entry {
	return domain.Entry{Kind: kind, Node: m.Program.Nodes[k.Node].ID, Visit: k.Visit, Item: k.Item, At: m.env.Now}
}

// add appends a row to the checkpoint being put together and applies it.
func (m *Machine) add(e domain.Entry) {
	e.Seq = m.State.Seq + 1
	if err := m.State.Apply(&e); err != nil {
		// A row that this code just made contradicts the state: a defect here,
		// which must not be written.
		panic(fmt.Sprintf("runstate: run %s: %v", m.Run.ID, err))
	}
	m.next.Entries = append(m.next.Entries, e)
	recordHandoff(m, &e)
	recordMessages(m, &e)
	m.use(e.Usage)
}

// verbRow appends a row about the run.
func (m *Machine) verbRow(p VerbDecision, actor, reason string) {
	m.add(domain.Entry{Kind: domain.EntryVerb, Item: NoItem, Decision: p.JSON(), Actor: actor, Reason: reason, At: m.env.Now})
}

// use counts what a row used.
func (m *Machine) use(u domain.Usage) {
	if u.Zero() {
		return
	}
	p := m.patch()
	p.AddUsage = p.AddUsage.Add(u)
	m.Run.Usage = m.Run.Usage.Add(u)
}

// record adds to the checkpoint being put together the records of an operation: its audit
// record and, if the request had an idempotency key, the receipt.
func (m *Machine) record(r *domain.Receipt, object string, record domain.AuditRecord) {
	m.next.Audit = append(m.next.Audit, record)
	if r != nil {
		kept := *r
		kept.Object = object
		m.next.Receipts = append(m.next.Receipts, kept) //seed:receipt
	}
}

// attemptsInOrder lists the attempts active by node, visit, and item.
func (m *Machine) attemptsInOrder() []*Attempt {
	list := make([]*Attempt, 0, len(m.attempts))
	for _, t := range m.attempts {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *Attempt) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Visit, b.Visit), cmp.Compare(a.Item, b.Item))
	})
	return list
}

// foreachKey is the place of a foreach visit in the queue.
func foreachKey(v walk.VisitKey) StepKey { return StepKey{VisitKey: v, Item: NoItem} }
