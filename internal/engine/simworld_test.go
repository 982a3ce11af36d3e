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

// world is a server that lives in virtual time, what it did to the world
// outside, and what it acknowledged. Everything that is known is
// known since a number of operations on the files: a power cut takes back what
// came after it.
type world struct {
	t       *testing.T
	seed    uint64
	rng     *rand.Rand
	dir     string
	mistake mistake
	refused int // checkpoints for which the disk had no space

	// This life of the daemon.
	life       int
	home       string
	files      map[string][]byte // as the life began
	durable    map[string][]byte // those of SQLite among them
	vfs        *vfstest.VFS
	store      *store.Store
	engine     *engine.Engine
	order      *order
	heard      chan struct{} // closed when the listener of this life has ended
	maxRunning int
	maxNodes   int
	closed     bool

	turns moments
	plans []domain.Version
	roots []string // runs that were started, not children or forks
	calm  bool     // operators only help

	step     int
	passed   time.Duration
	cuts     int
	compared int // runs with their undisturbed counterparts
	trace    []string
	journals string

	mu       sync.Mutex
	wrong    []string
	parked   []*parked
	hungry   map[*engine.Call]bool // attempts whose next call has not begun
	events   []simEvent            // that a listener was sent
	ending   int                   // handlers whose context has ended and are about to
	acting   int                   // people who wait for an answer, and no one waits for them
	ambush   *ambush
	facts    []fact
	acks     []simAck
	names    map[string]string
	parents  map[string]string
	digests  map[string]liveDigest
	tampered map[string]bool
	errors   map[visitOf]int
	seen     map[string]int64 // the revision of a run that was judged last
}

// mistake is what is wrong with a world on purpose.
type mistake int

const (
	mistakeNone     mistake = iota
	mistakeEarlyCut         // the disk forgets what was synced
	mistakeAck              // checkpoints are acknowledged before they are stored
	mistakeTwice            // unsafe work is run again after a crash as if it were not
	mistakeTimer            // timers are not reported again after a start
	mistakeEvents           // now and then a commit is not announced
	mistakeRepeat           // an agent forgets what it did when its run was resumed
	mistakeSpend            // model calls begin without a reservation
)

// visitOf names one visit, or one item of it, or one call that an agent makes in it.
type visitOf struct {
	run, node   string
	visit, item int
	substep     int
}

// fact is something that happened outside the database, or was acknowledged.
type fact struct {
	at   int // operations on the files that were over by then
	kind factKind
	of   visitOf // visit 0: of every visit of the node
}

type factKind string

const (
	factCalled    factKind = "called"    // its handler was called
	factCompleted factKind = "completed" // its completion was acknowledged
	factSpared    factKind = "spared"    // it ended and had no effect
	factPermitted factKind = "permitted" // a person let it run again
	factForgotten factKind = "forgotten" // a resume takes a visit back, which begins again if the run gets there again
)

// simAck is a checkpoint that was acknowledged.
type simAck struct {
	at  int
	run string
	seq int64
}

type liveDigest struct {
	seq    int64
	digest string
}

// parked is a handler at work: it ends when the world lets it.
type parked struct {
	call    *engine.Call
	typ     string
	substep int   // 0: the step itself
	tokens  int64 // that are reserved for a model call
	end     chan ending
}

// ending is how a handler ends: well, with an error that its retries allow, or with
// one for good.
type ending struct{ fails, forGood bool }

// aloud: the life of one seed is printed as it is lived.
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

// boot starts the daemon with what the disk holds; false: it does not start.
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
	w.engine.LookAtClock(time.Minute) // no one moves the clock, and a world lives for days
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

// setClosed ends this life. After a power cut, what it still writes goes nowhere.
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

// forget takes back what came after a number of operations on the files; what
// is left is known from the beginning of the next life.
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
	clear(w.hungry)
	w.unhear(at)
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

// waiting lists the handlers at work, in an order that does not depend on chance.
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

// acknowledged notes what is durable from now on.
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

// assignID gives a run a name, and a run that is not a child an id, that are the
// same whenever the seed is.
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

// root is the run that a child serves in the end.
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
}

func (w *world) save(src string) (domain.Version, bool) {
	_, v, _, _, err := w.engine.SavePlan(w.ctx(), operator, []byte(src), planner.FormatJSON, "upload", "")
	return v, err == nil
}

// storePlan puts everything that waits into a plan: timers, approvals, child
// runs, retries, timeouts, limits.
func (w *world) storePlan(src, id string) string {
	var m map[string]any
	if err := json.Unmarshal([]byte(src), &m); err != nil {
		w.t.Fatal(err)
	}
	m["id"] = id
	if w.rng.IntN(3) == 0 {
		m["on_failure"] = "continue_branches"
	}
	clerks := 8 // one step of several is one
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
