package runstate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// Machine decides how a run continues. Handle takes an event and returns the resulting checkpoints
// and commands. It applies every row to State at once. The machine has no goroutines, store, or
// clock, and its decisions do not depend on the order of a map. It is not safe for concurrent use.
type Machine struct {
	Run     domain.Run // the row of the run with all decisions since it was read
	Program *Compiled
	State   *State
	// Observe, if set, is called with the state after every completed checkpoint.
	Observe func(*State)

	env Env      // of the current event
	out Decision // of the current event

	next      domain.Checkpoint // the current checkpoint
	hasFinal  bool              // next holds a final row
	completed int64             // number of the last completed checkpoint

	queue    queue
	starting bool                 // a step is being started or run inline
	attempts map[StepKey]*Attempt // active
	budget   domain.Message       // why nothing starts while something runs

	runningSince time.Duration // reading of the monotonic clock
	dueDirty     bool          // the due time of the run may have changed
	waitsFor     *BudgetRef    // the recorded wait for a shared budget
	ended        bool
	reopening    bool      // a resume is being recorded, and its status is set
	replanAsked  bool      // for the step that waits for a new version
	path         []Settled // the first settled visits, at most pathKept
	pathLen      int       // recorded letters of the path summary
	recordedUses map[domain.Use]bool
	// loaded and recovered are the sequence numbers before and after Recover. announced reports
	// that a preview showed what Recover did.
	loaded, recovered int64
	announced         bool
}

const (
	maxPath  = 64          // letters of the path summary
	pathKept = 2 * maxPath // visits kept for the path summary, because a reset removes some
)

// Env holds the external values that a decision depends on.
type Env struct {
	Now       time.Time
	Monotonic time.Duration // reading of the monotonic clock
	// Jitter holds random numbers in [0, 1): for a backoff, and for a delay that a server requires.
	Jitter [2]float64
	// HasSlot reports whether the run may work.
	HasSlot bool
	// Stopping reports that the daemon is stopping. Maintenance reports that no step may start in
	// any run.
	Stopping, Maintenance bool
	// Hold reports that no step may start now, because messages wait or too many checkpoints are
	// not durable.
	Hold    bool
	Options *Options
	// Storable, if not nil, returns a failure if an output of a node is too large for what stores the rows.
	Storable func(node string, raw domain.RawJSON) *domain.Failure
}

// Options are settings that decisions depend on.
type Options struct {
	Safe            bool          // safe mode: nothing is executed
	Replans         bool          // the planner can create new versions
	MaxReplans      int           // per run
	QuarantineAfter int           // crashes during one step
	ConsentTimeout  time.Duration // of a consent request; 0 means no timeout
	// Agents holds the agent of each node of the program, or "".
	Agents []string
}

// Decision is the result of an event. Its slices are valid until the next event.
type Decision struct {
	Checkpoints []domain.Checkpoint // completed checkpoints, in order
	Commands    []Command
	// Began reports that a step was started or run, so that another may start at once.
	Began bool
}

// NewMachine returns the machine of a run. s must be the fold of its journal with history.
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
	if s.Budget != nil {
		m.waitsFor = s.Budget.Shared
	}
	m.loaded, m.recovered = s.Seq, s.Seq
	return m
}

// Handle decides what follows from an event. If it returns an error, nothing has changed.
func (m *Machine) Handle(ev Event, env Env) (Decision, error) {
	clear(m.out.Checkpoints)
	clear(m.out.Commands)
	m.env, m.out = env, Decision{Checkpoints: m.out.Checkpoints[:0], Commands: m.out.Commands[:0]}
	err := ev.handle(m)
	return m.out, err
}

// Pending returns commands for everything that must be active according to the state. The runner
// executes them after it has loaded a journal.
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
	due := earlier(budgetDue(m), earlier(deadline(m), m.State.NextDue(func(*Step) bool { return false })))
	switch {
	case m.Run.StartedAt.IsZero() && !m.Run.StartAt.IsZero():
		due = m.Run.StartAt
	case m.State.Paused || m.State.Held || m.State.Quarantined:
		due = time.Time{}
	}
	return append(list, Command{Task: ArmTimer{due}})
}

// Ended reports whether the run has ended.
func (m *Machine) Ended() bool { return m.ended }

// Attempts returns the number of active attempts.
func (m *Machine) Attempts() int { return len(m.attempts) }

// Next returns the step that may start next, or nil.
func (m *Machine) Next(now time.Time) *StepKey { return m.queue.peek(m.State, now) }

// Draft returns the rows of the current checkpoint.
func (m *Machine) Draft() []domain.Entry { return m.next.Entries }

// Blocked reports whether nothing may start.
func (m *Machine) Blocked(env Env) bool {
	m.env = env
	return m.blocked()
}

func (m *Machine) blocked() bool { return m.env.Stopping || m.suspended() }

// suspended reports whether nothing may start for a reason that survives a restart.
func (m *Machine) suspended() bool {
	s := m.State
	return s.Paused || s.Held || s.Quarantined || m.env.Options.Safe || !m.budget.IsZero() || s.Budget != nil || m.ended ||
		m.beforeStart() ||
		m.Program.Replans && s.Replanning() != nil
}

// beforeStart reports whether the start time of the run is in the future.
func (m *Machine) beforeStart() bool {
	return m.Run.StartedAt.IsZero() && !m.Run.StartAt.IsZero() && m.Run.StartAt.After(m.env.Now)
}

// do adds a command that is executed at once.
func (m *Machine) do(t Task) { m.out.Commands = append(m.out.Commands, Command{Task: t}) }

// doAfter adds a command that is executed when the current checkpoint is durable.
func (m *Machine) doAfter(t Task) {
	m.out.Commands = append(m.out.Commands, Command{After: m.completed + 1, Task: t})
}

// complete ends the current checkpoint.
func (m *Machine) complete() {
	m.status()
	recordBudgetWait(m)
	if c := &m.next; len(c.Entries) == 0 && c.Patch == nil && len(c.Audit) == 0 && len(c.Approvals) == 0 && len(c.Charges) == 0 &&
		c.BudgetWait == nil {
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

// separate completes a checkpoint with a final row, so that each finished step has its own
// checkpoint.
func (m *Machine) separate() {
	if m.hasFinal {
		m.complete()
	}
}

// patch returns the change of the run in the current checkpoint.
func (m *Machine) patch() *domain.RunPatch {
	if m.next.Patch == nil {
		m.next.Patch = &domain.RunPatch{}
	}
	return m.next.Patch
}

// entry returns a new row about a step. add sets its sequence number.
func (m *Machine) entry(kind domain.EntryKind, k StepKey) domain.Entry {
	return domain.Entry{Kind: kind, Node: m.Program.Nodes[k.Node].ID, Visit: k.Visit, Item: k.Item, At: m.env.Now}
}

// add appends a row to the current checkpoint and applies it.
func (m *Machine) add(e domain.Entry) {
	e.Seq = m.State.Seq + 1
	if err := m.State.Apply(&e); err != nil {
		// A new row contradicts the state. This is a bug, and the row must not be stored.
		panic(fmt.Sprintf("runstate: run %s: %v", m.Run.ID, err))
	}
	m.next.Entries = append(m.next.Entries, e)
	recordHandoff(m, &e)
	recordMessages(m, &e)
	m.use(e.Usage)
}

// addActionRow appends a row about the run.
func (m *Machine) addActionRow(p RunActionDecision, actor, reason string) {
	m.add(domain.Entry{Kind: domain.EntryAction, Item: NoItem, Decision: p.JSON(), Actor: actor, Reason: reason, At: m.env.Now})
}

// use adds the usage of a row.
func (m *Machine) use(u domain.Usage) {
	if u.Zero() {
		return
	}
	p := m.patch()
	p.AddUsage = p.AddUsage.Add(u)
	m.Run.Usage = m.Run.Usage.Add(u)
}

// record adds the audit record of an operation to the current checkpoint, and its receipt if the
// request had an idempotency key.
func (m *Machine) record(r *domain.Receipt, object string, record domain.AuditRecord) {
	m.next.Audit = append(m.next.Audit, record)
	if r != nil {
		kept := *r
		kept.Object = object
		m.next.Receipts = append(m.next.Receipts, kept) //seed:receipt
	}
}

// attemptsInOrder returns the active attempts by node, visit, and item.
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

// foreachKey returns the key of a foreach visit in the queue.
func foreachKey(v walk.VisitKey) StepKey { return StepKey{VisitKey: v, Item: NoItem} }
