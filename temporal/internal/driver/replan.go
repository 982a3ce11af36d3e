package driver

import (
	"cmp"
	"maps"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/replan"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// replanTimeout limits one request for a plan. kairosd's own limit for the planner is shorter.
const replanTimeout = 6 * time.Minute

// replan requests a new version of the plan. kairosd reads what it needs in its record, so that the run reports first.
func (r *runner) replan(k runstate.StepKey) {
	if r.replanning {
		return
	}
	r.replanning = true
	workflow.Go(r.ctx, func(ctx workflow.Context) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: replanTimeout, TaskQueue: r.in.Control,
			HeartbeatTimeout: cmp.Or(r.in.LostAfter, lostAfter), RetryPolicy: &temporal.RetryPolicy{MaximumInterval: reportPause}})
		recorded := func() bool { return r.reports.done() && len(r.m.Draft()) == 0 }
		for more := true; more; { // another replan may begin before this one is left
			if workflow.Await(ctx, recorded) != nil {
				return
			}
			var p wire.Replanned
			q := wire.Replan{Run: r.in.Run.ID, Seq: r.m.State.Seq}
			err := workflow.ExecuteActivity(ctx, wire.ReplanActivity, q).Get(ctx, &p)
			handled := false
			r.post(func() { more, handled = r.replanned(k, p, err), true })
			if workflow.Await(ctx, func() bool { return handled }) != nil {
				return
			}
		}
	})
}

// replanned handles a result of kairosd: the answer of the planner, which the run records before it requests the version, or
// the version. It reports whether the version must be requested.
func (r *runner) replanned(k runstate.StepKey, p wire.Replanned, err error) (more bool) {
	r.handle(runstate.Complete{})
	if p.Answer != nil {
		if r.decide(&runstate.ReplanAnswered{StepKey: k, Answer: *p.Answer, Usage: p.Usage}) == nil {
			r.handle(runstate.Complete{})
			return true
		}
		p = wire.Replanned{Again: true} // the run no longer waits
	}
	ev := &runstate.ReplanReady{StepKey: k, Target: p.Target, Unsafe: p.Unsafe, Usage: p.Usage, Failure: p.Failure, Again: p.Again}
	switch {
	case err != nil:
		ev.Failure = runstate.ClipText(err.Error(), 2000)
	case p.Failure == "" && !p.Again:
		r.know(p)
		if len(p.Unsafe) == 0 {
			ev.Version = r.newVersion(p.Target)
		}
	}
	r.replanning = false
	r.handle(ev)
	return false
}

// know keeps a version that the run may follow, and the versions of its sub-plans. The version that a name had first counts.
func (r *runner) know(p wire.Replanned) {
	versions, plans := maps.Clone(p.Versions), maps.Clone(p.Plans)
	maps.Copy(versions, r.in.Versions)
	if plans == nil {
		plans = map[string]string{}
	}
	maps.Copy(plans, r.in.Plans)
	r.in.Versions, r.in.Plans, r.in.Next = versions, plans, p.Next
	r.reports.versions = append(r.reports.versions, versions[p.Target.Hash])
}

// newVersion returns a version that the run may follow, with the rows that it keeps.
func (r *runner) newVersion(t runstate.ReplanTarget) *runstate.NewVersion {
	v, err := r.follow(t)
	if err != nil {
		return &runstate.NewVersion{Failure: runstate.ClipText(err.Error(), 2000)}
	}
	return v
}

func (r *runner) follow(t runstate.ReplanTarget) (*runstate.NewVersion, error) {
	m := r.m
	prog, err := r.programs.Get(r.in.Versions[t.Hash], m.Run.Profile)
	if err != nil {
		return nil, err
	}
	input, err := runstate.Decode(m.Run.Input)
	if err != nil {
		return nil, err
	}
	f := r.programs.Facts(m.Run, input, r.known)
	return replan.Follow(preview.View{Env: &preview.Env{Now: r.now}, Run: m.Run, Program: m.Program, Journal: r.journal,
		State: m.State}, prog, f, t)
}

// versionChanged continues with the settings of the version that the run now follows.
func (r *runner) versionChanged() {
	if n := r.in.Next; n != nil && n.Hash == r.m.Run.Hash {
		r.in.Options.Agents, r.in.Callback, r.in.Next = n.Agents, cmp.Or(r.in.Callback, n.Callback), nil
	}
}

// Facts returns the facts of a run. find finds the versions that it has followed.
func (p *Programs) Facts(run domain.Run, input any, find func(hash string) (domain.Version, error)) runstate.Facts {
	return runstate.Facts{Run: run.ID, Slot: run.Slot.String(), Input: input, Program: func(hash string) (*walk.Program, error) {
		v, err := find(hash)
		if err != nil {
			return nil, err
		}
		c, err := p.Get(v, run.Profile)
		if err != nil {
			return nil, err
		}
		return c.Program, nil
	}}
}

// Fold returns the program that a run follows, and its state with history. A run that follows another version than at its
// beginning is folded with all of them.
func (p *Programs) Fold(run domain.Run, rows []domain.Entry, find func(hash string) (domain.Version, error)) (*runstate.Compiled,
	*runstate.State, error) {
	v, err := find(run.Hash)
	if err != nil {
		return nil, nil, err
	}
	prog, err := p.Get(v, run.Profile)
	if err != nil {
		return nil, nil, err
	}
	input, err := runstate.Decode(run.Input)
	if err != nil {
		return nil, nil, domain.Errorf(domain.CodeInvalid, "input of run %s: %w", run.ID, err)
	}
	f := p.Facts(run, input, find)
	f.KeepHistory = true
	first := prog.Program
	if hash := runstate.FirstVersion(rows); hash != "" {
		if first, err = f.Program(hash); err != nil {
			return nil, nil, err
		}
	}
	state, err := runstate.Fold(first, f, rows)
	return prog, state, err
}
