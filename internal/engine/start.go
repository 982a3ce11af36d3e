package engine

import (
	"cmp"
	"context"
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/keylock"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/internal/versions"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// starter creates runs and queues them.
type starter struct {
	e    *Engine
	hold hold
	// remote executes the runs if it has a Remote.
	remote remote
	// undoing has a lock per run. A run is not resumed while it is undone, and undone once at a time.
	undoing keylock.Locks
}

// allow checks the role of the actor. A refusal is recorded in the audit log.
func (e *Engine) allow(ctx context.Context, actor domain.Actor, role domain.Role, action, run, object string) error {
	if actor.Role.Includes(role) {
		return nil
	}
	return e.denied(ctx, actor, action, run, object,
		domain.Errorf(domain.CodeForbidden, "this requires the role %s; %s has the role %s", role, actor.Name, actor.Role))
}

// denied records a refused action and returns the reason.
func (e *Engine) denied(ctx context.Context, actor domain.Actor, action, run, object string, why *domain.Error) error {
	err := e.store.Audit(
		ctx,
		domain.AuditRecord{Action: action, Actor: actor.Name, Source: actor.Source, Request: actor.Request, Run: run, Object: object,
			Result: "denied", Reason: why.Message},
	)
	if err != nil {
		e.log.Error("cannot record a rejected request", "action", action, "actor", actor.Name, "err", err)
	}
	why.Audited = true
	return why
}

// errNotOpen returns the error of a request before Open or during Stop.
func errNotOpen() error {
	return domain.Errorf(domain.CodeUnavailable, "kairosd is stopping or has not started").Suggest("try again in a few seconds")
}

// Start creates a run. It returns when the run is durable.
func (e *Engine) Start(ctx context.Context, actor domain.Actor, r domain.StartRequest) (domain.Run, error) {
	return e.starts.start(ctx, actor, r)
}

func (s *starter) start(ctx context.Context, actor domain.Actor, r domain.StartRequest) (domain.Run, error) {
	r.Dry = r.Dry || r.Offline
	if run, ok, err := s.startedBefore(ctx, r.Key); ok || err != nil {
		return run, err
	}
	ref, err := s.programOf(ctx, r)
	if err != nil {
		return domain.Run{}, err
	}
	p, err := s.e.program(ctx, ref)
	if err != nil {
		return domain.Run{}, err
	}
	if r.Hash != "" && !r.Dry { // however the request names the plan
		named, err := s.e.store.Plan(ctx, p.Version.PlanID)
		if err != nil {
			return domain.Run{}, err
		}
		if err := checkNotPaused(named); err != nil {
			return domain.Run{}, err
		}
	}
	if r.Input, err = ValidInput(ctx, p, r.Input); err != nil {
		return domain.Run{}, err
	}
	if p.Callback && s.e.current().Callback == nil && !r.Dry {
		return domain.Run{}, domain.Errorf(domain.CodeConflict, "the plan uses ${run.callback}, and kairosd has no address for callbacks").
			Suggest("set hooks.url in the configuration to the address at which other systems reach kairosd")
	}
	n := domain.NewRun{
		Profile:     ref.Profile,
		Input:       r.Input,
		Actor:       actor.Name,
		Origin:      cmp.Or(r.Origin, actor.Source),
		Session:     r.Session,
		Priority:    cmp.Or(r.Priority, p.Priority),
		Labels:      r.Labels,
		Limits:      r.Limits,
		Key:         r.Key,
		Concurrency: r.Concurrency,
		StartAt:     r.StartAt,
		Slot:        r.Slot,
		Claim:       r.Claim,
		Delivery:    r.Delivery,
		Receipt:     r.Receipt,
	}
	if n.Limits.Offline = r.Offline; r.Dry {
		n.Origin = domain.OriginDry
	} else if err := s.acceptDraft(ctx, actor, p); err != nil {
		return domain.Run{}, err
	}
	return s.create(ctx, p, n, actor)
}

// CheckStart returns the error that a start would have because of its plan, its version, or its input.
// A paused plan is not an error.
func (t Timed) CheckStart(ctx context.Context, r domain.StartRequest) error {
	e := t.e
	r.Dry = true
	ref, err := e.starts.programOf(ctx, r)
	if err != nil {
		return err
	}
	p, err := e.program(ctx, ref)
	if err != nil {
		return err
	}
	input, err := ValidInput(ctx, p, r.Input)
	if err != nil {
		return err
	}
	return e.starts.applyPlan(ctx, p, &domain.NewRun{Input: input, Labels: r.Labels})
}

// startedBefore returns the run that an earlier request with the same idempotency key created.
func (s *starter) startedBefore(ctx context.Context, key string) (domain.Run, bool, error) {
	if key == "" {
		return domain.Run{}, false, nil
	}
	run, err := s.e.store.RunByKey(ctx, key)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return domain.Run{}, false, nil
	}
	return run, err == nil, err
}

// ValidInput returns the input of a new run, with the defaults of the plan's schema. An input that does
// not match the schema is an error.
func ValidInput(ctx context.Context, p *runstate.Compiled, input domain.RawJSON) (domain.RawJSON, error) {
	if p.InputSchema == nil {
		return input, nil
	}
	var given any
	var err error
	if len(input) > 0 {
		if given, err = jsonvalue.Decode(input); err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "input: %w", err)
		}
	}
	if v, changed := p.CompleteInput(given); changed {
		if input, err = jsonvalue.Encode(v); err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "defaults of the input: %w", err)
		}
	}
	return input, versions.CheckValue(ctx, p.InputSchema, input, "input")
}

// programOf returns the requested version with the requested profile, which it must declare.
func (s *starter) programOf(ctx context.Context, r domain.StartRequest) (domain.ProgramRef, error) {
	hash, err := s.versionOf(ctx, r)
	if err == nil {
		err = s.e.CheckProfile(ctx, hash, r.Profile)
	}
	return domain.ProgramRef{Hash: hash, Profile: r.Profile}, err
}

// versionOf returns the hash of the requested version.
func (s *starter) versionOf(ctx context.Context, r domain.StartRequest) (string, error) {
	if r.Hash != "" {
		return r.Hash, nil
	}
	p, err := s.e.store.Plan(ctx, r.Plan)
	if err != nil {
		return "", err
	}
	if p.Archived {
		return "", domain.Errorf(domain.CodeConflict, "plan %s is archived", p.Key).Suggest("unarchive it, or run another plan")
	}
	if !r.Dry {
		if err := checkNotPaused(p); err != nil {
			return "", err
		}
	}
	if r.Version == 0 || r.Version == p.Latest {
		return p.LatestHash, nil
	}
	v, err := s.e.store.VersionByNumber(ctx, p.ID, r.Version)
	if err != nil {
		return "", err
	}
	return v.Hash, nil
}

// create stores a new run of a program and queues it.
func (s *starter) create(ctx context.Context, p *runstate.Compiled, n domain.NewRun, actor domain.Actor) (domain.Run, error) {
	if s.e.runs.isStopping() {
		return domain.Run{}, errNotOpen()
	}
	n.PlanID, n.Hash = p.Version.PlanID, p.Hash
	n.Status = domain.RunQueued
	if err := s.applyPlan(ctx, p, &n); err != nil {
		return domain.Run{}, err
	}
	if err := s.remote.accept(ctx, p, n); err != nil {
		return domain.Run{}, err
	}
	if n.Parent == nil {
		held, err := s.held(ctx)
		if err != nil {
			return domain.Run{}, err
		}
		if held {
			n.Status = domain.RunWaiting
		}
	}
	n.Limits = runstate.InitialLimits(n.Limits, p.Limits)
	if !n.StartAt.IsZero() {
		n.StartAt = n.StartAt.UTC().Truncate(timeUnit)
	}
	if len(n.Entries) == 0 {
		plans, err := s.e.Reader.Pins(ctx, p)
		if err != nil {
			return domain.Run{}, domain.Errorf(domain.CodeInvalid, "%w", err)
		}
		if len(plans) > 0 {
			n.Entries = []domain.Entry{runstate.PlansRow(plans, s.e.now())}
		}
	}
	if err := s.recall(ctx, &n); err != nil {
		return domain.Run{}, err
	}
	if n.ID == "" {
		n.ID = domain.NewID()
	}
	facts := map[string]any{"version": p.Version.Number, "hash": p.Hash, "origin": n.Origin}
	if n.Profile != "" {
		facts["profile"] = n.Profile
	}
	record := domain.AuditRecord{
		Action:  "run.created",
		Actor:   actor.Name,
		Source:  actor.Source,
		Request: actor.Request,
		Object:  "plan:" + p.Version.PlanKey,
		Detail:  detail(facts),
	}
	if len(n.Audit) > 0 { // an action on another run creates this one
		record.Reason = n.Audit[0].Reason
		n.Audit[0].Object = "run:" + n.ID
	}
	n.Audit = append([]domain.AuditRecord{record}, n.Audit...)
	if n.Receipt != nil {
		kept := *n.Receipt
		kept.Object, n.Receipt = n.ID, &kept
	}
	failpoint.Hit("accept.before")
	s.e.runs.creating(n.ID)
	run, created, err := s.e.store.CreateRun(ctx, n)
	failpoint.Hit("accept.after")
	if err != nil || !created {
		s.e.runs.notCreated(n.ID)
		return run, err
	}
	s.enqueue(&run)
	failpoint.Hit("replace.before")
	s.cancelReplaced(context.WithoutCancel(ctx), &run)
	return run, nil
}

// recall adds the memory of the session to the journal of a new run. A fork keeps the memory of its
// run, and a child run has no memory.
func (s *starter) recall(ctx context.Context, n *domain.NewRun) error {
	r, ok := s.e.current().Registry.(SessionMemory)
	if !ok || n.Session == "" || n.Session == n.ID || n.Parent != nil || n.ForkedFrom != "" {
		return nil
	}
	input, err := runstate.Decode(n.Input)
	if err != nil {
		return domain.Errorf(domain.CodeInvalid, "input: %w", err)
	}
	text := ""
	if input != nil {
		text = jsonvalue.Text(input)
	}
	known, err := r.Recall(ctx, n.Actor, n.Session, text)
	if err != nil || known == "" {
		return err
	}
	v, err := jsonvalue.Encode(known)
	if err != nil {
		return fmt.Errorf("memory of session %s: %w", n.Session, err)
	}
	n.Entries = append(n.Entries, runstate.MemoryRow(v, int64(len(n.Entries))+1, s.e.now()))
	return nil
}

// enqueue queues a new run.
func (s *starter) enqueue(run *domain.Run) {
	if s.remote.Remote != nil {
		s.e.runs.notCreated(run.ID)
		if !s.e.opts.Safe && run.Status != domain.RunWaiting {
			s.remote.launch(run)
		}
		return
	}
	early := run.StartAt.After(s.e.now())
	ready := !s.e.opts.Safe && run.Status != domain.RunWaiting
	open := s.e.runs.keepCreated(run, ready && !early && run.LastSeq == 0 && len(run.Input) <= 4096)
	switch {
	case !open || !ready: // it is durable, and starts with the next Open or with its release
	case early:
		s.e.timers.Set(run.ID, run.StartAt)
	default:
		s.e.sched.enqueue(ticketOf(run))
	}
}

// acceptDraft accepts a draft whose version is started, because starting a version implies
// accepting it.
func (s *starter) acceptDraft(ctx context.Context, actor domain.Actor, p *runstate.Compiled) error {
	if p.Version.Origin != versions.OriginPlanner {
		return nil
	}
	plan, err := s.e.store.Plan(ctx, p.Version.PlanID)
	if err != nil || plan.Stage != domain.StageDraft {
		return err
	}
	const reason = "a run of it was started"
	if plan.LatestHash == p.Version.Hash {
		_, err = s.e.store.AcceptPlan(ctx, plan.ID, actor, reason)
		return err
	}
	r, err := s.e.Reader.Accepted(ctx, plan, p.Version, reason)
	if err == nil {
		_, err = s.e.store.RestoreVersion(ctx, r, actor)
	}
	return err
}
