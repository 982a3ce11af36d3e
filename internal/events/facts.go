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

// eventFacts contains the facts that the events of a run need besides its rows.
type eventFacts struct {
	session string
	plan    string // id of the stored plan
	query   string
	dry     bool // a dry run calls no agents, so there are no handoffs
	// versions are the versions that the run followed, in order. It is empty if the run follows no
	// step plan.
	versions []eventVersion
}

// eventVersion is a version that a run follows after a journal row.
type eventVersion struct {
	after int64
	prog  *walk.Program // nil: it cannot be compiled on this server
}

// at returns the version that determines the meaning of a row. A replan row belongs to the previous
// version. It returns nil if the run follows no step plan at that row.
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
	// replans counts committed replan rows. Facts that were read before one are not cached.
	replans int
}

func newFactsCache() *factsCache {
	byRun, err := lru.NewLRU[string, eventFacts](maxEventFacts, nil)
	if err != nil { // the only error is a size below 1
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

// put caches facts whose reading began when replans had the given value.
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

// eventFacts reads the facts of a run. A deleted run has none.
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
	current, err := b.eventProgram(ctx, r.ProgramRef)
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

// eventProgram compiles a version. It returns nil if the version cannot be compiled on this server.
func (b *Bus) eventProgram(ctx context.Context, ref domain.ProgramRef) (*runstate.Compiled, error) {
	p, err := b.c.Program(ctx, ref)
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
		p, err := b.eventProgram(ctx, domain.ProgramRef{Hash: hash, Profile: r.Profile})
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

// Derive returns the events of a stored record. Live delivery and replays both call it.
func (b *Bus) Derive(ctx context.Context, ev domain.AuditEvent) ([]domain.Event, error) {
	f, err := b.eventFacts(ctx, ev.Run)
	if err != nil {
		return nil, err
	}
	for i := range ev.Entries {
		if row := &ev.Entries[i]; row.Kind == domain.EntryReplan && !f.includes(row.Seq) {
			// The commit that replanned the run may not have been announced yet.
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

// agent returns the identity of an agent, with only the id of an unknown agent.
func (b *Bus) agent(id string) Agent {
	if who := b.c.Agent(id); who.Name != "" {
		return who
	}
	if id == runstate.SupervisorAgent {
		return Agent{Name: "Supervisor"}
	}
	return Agent{Name: id}
}
