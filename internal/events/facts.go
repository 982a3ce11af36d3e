package events

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// eventFacts are what the events of a run need to know besides its rows.
type eventFacts struct {
	session string
	plan    string // id of the stored plan
	query   string
	dry     bool // agents are not called, so none hands over
	// versions are those that the run followed, in order; none: it runs no step plan.
	versions []eventVersion
}

// eventVersion is a version that a run follows after a journal row.
type eventVersion struct {
	after int64
	prog  *walk.Program // nil: it cannot be compiled here
}

// at is the version that decides what a row means; a row that replans belongs to
// the version before. Nil: the run follows no step plan there.
func (f *eventFacts) at(seq int64) *walk.Program {
	var prog *walk.Program
	for _, v := range f.versions {
		if v.after == 0 || v.after < seq {
			prog = v.prog
		}
	}
	return prog
}

// includes reports whether the facts include the replan at a row.
func (f *eventFacts) includes(seq int64) bool {
	for _, v := range f.versions {
		if v.after == seq {
			return true
		}
	}
	return len(f.versions) == 0
}

// maxEventFacts limits the cache of facts, in runs. The facts of other runs are read again.
const maxEventFacts = 4096

// factsCache keeps the facts of runs. Facts change only when a run is replanned.
type factsCache struct {
	mu    sync.Mutex // guards both fields
	byRun *lru.LRU[string, eventFacts]
	// replans counts committed replan rows. Facts whose reading began before one are
	// not kept.
	replans int
}

func newFactsCache() *factsCache {
	byRun, err := lru.NewLRU[string, eventFacts](maxEventFacts, nil)
	if err != nil { // only a size below 1 is refused
		panic("events: " + err.Error())
	}
	return &factsCache{byRun: byRun}
}

func (c *factsCache) get(run string) (f eventFacts, ok bool, replans int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok = c.byRun.Get(run)
	return f, ok, c.replans
}

// put keeps facts whose reading began when the cache counted replans.
func (c *factsCache) put(run string, f eventFacts, replans int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.replans == replans {
		c.byRun.Add(run, f)
	}
}

// forget drops the facts of runs that a commit has replanned.
func (c *factsCache) forget(events []domain.AuditEvent) {
	for i := range events {
		for j := range events[i].Entries {
			if events[i].Entries[j].Kind == domain.EntryReplan {
				c.mu.Lock()
				c.replans++
				c.byRun.Remove(events[i].Run)
				c.mu.Unlock()
			}
		}
	}
}

// eventFacts reads what the events of a run need. A run that is gone has none.
func (b *Bus) eventFacts(ctx context.Context, run string) (eventFacts, error) {
	var f eventFacts
	if run == "" {
		return f, nil
	}
	f, ok, replans := b.facts.get(run)
	if ok {
		return f, nil
	}
	r, err := b.c.Store.Run(ctx, run)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	f = eventFacts{session: cmp.Or(r.Session, r.ID), plan: r.PlanID, dry: r.Dry()}
	current, err := b.eventProgram(ctx, r.Hash)
	if err != nil {
		return f, err
	}
	if current != nil && current.Kind == walk.KindSteps {
		if f.versions, err = b.eventVersions(ctx, r, current); err != nil {
			return f, err
		}
		if input, err := runstate.Decode(r.Input); err == nil && input != nil {
			f.query = jsonvalue.Text(input)
		}
	}
	b.facts.put(run, f, replans)
	return f, nil
}

// eventProgram compiles a version; nil: it cannot be compiled here.
func (b *Bus) eventProgram(ctx context.Context, hash string) (*runstate.Compiled, error) {
	p, err := b.c.Program(ctx, hash)
	switch domain.CodeOf(err) {
	case "":
		return p, nil
	case domain.CodeInvalid, domain.CodeCorrupt, domain.CodeNotFound, domain.CodeUnavailable:
		if ctx.Err() == nil {
			return nil, nil
		}
	}
	return nil, err
}

// eventVersions lists the versions that a run of a step plan followed.
func (b *Bus) eventVersions(ctx context.Context, r domain.Run, current *runstate.Compiled) ([]eventVersion, error) {
	journal, err := b.c.Store.Journal(ctx, r.ID, 0)
	if err != nil && domain.CodeOf(err) != domain.CodeCorrupt {
		return nil, err
	}
	var list []eventVersion
	add := func(after int64, hash string) error {
		p, err := b.eventProgram(ctx, hash)
		if err != nil {
			return err
		}
		v := eventVersion{after: after}
		if p != nil {
			v.prog = p.Program
		}
		list = append(list, v)
		return nil
	}
	for i := range journal {
		if journal[i].Kind != domain.EntryReplan {
			continue
		}
		var row runstate.Replan
		if json.Unmarshal(journal[i].Decision, &row) != nil {
			continue
		}
		if list == nil {
			if err := add(0, row.From); err != nil {
				return nil, err
			}
		}
		if err := add(journal[i].Seq, row.Hash); err != nil {
			return nil, err
		}
	}
	if list == nil {
		return []eventVersion{{prog: current.Program}}, nil
	}
	return list, nil
}

// Derive returns the events of a stored record. Both live delivery and replays call it.
func (b *Bus) Derive(ctx context.Context, ev domain.AuditEvent) ([]domain.Event, error) {
	f, err := b.eventFacts(ctx, ev.Run)
	if err != nil {
		return nil, err
	}
	for i := range ev.Entries {
		if row := &ev.Entries[i]; row.Kind == domain.EntryReplan && !f.includes(row.Seq) {
			// The commit that replanned the run has not been announced yet.
			b.facts.forget([]domain.AuditEvent{ev})
			if f, err = b.eventFacts(ctx, ev.Run); err != nil {
				return nil, err
			}
			break
		}
	}
	d := deriver{facts: f, agents: b.agent, generation: b.c.Store.Generation(), ev: ev}
	return d.derive(), nil
}

// agent is the identity of an agent, by its id where nothing else is known.
func (b *Bus) agent(id string) Agent {
	if who := b.c.Agent(id); who.Name != "" {
		return who
	}
	if id == runstate.SupervisorAgent {
		return Agent{Name: "Supervisor"}
	}
	return Agent{Name: id}
}
