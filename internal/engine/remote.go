package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/keylock"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/tail"
	"github.com/kairosd/kairosd/planner"
)

// Remote executes runs in place of the engine. The engine then stores new runs, forwards requests, and stores what it
// receives in [Records].
type Remote interface {
	// Accept returns an error if a new run of a program cannot be executed.
	Accept(ctx context.Context, p *runstate.Compiled, n domain.NewRun) error
	// Launch begins to execute a stored run, or lets a child run begin that waits for its concurrency key. It does not wait, and
	// tries again until it succeeds.
	Launch(run string)
	// Executes reports whether a run has an execution.
	Executes(ctx context.Context, run string) (bool, error)
	// Act, Resolve, and Decide carry out a request. They return the position of the run after it. A run that is not
	// executed now, such as one that has ended, is executed again for the request.
	Act(ctx context.Context, run domain.Run, ev *runstate.OperatorAction) (seq int64, err error)
	Resolve(ctx context.Context, run domain.Run, ev *runstate.StepResolved) (seq int64, err error)
	Decide(ctx context.Context, run domain.Run, ev *runstate.ApprovalDecided) (seq int64, err error)
	// Signal ends a wait of a run with a signal. The error has CodeConflict if the run no longer waits.
	Signal(ctx context.Context, run string, ev *runstate.SignalArrived) error
	// Active returns the active attempts of a run.
	Active(ctx context.Context, run string) (tail.Active, error)
	// Workers returns the workers as they were last seen. It does not wait.
	Workers() domain.Workers
	// Maintain begins or ends maintenance for all runs: none of their steps starts. It may be called before the Remote is open.
	Maintain(on bool)
	// BudgetFreed ends the wait of a run for a shared budget.
	BudgetFreed(ctx context.Context, run string, ev *runstate.BudgetFreed) error
	// Reconcile compares all unfinished runs with their executions, and fills gaps of their records.
	Reconcile(ctx context.Context) error
}

// Report contains checkpoints of a run that a Remote executes.
type Report struct {
	Run string
	// Created is the run as it was created, with its first rows, for a run that the store may not have.
	Created *domain.Run
	Journal []domain.Entry
	// Versions are versions that the run follows and that the store may not have.
	Versions []domain.Version
	// Filled reports that the report is one of the past. Its run does not wait for its concurrency key because of it.
	Filled bool
	// Checkpoints are in order. A checkpoint that is stored already is skipped.
	Checkpoints []domain.Checkpoint
	// Now is the run after the last checkpoint, or nil. It replaces the status of a run that was held when the database
	// was restored.
	Now *domain.Run
}

// ErrGap is wrapped by the error of a report whose checkpoints do not follow the stored ones.
var ErrGap = errors.New("the report does not follow the record")

// ErrDiverged is wrapped by the error of a report with other rows than the record: two programs have executed the run.
var ErrDiverged = errors.New("the report differs from the record")

// remoteWait is the time that a request waits for the record of its effect.
const remoteWait = 20 * time.Second

// remote connects an engine with its Remote.
type remote struct {
	e *Engine
	Remote
	// acting and recording have a lock per run.
	acting, recording keylock.Locks
	admission         admission
	output            *tail.Follower
}

// accept returns an error if a new run cannot be executed.
func (r *remote) accept(ctx context.Context, p *runstate.Compiled, n domain.NewRun) error {
	if r.Remote == nil {
		return nil
	}
	return r.Accept(ctx, p, n)
}

// act carries out an action. The store owns a run that has ended, so that an action which does not reopen it is
// executed here.
func (r *remote) act(ctx context.Context, actor domain.Actor, req domain.ActionRequest) error {
	defer r.acting.Lock(req.Run)()
	run, err := r.e.store.Run(ctx, req.Run)
	if err != nil {
		return err
	}
	if here, err := r.owned(ctx, &run, req.Action); err != nil {
		return err
	} else if here {
		return r.actHere(ctx, actor, req)
	}
	ev := &runstate.OperatorAction{Actor: actor, Request: req}
	if req.Action == domain.ActionResume && (run.Status.Final() || req.Digest != "") {
		if err := r.checkResume(ctx, run, ev); err != nil {
			return err
		}
	}
	seq, err := r.Act(ctx, run, ev)
	return r.recorded(ctx, req.Run, seq, err)
}

// checkResume is the runner's checkResume for a stored run.
func (r *remote) checkResume(ctx context.Context, run domain.Run, ev *runstate.OperatorAction) error {
	ended := run.Status.Final()
	if ended {
		if err := checkReopen(&runstate.Machine{Run: run}); err != nil {
			return err
		}
		if rev := ev.Request.Rev; rev != 0 && rev != run.LastSeq {
			return domain.RunChanged(rev, run.LastSeq)
		}
		ev.Request.Rev = run.LastSeq // what the resume reopens depends on it
	}
	v, err := r.e.View(ctx, run.ID)
	if err != nil {
		return err
	}
	return completeResume(v, ev, ended)
}

// resolve resolves an attempt in doubt.
func (r *remote) resolve(ctx context.Context, actor domain.Actor, req domain.ResolveRequest) error {
	defer r.acting.Lock(req.Run)()
	run, err := r.e.store.Run(ctx, req.Run)
	if err != nil {
		return err
	}
	if run.Status.Final() {
		m := resolveMsg{actor, req, newReply[done]()}
		_, err := askRun(ctx, r.e, req.Run, m, m.reply)
		return err
	}
	seq, err := r.Resolve(ctx, run, &runstate.StepResolved{Actor: actor, Request: req})
	return r.recorded(ctx, req.Run, seq, err)
}

// decide answers an approval request, and returns it with its answer.
func (r *remote) decide(ctx context.Context, ev *runstate.ApprovalDecided) (domain.Approval, error) {
	defer r.acting.Lock(ev.Approval.Run)()
	run, err := r.e.store.Run(ctx, ev.Approval.Run)
	if err != nil {
		return ev.Approval, err
	}
	seq, err := r.Decide(ctx, run, ev)
	if err := r.recorded(ctx, run.ID, seq, err); err != nil {
		return ev.Approval, err
	}
	return r.e.store.Approval(ctx, ev.Approval.ID)
}

// recorded waits until the store has a position of a run, so that the next page shows the effect of a request.
func (r *remote) recorded(ctx context.Context, run string, seq int64, err error) error {
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, remoteWait)
	defer cancel()
	_, err = r.e.watchers.await(limited, run, false, func(now *domain.Run) bool { return now.LastSeq >= seq })
	if err != nil && ctx.Err() == nil {
		r.e.log.Warn("the effect of an action is not recorded yet", "run_id", run, "position", seq)
		return nil // it has happened
	}
	return err
}

// Records stores what a Remote reports.
type Records struct{ e *Engine }

// RecordsOf returns the records of an engine with a Remote.
func RecordsOf(e *Engine) Records { return Records{e} }

// Add stores a report. A repeated report changes nothing. If the record lacks checkpoints before those of the report,
// the error wraps ErrGap.
func (s Records) Add(ctx context.Context, rep Report) error {
	e, r := s.e, &s.e.starts.remote
	defer r.recording.Lock(rep.Run)()
	for _, v := range rep.Versions {
		if err := r.storeVersion(ctx, v); err != nil {
			return err
		}
	}
	run, err := e.store.Run(ctx, rep.Run)
	created := domain.CodeOf(err) == domain.CodeNotFound
	if created {
		run, err = r.create(ctx, rep)
	}
	if err != nil {
		return err
	}
	list, err := r.missing(ctx, run, rep.Checkpoints)
	if err != nil {
		return err
	}
	if err := e.signals.consumable(ctx, list); err != nil {
		return err
	}
	if err := r.commit(list); err != nil {
		return err
	}
	e.signals.reported(list)
	e.handlers.budgets.reported(list)
	if len(list) == 0 && (rep.Now == nil || run.WaitReason != domain.WaitHeld) {
		r.queueChild(&run, created, rep.Filled)
		return nil
	}
	if run, err = e.store.Run(ctx, rep.Run); err != nil {
		return err
	}
	if err := r.unhold(ctx, &run, rep.Now); err != nil {
		return err
	}
	e.watchers.changed(run.ID, run.Status)
	r.output.Wake(run.ID)
	if run.Status.Final() {
		e.sched.ended(run.ID, concurrencyKey(&run))
		e.replans.answers.Forget(run.ID)
		e.handlers.budgets.settle(e.handlers.budgets.ledger.EndRun(run.ID))
	}
	r.queueChild(&run, created, rep.Filled)
	return nil
}

// create stores the run of a report.
func (r *remote) create(ctx context.Context, rep Report) (domain.Run, error) {
	c := rep.Created
	if c == nil {
		return domain.Run{}, fmt.Errorf("run %s: %w", rep.Run, ErrGap)
	}
	rule := c.Concurrency
	if rule != nil && (c.Parent == nil || rep.Filled) { // it was admitted before
		rule = &domain.Concurrency{Key: rule.Key, Limit: rule.Limit}
	}
	run, _, err := r.e.store.CreateRun(ctx, domain.NewRun{ID: c.ID, Hash: c.Hash, Profile: c.Profile, Input: c.Input,
		Status: domain.RunQueued, Parent: c.Parent, Lineage: c.Lineage, Actor: c.Actor,
		Origin: c.Origin, Session: c.Session, Priority: c.Priority, Labels: c.Labels, Limits: c.Limits, Key: c.Key, StartAt: c.StartAt,
		Slot: c.Slot, Concurrency: rule, CreatedAt: c.CreatedAt, Entries: slices.Clone(rep.Journal),
		Audit: []domain.AuditRecord{{Action: "run.created", Actor: domain.System.Name, Source: domain.System.Source,
			Object: "plan:" + c.PlanKey, Detail: detail(map[string]any{"version": c.Version, "hash": c.Hash, "origin": c.Origin})}}})
	return run, err
}

// storeVersion stores the version of a run if the store does not have it: that of a block, or one that a restored
// database lacks.
func (r *remote) storeVersion(ctx context.Context, v domain.Version) error {
	if _, err := r.e.store.VersionByHash(ctx, v.Hash); domain.CodeOf(err) != domain.CodeNotFound {
		return err
	}
	var n domain.NewVersion
	switch v.Origin {
	case domain.OriginBlock:
		n = domain.NewVersion{Key: v.PlanKey, Hash: v.Hash, Kind: v.Kind, Format: v.Format, Source: v.Source, Canonical: v.Source,
			Origin: v.Origin, Semantics: v.Semantics, ByPerson: v.ByPerson, Author: v.Author, ParentHash: v.ParentHash}
	case runstate.KindReplan:
		from := domain.Version{PlanKey: v.PlanKey, Hash: v.ParentHash}
		_, err := r.e.replans.put(ctx, from, domain.Replanned{Source: v.Source, Reason: v.Reason})
		return err
	default:
		plan, _, err := r.e.ReadPlan(v.Source, planner.Format(v.Format), v.Origin)
		if err != nil {
			return err
		}
		n = plan.By(v.Author)
		n.Semantics, n.ByPerson = v.Semantics, v.ByPerson
	}
	_, _, _, err := r.e.store.PutVersion(ctx, n, domain.System)
	return err
}

// missing returns the checkpoints that the store does not have.
func (r *remote) missing(ctx context.Context, run domain.Run, list []domain.Checkpoint) ([]domain.Checkpoint, error) {
	last := -1 // the last stored one with rows
	for len(list) > last+1 {
		c := &list[last+1]
		if end := c.Fence + int64(len(c.Entries)); end > run.LastSeq || end == run.LastSeq && len(c.Entries) == 0 {
			break
		}
		last++
	}
	if last >= 0 {
		if err := r.compare(ctx, list[:last+1]); err != nil {
			return nil, err
		}
	}
	list = list[last+1:]
	if len(list) == 0 || sameStatus(run, list) {
		return nil, nil
	}
	if list[0].Fence != run.LastSeq {
		return nil, fmt.Errorf("run %s is at position %d, and the report begins at %d: %w", run.ID, run.LastSeq, list[0].Fence, ErrGap)
	}
	return list, nil
}

// sameStatus reports whether checkpoints without rows would leave the run as it is, because they are stored already.
func sameStatus(run domain.Run, list []domain.Checkpoint) bool {
	after := run
	for i := range list {
		c := &list[i]
		p := c.Patch
		if len(c.Entries) > 0 || c.Fence != run.LastSeq || p == nil || len(c.Approvals)+len(c.Receipts) > 0 || p.DeletedAt != nil {
			return false
		}
		if p.Status != "" {
			after.Status, after.WaitReason = p.Status, p.WaitReason
		}
		if p.Headline != nil {
			after.Headline = *p.Headline
		}
		if p.DueAt != nil {
			after.DueAt = *p.DueAt
		}
	}
	return after.Status == run.Status && after.WaitReason == run.WaitReason && after.Headline == run.Headline &&
		after.DueAt.Equal(run.DueAt)
}

// compare returns an error if the last of the checkpoints has other rows than the record. Two programs have then
// executed the run.
func (r *remote) compare(ctx context.Context, stored []domain.Checkpoint) error {
	for _, c := range slices.Backward(stored) {
		if len(c.Entries) == 0 {
			continue
		}
		rows, err := r.e.store.Journal(ctx, c.Run, c.Fence)
		if err != nil {
			return err
		}
		for i, want := range c.Entries {
			if i >= len(rows) {
				break
			}
			if has := rows[i]; has.Kind != want.Kind || has.Node != want.Node || has.Visit != want.Visit || has.Item != want.Item ||
				has.Attempt != want.Attempt || !has.At.Equal(want.At) {
				return fmt.Errorf("run %s, row %d: %w", c.Run, has.Seq, ErrDiverged)
			}
		}
		return nil
	}
	return nil
}

// commit stores checkpoints together.
func (r *remote) commit(list []domain.Checkpoint) error {
	if len(list) == 0 {
		return nil
	}
	var mu sync.Mutex
	var failed error
	var stored sync.WaitGroup
	stored.Add(len(list))
	chain := &domain.Chain{}
	for i := range list {
		list[i].Chain = chain
	}
	n := 0
	r.e.store.Enqueue(list, func(err error) {
		if err == nil {
			r.e.handlers.budgets.charged(list[n].Charges)
		}
		n++
		mu.Lock()
		failed = cmp.Or(failed, err)
		mu.Unlock()
		stored.Done()
	})
	stored.Wait()
	return failed
}

// unhold gives a run the status that it has where it is executed. It was held because the database was restored, but
// its execution has continued.
func (r *remote) unhold(ctx context.Context, run, now *domain.Run) error {
	if now == nil || run.WaitReason != domain.WaitHeld || now.WaitReason == domain.WaitHeld || now.LastSeq != run.LastSeq {
		return nil
	}
	due := now.DueAt
	err := r.e.store.Commit(ctx, domain.Checkpoint{Run: run.ID, Fence: run.LastSeq,
		Patch: &domain.RunPatch{Status: now.Status, WaitReason: now.WaitReason, Headline: &now.Headline, Message: now.StatusMessage,
			Node: &now.Node, DueAt: &due},
		Audit: []domain.AuditRecord{runstate.StatusRecord(run.ID, now.Status, now.WaitReason, now.StatusMessage)}})
	if err == nil {
		run.Status, run.WaitReason = now.Status, now.WaitReason
	}
	return err
}

// Workers returns the workers of a Remote as they were last seen, or nil without one.
func (s Records) Workers() *domain.Workers {
	r := s.e.starts.remote.Remote
	if r == nil {
		return nil
	}
	w := r.Workers()
	w.Queues = append([]domain.WorkerQueue{}, w.Queues...)
	for _, m := range w.Messages() {
		w.Problems = append(w.Problems, m.String())
	}
	return &w
}

// Lost quarantines a run that is not executed any more, although it has not ended. An operator forks, releases, or
// cancels it.
func (s Records) Lost(ctx context.Context, id string, why domain.Message) error {
	e := s.e
	defer e.starts.remote.recording.Lock(id)()
	run, err := e.store.Run(ctx, id)
	if err != nil || run.Status.Final() || run.Status == domain.RunWaiting && run.WaitReason == domain.WaitQuarantined {
		return err
	}
	headline, node := why.String(), ""
	row := domain.Entry{Kind: domain.EntryAction, Item: runstate.NoItem, Actor: domain.System.Name, Reason: headline, At: e.now(),
		Decision: runstate.RunActionDecision{Action: runstate.RunActionQuarantine}.JSON()}
	err = e.store.Commit(ctx, domain.Checkpoint{Run: id, Fence: run.LastSeq, Entries: []domain.Entry{row},
		Patch: &domain.RunPatch{Status: domain.RunWaiting, WaitReason: domain.WaitQuarantined, Headline: &headline, Message: why,
			Node: &node, DueAt: &time.Time{}},
		Audit: []domain.AuditRecord{
			{Action: "run.lost", Actor: domain.System.Name, Source: domain.System.Source, Run: id, Result: "failed", Reason: headline},
			runstate.StatusRecord(id, domain.RunWaiting, domain.WaitQuarantined, why)}})
	if err == nil {
		e.watchers.changed(id, domain.RunWaiting)
		e.handlers.budgets.settle(e.handlers.budgets.ledger.EndRun(id))
	}
	return err
}

// Options returns the settings with which the Remote executes a run of a program.
func (s Records) Options(p *runstate.Compiled) runstate.Options {
	in := s.e.current()
	return runstate.Options{Replans: s.e.replans.planner != nil, MaxReplans: in.MaxReplans, QuarantineAfter: s.e.opts.QuarantineAfter,
		ConsentTimeout: in.ConsentTimeout, Agents: in.nodeAgents(p)}
}

// Callback returns the callback address of a run, or "" if the configuration has none.
func (s Records) Callback(run string) string {
	if address := s.e.current().Callback; address != nil {
		return address(run)
	}
	return ""
}

// checkReopen refuses the resume of an ended run that cannot be resumed.
func checkReopen(m *runstate.Machine) error {
	switch run := &m.Run; {
	case run.Status == domain.RunCompleted:
		return m.Conflict("a completed run has nothing to resume").Suggest("rerun or fork it")
	case !run.DeletedAt.IsZero():
		return preview.DeletedError()
	case !run.PurgedAt.IsZero():
		return preview.PurgedError(*run)
	}
	return nil
}

// completeResume refuses a resume that is not possible or differs from its preview. For an ended run, it adds what the
// resume reopens.
func completeResume(view *preview.View, ev *runstate.OperatorAction, ended bool) error {
	req := ev.Request
	pre, reset, asked, err := view.Resume(req)
	if err != nil {
		return err
	}
	if req.Digest != "" && req.Digest != pre.Digest {
		return preview.StaleError()
	}
	if ended {
		ev.Reset, ev.Options = &reset, asked
	}
	return nil
}
