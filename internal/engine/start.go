package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/kairosd/kairosd/internal/failpoint"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// allow checks the actor's role; a refusal is audited.
func (e *Engine) allow(ctx context.Context, actor kairos.Actor, role kairos.Role, action, run, object string) error {
	if actor.Role.Includes(role) {
		return nil
	}
	return e.denied(ctx, actor, action, run, object,
		kairos.Errorf(kairos.CodeForbidden, "this needs the role %s; %s has the role %s", role, actor.Name, actor.Role))
}

// denied records a refused act and returns why it was refused.
func (e *Engine) denied(ctx context.Context, actor kairos.Actor, action, run, object string, why *kairos.Error) error {
	err := e.store.Audit(ctx, kairos.AuditRecord{Action: action, Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Run: run, Object: object,
		Result: "denied", Reason: why.Message})
	if err != nil {
		e.log.Error("a refusal could not be audited", "action", action, "actor", actor.Name, "err", err)
	}
	why.Audited = true
	return why
}

func (e *Engine) notOpen() error {
	return kairos.Errorf(kairos.CodeUnavailable, "kairosd is stopping or has not started").Suggest("try again in a moment")
}

// Start creates a run; it returns once the run is durable.
func (e *Engine) Start(ctx context.Context, actor kairos.Actor, r kairos.StartRequest) (kairos.Run, error) {
	if err := e.allow(ctx, actor, kairos.RoleOperator, "run.create", "", "plan:"+r.Plan); err != nil {
		return kairos.Run{}, err
	}
	hash, err := e.versionOf(ctx, r)
	if err != nil {
		return kairos.Run{}, err
	}
	p, err := e.program(ctx, hash)
	if err != nil {
		return kairos.Run{}, err
	}
	if r.Hash != "" && !r.Dry { // by whatever name the plan is meant
		named, err := e.store.Plan(ctx, p.version.PlanID)
		if err != nil {
			return kairos.Run{}, err
		}
		if err := whilePaused(named); err != nil {
			return kairos.Run{}, err
		}
	}
	if p.InputSchema != nil {
		if err := validate(p.InputSchema, r.Input, "input"); err != nil {
			return kairos.Run{}, err
		}
	}
	n := kairos.NewRun{Input: r.Input, Actor: actor.Name, Origin: cmp.Or(r.Origin, actor.Surface), Session: r.Session, Priority: cmp.Or(r.Priority, p.Priority),
		Labels: r.Labels, Limits: r.Limits, Key: r.Key, Concurrency: r.Concurrency, StartAt: r.StartAt}
	if r.Dry {
		n.Origin = kairos.OriginDry
	} else if err := e.outgrowDraft(ctx, actor, p); err != nil {
		return kairos.Run{}, err
	}
	return e.create(ctx, p, n, actor)
}

// versionOf finds the version that a start asks for.
func (e *Engine) versionOf(ctx context.Context, r kairos.StartRequest) (string, error) {
	if r.Hash != "" {
		return r.Hash, nil
	}
	p, err := e.store.Plan(ctx, r.Plan)
	if err != nil {
		return "", err
	}
	if p.Archived {
		return "", kairos.Errorf(kairos.CodeConflict, "plan %s is archived", p.Key).Suggest("unarchive it, or run another plan")
	}
	if !r.Dry {
		if err := whilePaused(p); err != nil {
			return "", err
		}
	}
	if r.Version == 0 || r.Version == p.Latest {
		return p.LatestHash, nil
	}
	v, err := e.store.VersionByNumber(ctx, p.ID, r.Version)
	if err != nil {
		return "", err
	}
	return v.Hash, nil
}

// create stores a new run of a program and queues it.
func (e *Engine) create(ctx context.Context, p *program, n kairos.NewRun, actor kairos.Actor) (kairos.Run, error) {
	e.mu.Lock()
	closed := e.stopping
	e.mu.Unlock()
	if closed {
		return kairos.Run{}, e.notOpen()
	}
	n.PlanID, n.Hash = p.version.PlanID, p.Hash
	n.Status = kairos.RunQueued
	if n.Parent == nil {
		held, err := e.held(ctx)
		if err != nil {
			return kairos.Run{}, err
		}
		if held {
			n.Status = kairos.RunWaiting
		}
	}
	n.Limits = limitsOf(n.Limits, p.Limits)
	if !n.StartAt.IsZero() {
		n.StartAt = n.StartAt.UTC().Truncate(timeUnit)
	}
	if len(n.Entries) == 0 {
		plans, err := e.resolvePlans(ctx, p)
		if err != nil {
			return kairos.Run{}, kairos.Errorf(kairos.CodeInvalid, "%w", err)
		}
		if len(plans) > 0 {
			n.Entries = []kairos.Entry{plansRow(plans, e.now())}
		}
	}
	if err := e.recall(ctx, &n); err != nil {
		return kairos.Run{}, err
	}
	if n.ID == "" {
		n.ID = kairos.NewID()
	}
	record := kairos.AuditRecord{Action: "run.created", Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Object: "plan:" + p.version.PlanKey,
		Detail: detail(map[string]any{"version": p.version.Number, "hash": p.Hash, "origin": n.Origin})}
	if len(n.Audit) > 0 { // the act on another run that makes this one
		record.Reason = n.Audit[0].Reason
		n.Audit[0].Object = "run:" + n.ID
	}
	n.Audit = append([]kairos.AuditRecord{record}, n.Audit...)
	if c := n.Concurrency; c != nil && c.Key != "" {
		e.admit.Lock()
		defer e.admit.Unlock()
		if err := e.admission(ctx, c); err != nil {
			return kairos.Run{}, err
		}
	}
	e.remember(kairos.Run{ID: n.ID, Input: n.Input, Session: cmp.Or(n.Session, n.ID)}, p.Program)
	failpoint.Hit("accept.before")
	e.mu.Lock()
	e.created[n.ID] = nil
	e.mu.Unlock()
	run, created, err := e.store.CreateRun(ctx, n)
	failpoint.Hit("accept.after")
	if err != nil || !created {
		e.mu.Lock()
		delete(e.created, n.ID)
		e.mu.Unlock()
		return run, err
	}
	e.enqueue(&run)
	return run, nil
}

// verbMemory is the row of what a run's session had said before it began: what
// ${memory} is in the run, and in every replay of it (SPEC 4.4).
const verbMemory = "memory"

// recall begins a run's journal with what its session remembers for its input. A
// fork goes on with what its run remembered, a child has no memory of its own.
func (e *Engine) recall(ctx context.Context, n *kairos.NewRun) error {
	r, ok := e.current().Registry.(Rememberer)
	if !ok || n.Session == "" || n.Session == n.ID || n.Parent != nil || n.ForkedFrom != "" {
		return nil
	}
	input, err := decode(n.Input)
	if err != nil {
		return kairos.Errorf(kairos.CodeInvalid, "input: %w", err)
	}
	text := ""
	if input != nil {
		text = planner.Text(input)
	}
	known, err := r.Remembered(ctx, n.Actor, n.Session, text)
	if err != nil || known == "" {
		return err
	}
	v, err := planner.EncodeValue(known)
	if err != nil {
		return fmt.Errorf("memory of session %s: %w", n.Session, err)
	}
	n.Entries = append(n.Entries, memoryRow(v, int64(len(n.Entries))+1, e.now()))
	return nil
}

func memoryRow(v kairos.RawJSON, seq int64, at time.Time) kairos.Entry {
	return kairos.Entry{Seq: seq, Kind: kairos.EntryVerb, Item: noItem, Decision: payload{Verb: verbMemory}.json(), Output: v, Actor: kairos.System.Name, At: at}
}

// enqueue queues a run that was just created.
func (e *Engine) enqueue(run *kairos.Run) {
	early := run.StartAt.After(e.now())
	e.mu.Lock()
	open := e.opened && !e.stopping && !e.opts.Safe && run.Status != kairos.RunWaiting
	if _, untouched := e.created[run.ID]; untouched && open && !early && run.LastSeq == 0 && len(run.Input) <= 4096 {
		e.created[run.ID] = run
	} else {
		delete(e.created, run.ID)
	}
	e.mu.Unlock()
	switch {
	case !open: // it is durable and starts with the next Open, or with its release
	case early:
		e.timers.set(run.ID, run.StartAt)
	default:
		e.sched.enqueue(ticketOf(run))
	}
}

// admission applies the rule of a concurrency key to one more run (ruling 44).
func (e *Engine) admission(ctx context.Context, c *kairos.Concurrency) error {
	switch c.OnConflict {
	case "", "queue":
		return nil
	case "skip", "cancel_oldest":
	default:
		return kairos.Errorf(kairos.CodeInvalid, "on_conflict is %q; it must be queue, skip or cancel_oldest", c.OnConflict)
	}
	active, err := e.store.ActiveByConcurrency(ctx, c.Key)
	if err != nil {
		return err
	}
	over := len(active) - max(c.Limit, 1) + 1
	if over <= 0 {
		return nil
	}
	if c.OnConflict == "skip" {
		return &kairos.Error{Code: kairos.CodeConflict, Reason: "concurrency",
			Message: "skipped: run " + kairos.ShortID(active[0].ID) + " with concurrency key " + c.Key + " is still active"}
	}
	for _, r := range active[:over] {
		_, err := e.Act(ctx, kairos.System, kairos.VerbRequest{Run: r.ID, Action: kairos.ActionCancel,
			Reason: "a newer run with concurrency key " + c.Key + " was started"})
		if err != nil && kairos.CodeOf(err) != kairos.CodeConflict {
			return err
		}
	}
	return nil
}
