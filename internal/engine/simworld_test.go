package engine_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/vfstest"
	"github.com/kairosd/kairosd/planner"
)

// world is a server in virtual time, with the effects that it had on other systems and the data
// that it acknowledged. Every fact is recorded with the number of file operations at that time. A
// power cut removes the later facts.
type world struct {
	t       *testing.T
	seed    uint64
	rng     *rand.Rand
	dir     string
	mistake mistake
	refused int // checkpoints that the disk had no space for

	// This generation of the daemon.
	life       int
	home       string
	files      map[string][]byte // at the start of the daemon
	durable    map[string][]byte // the durable content of SQLite's files
	vfs        *vfstest.VFS
	store      *store.Store
	engine     *engine.Engine
	order      *order
	heard      chan struct{} // closed when the listener of this generation has ended
	maxRunning int
	maxNodes   int
	closed     bool

	turns moments
	plans []domain.Version
	// schedule is the id of the schedule, and slotRuns the number of its runs.
	schedule string
	slotRuns int
	roots    []string // runs that were started directly, not child runs or forks
	calm     bool     // operators only help runs to continue

	step     int
	passed   time.Duration
	cuts     int
	compared int // runs with their undisturbed copies
	trace    []string
	journals string

	mu           sync.Mutex
	wrong        []string
	parked       []*parked
	pendingCalls map[*engine.Call]bool // attempts whose next call has not begun
	events       []simEvent            // events that the listener received
	ending       int                   // handlers whose context has ended, but which have not returned
	acting       int                   // actions whose answer is awaited by no one
	ambush       *ambush
	facts        []fact
	acks         []simAck
	names        map[string]string
	parents      map[string]string
	digests      map[string]liveDigest
	tampered     map[string]bool
	errors       map[visitOf]int
	seen         map[string]int64 // revision of each run at its last check
}

// mistake is a deliberate defect of a world.
type mistake int

const (
	mistakeNone     mistake = iota
	mistakeEarlyCut         // the disk loses synced data
	mistakeAck              // checkpoints are acknowledged before they are stored
	mistakeTwice            // unsafe work is repeated after a crash
	mistakeTimer            // timers are not set again after a start
	mistakeEvents           // some commits are not announced
	mistakeRepeat           // an agent forgets its calls when its run is resumed
	mistakeSpend            // model calls begin without a reservation
	mistakeClaim            // a slot starts two runs
)

// visitOf identifies one visit, one of its items, or one call of an agent in it.
type visitOf struct {
	run, node   string
	visit, item int
	substep     int
}

// fact is an event outside the database, or acknowledged data.
type fact struct {
	at   int // number of completed file operations
	kind factKind
	of   visitOf // visit 0 means every visit of the node
}

type factKind string

const (
	factCalled    factKind = "called"    // its handler was called
	factCompleted factKind = "completed" // its completion was acknowledged
	factSpared    factKind = "spared"    // it ended without an effect
	factPermitted factKind = "permitted" // a person permitted another call
	factForgotten factKind = "forgotten" // a resume reset the visit, which may begin again
)

// simAck is an acknowledged checkpoint.
type simAck struct {
	at  int
	run string
	seq int64
}

type liveDigest struct {
	seq    int64
	digest string
}

// parked is an active handler. It ends when the world permits it.
type parked struct {
	call    *engine.Call
	typ     string
	substep int   // 0 means the step itself
	tokens  int64 // reserved for a model call
	end     chan ending
}

// ending is the end of a handler: success, an error that is retried, or a permanent error.
type ending struct{ fails, forGood bool }

// aloud makes the simulation print its events.
var aloud = os.Getenv("KAIROS_SIM") != ""

var operator = enginetest.Operator

func (w *world) ctx() context.Context { return context.Background() }

func (w *world) note(format string, args ...any) {
	if aloud {
		fmt.Printf("%s %s\n", time.Now().Format("02 15:04:05.000000"), fmt.Sprintf(format, args...))
	}
	w.trace = append(w.trace, fmt.Sprintf("%s %s", time.Now().Format("02 15:04:05.000000"), fmt.Sprintf(format, args...)))
}

func (w *world) violate(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

func (w *world) violations() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wrong
}

// boot starts the daemon with the content of the disk. It returns false if the daemon does not
// start.
func (w *world) boot(files map[string][]byte) bool {
	w.life++
	home, err := os.MkdirTemp(w.dir, "")
	if err == nil {
		err = vfstest.Put(home, files)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	if w.home != "" {
		if err := os.RemoveAll(w.home); err != nil {
			w.t.Fatal(err)
		}
	}
	w.home, w.files, w.closed = home, files, false
	w.durable = map[string][]byte{}
	for _, name := range []string{"kairos.db", "kairos.db-wal"} {
		if b, ok := files[name]; ok {
			w.durable[name] = b
		}
	}
	w.vfs = vfstest.New(w.t)
	w.vfs.Watch(filepath.Join(home, "kairos.db.anchor"))
	w.maxRunning, w.maxNodes = 1+w.rng.IntN(4), 1+w.rng.IntN(6)
	if w.store, err = store.Open(w.ctx(), filepath.Join(home, "kairos.db"),
		store.Options{}.Through(w.vfs.Name, 20+w.rng.IntN(200))); err != nil {
		w.violate("it does not open: %v", err)
		w.closed = true
		return false
	}
	if w.store.RolledBack() {
		w.violate("what is left looks like a rollback")
	}
	w.order = newOrder(w.name, w.turns, w.seed+uint64(w.life))
	disk := watched{w.store, w, w.order}
	w.order.store = disk.store
	w.engine, err = engine.New(engine.Config{Store: disk, Registry: w.registry(),
		Options: engine.Options{MaxRunning: w.maxRunning, MaxNodes: w.maxNodes, StopGrace: 50 * time.Millisecond}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.engine.OnFlush(func(run string, seq int64, digest string) {
		w.mu.Lock()
		w.digests[run] = liveDigest{seq, digest}
		w.mu.Unlock()
		w.checkpointed(run)
	})
	w.engine.LookAtClock(time.Minute) // nothing moves the clock, and a world runs for days
	w.store.OnCommit(w.announce)
	if err := w.listen(); err != nil {
		w.violate("listen: %v", err)
		return false
	}
	if err := w.engine.Open(w.ctx()); err != nil {
		w.violate("open the engine: %v", err)
	}
	return len(w.violations()) == 0
}

// shut stops the daemon. After a power cut, its writes have no effect.
func (w *world) shut() {
	if w.closed {
		return
	}
	w.mu.Lock()
	w.closed, w.ambush = true, nil
	w.mu.Unlock()
	err := w.engine.Stop(w.ctx())
	<-w.heard
	w.order.close()
	if err := errors.Join(err, w.store.Close()); err != nil {
		w.violate("stop: %v", err)
	}
}

// forget removes the facts after a number of file operations. The remaining facts are known from
// the start of the next generation.
func (w *world) forget(at int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.facts = slices.DeleteFunc(w.facts, func(f fact) bool { return f.at > at })
	for i := range w.facts {
		w.facts[i].at = 0
	}
	w.acks = slices.DeleteFunc(w.acks, func(a simAck) bool { return a.at > at })
	for i := range w.acks {
		w.acks[i].at = 0
	}
	w.parked = nil
	clear(w.pendingCalls)
	w.forgetEvents(at)
	clear(w.digests)
	clear(w.seen)
}

func (w *world) anchor() []byte {
	b, err := os.ReadFile(filepath.Join(w.home, "kairos.db.anchor"))
	if err != nil {
		w.t.Fatal(err)
	}
	return bytes.Clone(b)
}

// waiting lists the active handlers in a deterministic order.
func (w *world) waiting() []*parked {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := slices.Clone(w.parked)
	slices.SortFunc(list, func(a, b *parked) int {
		x, y := a.of(), b.of()
		return cmp.Or(
			cmp.Compare(w.names[x.run], w.names[y.run]),
			cmp.Compare(x.node, y.node),
			cmp.Compare(x.visit, y.visit),
			cmp.Compare(x.item, y.item),
			cmp.Compare(a.call.Attempt, b.call.Attempt),
			cmp.Compare(a.substep, b.substep),
		)
	})
	return list
}

func (w *world) where(p *parked) string {
	call := ""
	if p.substep > 0 {
		call = fmt.Sprint(" call ", p.substep)
	}
	return fmt.Sprintf(
		"%s %s#%d[%d] attempt %d (%s%s)",
		w.names[p.call.RunID],
		p.call.Node.ID,
		p.call.Visit,
		p.call.Item,
		p.call.Attempt,
		p.typ,
		call,
	)
}

// acknowledged records data that is now durable.
func (w *world) acknowledged(run string, fence int64, rows []domain.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.vfs.Count()
	w.acks = append(w.acks, simAck{at, run, fence + int64(len(rows))})
	for _, r := range rows {
		if r.Final && r.Status == domain.NodeCompleted {
			w.facts = append(w.facts, fact{at, factCompleted, visitOf{run, r.Node, r.Visit, r.Item, 0}})
		}
		if r.Kind == domain.EntryReset {
			var reset struct {
				Forgotten []struct {
					Node  string
					Visit int
				}
			}
			if err := json.Unmarshal(r.Decision, &reset); err != nil {
				w.wrong = append(w.wrong, fmt.Sprintf("a reset cannot be read: %v", err))
			}
			for _, v := range reset.Forgotten {
				w.facts = append(w.facts, fact{at, factForgotten, visitOf{run: run, node: v.Node, visit: v.Visit}})
			}
		}
		if r.Kind == domain.EntrySubstep && r.Status == domain.NodeCompleted {
			w.facts = append(w.facts, fact{at, factCompleted, visitOf{run, r.Node, r.Visit, r.Item, r.Substep}})
		}
	}
}

// assignID gives a run a name that depends only on the seed. It also gives a run without a parent
// such an id.
func (w *world) assignID(n domain.NewRun) domain.NewRun {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.names[n.ID] != "" {
		return n
	}
	if p := n.Parent; p != nil {
		w.names[n.ID] = fmt.Sprintf("%s/%s#%d[%d].%d", w.names[p.Run], p.Node, p.Visit, p.Item, p.Attempt)
		w.parents[n.ID] = p.Run
		return n
	}
	number := len(w.names) - len(w.parents)
	n.ID = domain.IDFrom([16]byte{0, 0, 0, byte(number), 0, 0, 7 << 4, 0, 1 << 7})
	w.names[n.ID] = fmt.Sprintf("run%02d", number)
	return n
}

func (w *world) name(run string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.names[run]
}

// root returns the run at the top of a tree of child runs.
func (w *world) root(run string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.parents[run] != "" {
		run = w.parents[run]
	}
	return run
}

// prepare stores the plans of this world.
func (w *world) prepare() {
	w.save(
		`{"id": "helper", "nodes": {"a": {"type": "call", "input": {"n": "${input.n}"}}, "w": {"type": "wait", "input": {"for": "1m"}}, "b": {"type": "look"}},
		"edges": [{"from": "a", "to": "w"}, {"from": "w", "to": "b"}]}`,
	)
	for n := 0; len(w.plans) < 3; n++ {
		src := rapid.Custom(plans).Example(int(w.seed)*100 + n)
		if v, ok := w.save(w.storePlan(src, fmt.Sprint("plan", n))); ok {
			w.plans = append(w.plans, v)
		}
	}
	w.declare()
}

func (w *world) save(src string) (domain.Version, bool) {
	_, v, _, _, err := w.engine.SavePlan(w.ctx(), operator, []byte(src), planner.FormatJSON, "upload", "")
	return v, err == nil
}

// storePlan stores a plan with every kind of wait: timers, approvals, child runs, retries,
// timeouts, and limits.
func (w *world) storePlan(src, id string) string {
	var m map[string]any
	if err := json.Unmarshal([]byte(src), &m); err != nil {
		w.t.Fatal(err)
	}
	m["id"] = id
	if w.rng.IntN(3) == 0 {
		m["on_failure"] = "continue_branches"
	}
	clerks := 8 // one of several steps is an agent
	switch w.rng.IntN(6) {
	case 0:
		m["limits"] = map[string]any{"max_steps": 3 + w.rng.IntN(6)}
	case 1:
		m["limits"], clerks = map[string]any{"max_tokens": 90 + w.rng.IntN(400)}, 2
	case 2:
		m["limits"], clerks = map[string]any{"max_cost": simPerToken * (90 + w.rng.IntN(400))}, 2
	}
	nodes := m["nodes"].(map[string]any)
	for i := range len(nodes) {
		n := nodes[fmt.Sprintf("n%d", i)].(map[string]any)
		if w.rng.IntN(clerks) == 0 {
			n["type"] = agentType
			delete(n, "on_reject")
		} else if n["foreach"] == nil {
			switch w.rng.IntN(9) {
			case 0:
				n["type"], n["input"] = "wait", map[string]any{"for": []string{"1s", "10m", "5h", "50h"}[w.rng.IntN(4)]}
			case 1:
				n["type"], n["input"] = "approval", map[string]any{"message": "go on?"}
				if w.rng.IntN(3) == 0 {
					n["input"] = map[string]any{"message": "go on?", "timeout": "3h", "on_timeout": "approve"}
				}
			case 2:
				n["type"], n["plan"], n["input"] = "plan", "helper", map[string]any{"n": i}
			}
		}
		if scripted[n["type"].(string)] == "" && n["type"] != agentType || n["type"] == "calc" {
			continue
		}
		if w.rng.IntN(2) == 0 {
			n["retry"] = map[string]any{"max_attempts": 2 + w.rng.IntN(2), "backoff": []string{"10s", "20m"}}
		}
		if w.rng.IntN(5) == 0 {
			n["timeout"] = "90m"
		}
	}
	b, err := json.Marshal(m)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}
