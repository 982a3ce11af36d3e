package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/replan"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/planner"
)

// Replanner creates new versions for runs that cannot continue as planned. After a crash, it is
// called again unless its answer was durable. It must not have side effects.
type Replanner interface {
	Replan(ctx context.Context, r domain.ReplanRequest) (domain.Replanned, error)
}

// replans creates new versions for runs that cannot continue as planned.
type replans struct {
	e        *Engine
	planner  Replanner      // if nil, runs are never replanned
	planning sync.Map       // IDs of runs that are being replanned
	answers  replan.Answers // with a Remote
}

// SetReplanner sets the planner for replans. Call it before Open. Without it, `on_error: replan`
// means fail.
func (e *Engine) SetReplanner(r Replanner) { e.replans.planner = r }

// replanTimeout limits a request for a new version.
const replanTimeout = 5 * time.Minute

// replanMsg contains a new version, or the reason why there is none.
type replanMsg struct {
	key    runstate.StepKey
	tail   runstate.ReplanTarget
	unsafe []string
	usage  domain.Usage
	err    error
	// again means that there is no result, and the planner must be called again.
	again bool
}

// perform plans, stores the version, and notifies the run. The planner's answer is recorded first,
// so that after a crash the plan is made from the answer without calling the planner again.
func (r *replans) perform(run string) {
	ctx, cancel := context.WithTimeout(r.e.base, replanTimeout)
	defer cancel()
	failpoint.Hit("replan.asked")
	m, err := r.replan(ctx, run)
	if context.Cause(r.e.base) != nil {
		r.planning.Delete(run) // the next start plans it
		return
	}
	m.err, m.again = err, errors.Is(err, errAnswerNotRecorded)
	failpoint.Hit("replan.planned")
	if !r.e.post(run, m) {
		r.planning.Delete(run)
	}
}

func (r *replans) replan(ctx context.Context, run string) (replanMsg, error) {
	var m replanMsg
	w, req, err := r.request(ctx, run)
	if err != nil {
		return m, err
	}
	m.key = w.StepKey
	out, err := r.askPlanner(ctx, run, w, req)
	if err != nil {
		m.usage = out.Usage
		return m, err
	}
	m.unsafe = out.Unsafe
	m.tail, err = r.put(ctx, req.Version, out)
	return m, err
}

// request returns the step for which a run waits for a plan, and the request to the planner.
func (r *replans) request(ctx context.Context, run string) (*runstate.Step, domain.ReplanRequest, error) {
	v, err := r.e.View(ctx, run)
	if err != nil {
		return nil, domain.ReplanRequest{}, err
	}
	version, err := r.e.store.VersionByHash(ctx, v.Run.Hash)
	if err != nil {
		return nil, domain.ReplanRequest{}, err
	}
	return replan.Request(v, version)
}

// put stores the version that an answer of the planner describes.
func (r *replans) put(ctx context.Context, from domain.Version, out domain.Replanned) (runstate.ReplanTarget, error) {
	doc, problems := r.e.CheckPlan(out.Source, planner.FormatJSON)
	n, err := replan.Version(doc, problems, from, out.Reason)
	if err != nil {
		return runstate.ReplanTarget{}, err
	}
	_, stored, _, err := r.e.store.PutVersion(ctx, n, runstate.ReplanActor)
	return runstate.ReplanTarget{Hash: stored.Hash, Version: stored.Number, Reason: out.Reason}, err
}

// askPlanner returns the recorded answer of the planner, or a new one, which is durable before it
// is used. Its usage is recorded in the same row.
func (r *replans) askPlanner(ctx context.Context, run string, w *runstate.Step, req domain.ReplanRequest) (domain.Replanned, error) {
	if out, ok, err := replan.Recorded(w); ok || err != nil {
		return out, err
	}
	out, err := r.planner.Replan(ctx, req)
	if err != nil {
		return out, err
	}
	failpoint.Hit("replan.answered")
	m := replanAnswerMsg{w.StepKey, out, newReply[done]()}
	_, err = ask(ctx, r.e.stopped, func(m message) bool { return r.e.post(run, m) }, m, m.reply, ErrStopping)
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, ErrStopping) || ctx.Err() != nil:
		return domain.Replanned{}, err
	}
	return out, fmt.Errorf("%w: %w", errAnswerNotRecorded, err)
}

// errAnswerNotRecorded reports that an answer could not be recorded, because the run has changed or its
// checkpoint was rejected. The planner is then called again with the new state.
var errAnswerNotRecorded = errors.New("the planner's answer was not recorded")

// replanAnswerMsg contains the planner's answer, which must become durable.
type replanAnswerMsg struct {
	key   runstate.StepKey
	out   domain.Replanned
	reply reply[done]
}

func (m replanAnswerMsg) answer(err error) { m.reply.give(done{}, err) }

func (m replanAnswerMsg) apply(a *runner) {
	err := a.decide(&runstate.ReplanAnswered{StepKey: m.key, Usage: m.out.Usage,
		Answer: runstate.PlannerAnswer{Source: string(m.out.Source), Reason: m.out.Reason, Unsafe: m.out.Unsafe}})
	if err != nil {
		m.answer(ErrFenced)
		return
	}
	a.pipe.after(m.answer)
}

func (m replanMsg) apply(a *runner) {
	a.e.replans.planning.Delete(a.id)
	ev := &runstate.ReplanReady{StepKey: m.key, Target: m.tail, Unsafe: m.unsafe, Usage: m.usage, Again: m.again}
	switch {
	case m.err != nil:
		ev.Failure = a.e.replans.reason(m.err)
	case len(m.unsafe) == 0:
		ev.Version = a.newVersion(m.tail)
	}
	failpoint.Hit("replan.before")
	a.handle(ev)
}

// newVersion loads a version that the run may follow, with the rows that it keeps. Following
// another version requires another fold, so the runner reads its journal. Nothing is active at that
// time.
func (a *runner) newVersion(t runstate.ReplanTarget) *runstate.NewVersion {
	ctx := context.WithoutCancel(a.e.base)
	journal, err := a.journal(ctx)
	if err == nil {
		var v *runstate.NewVersion
		if v, err = a.e.replans.loadVersion(ctx, a.m, journal, t); err == nil {
			return v
		}
	}
	return &runstate.NewVersion{Failure: a.e.replans.reason(err)}
}

// reason returns a text that states why there is no new version.
func (r *replans) reason(err error) string {
	return r.e.current().mask(runstate.ClipText(err.Error(), 2000))
}

func (r *replans) loadVersion(
	ctx context.Context, m *runstate.Machine, journal []domain.Entry, t runstate.ReplanTarget,
) (*runstate.NewVersion, error) {
	prog, err := r.e.program(ctx, domain.ProgramRef{Hash: t.Hash, Profile: m.Run.Profile})
	if err != nil {
		return nil, err
	}
	input, err := runstate.Decode(m.Run.Input)
	if err != nil {
		return nil, err
	}
	return replan.Follow(preview.View{Env: &r.e.env, Run: m.Run, Program: m.Program, Journal: journal, State: m.State}, prog,
		r.e.Facts(ctx, m.Run, input), t)
}

// journal returns the journal of the run: stored rows, rows on their way to the store, and rows of
// the current checkpoint.
func (a *runner) journal(ctx context.Context) ([]domain.Entry, error) {
	journal, err := a.e.store.Journal(ctx, a.id, 0)
	if err != nil {
		return nil, err
	}
	last := int64(len(journal))
	add := func(rows []domain.Entry) {
		for _, e := range rows {
			if e.Seq > last {
				journal, last = append(journal, e), e.Seq
			}
		}
	}
	for i := range a.pipe.inflight {
		add(a.pipe.inflight[i].Entries)
	}
	add(a.m.Draft())
	return journal, nil
}
