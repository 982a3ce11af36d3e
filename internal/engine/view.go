package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// view reads and folds a run; one with a damaged journal is CodeCorrupt.
func (e *Engine) view(ctx context.Context, run string) (*preview.View, error) {
	return e.viewBy(ctx, run, e.program)
}

func (e *Engine) viewBy(ctx context.Context, run string, compile func(context.Context, string) (*runstate.Compiled, error)) (*preview.View, error) {
	r, err := e.store.Run(ctx, run)
	if err != nil {
		return nil, err
	}
	if err := r.Corrupt(); err != nil {
		return nil, err
	}
	p, err := compile(ctx, r.Hash)
	if err != nil {
		return nil, err
	}
	journal, err := e.journal(ctx, r)
	if err != nil {
		return nil, err
	}
	input, err := runstate.Decode(r.Input)
	if err != nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "input of run %s: %w", run, err)
	}
	s, err := e.foldRun(ctx, p, r, input, journal, true)
	if err != nil {
		return nil, err
	}
	return &preview.View{Env: &e.env, Run: r, Program: p, Journal: journal, State: s}, nil
}

// view is the run as its runner has it, which may be ahead of what is stored.
func (a *runner) view(ctx context.Context) (*preview.View, error) {
	journal, err := a.journal(ctx)
	if err != nil {
		return nil, err
	}
	input, err := runstate.Decode(a.run.Input)
	if err != nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "input of run %s: %w", a.id, err)
	}
	s, err := a.e.foldRun(ctx, a.prog, a.run, input, journal, true)
	if err != nil {
		return nil, err
	}
	return &preview.View{Env: &a.e.env, Run: a.run, Program: a.prog, Journal: journal, State: s}, nil
}

// journal is the run's journal as its runner has it: what is stored, what is on its
// way there, and what is being put together.
func (a *runner) journal(ctx context.Context) ([]domain.Entry, error) {
	journal, err := a.e.store.Journal(ctx, a.id, 0)
	if err != nil {
		return nil, err
	}
	last := int64(len(journal))
	for _, c := range append(slices.Clone(a.pipe.inflight), a.pipe.next) {
		for _, e := range c.Entries {
			if e.Seq > last {
				journal, last = append(journal, e), e.Seq
			}
		}
	}
	return journal, nil
}

// foldRun folds the journal of a run as it is stored now.
// p is the version that the run follows now; the journal may begin with another.
// history is for looking at the run; it grows with the journal.
func (e *Engine) foldRun(ctx context.Context, p *runstate.Compiled, r domain.Run, input any, journal []domain.Entry, history bool) (*runstate.State, error) {
	f := e.factsOf(ctx, r, input)
	f.KeepHistory = history
	first := p.Program
	if hash := runstate.FirstVersion(journal); hash != "" {
		var err error
		if first, err = f.Program(hash); err != nil {
			return nil, err
		}
	}
	s, err := runstate.Fold(first, f, journal)
	if err == nil && !r.PurgedAt.IsZero() {
		s.Seq = r.LastSeq // its rows are gone, their numbers are not given out again
	}
	return s, err
}

func (e *Engine) factsOf(ctx context.Context, r domain.Run, input any) runstate.Facts {
	return runstate.Facts{Run: r.ID, Input: input, Held: r.Status == domain.RunWaiting && r.WaitReason == domain.WaitHeld,
		Quarantined: r.Status == domain.RunWaiting && r.WaitReason == domain.WaitQuarantined,
		Program: func(hash string) (*walk.Program, error) {
			p, err := e.program(ctx, hash)
			if err != nil {
				return nil, err
			}
			return p.Program, nil
		}}
}

// Detail folds a run: its waits, where it stands.
func (e *Engine) Detail(ctx context.Context, run string) (domain.RunDetail, error) {
	v, err := e.viewBy(ctx, run, e.legible)
	return e.detail(ctx, run, v, err)
}

// Look is Detail together with what resuming would do, of one reading of the journal: that
// of a run with 50,000 steps takes a third of a second. resume is nil for a run of which
// that has to be asked by Preview.
func (e *Engine) Look(ctx context.Context, actor domain.Actor, run string) (d domain.RunDetail, resume func() (domain.Preview, error), err error) {
	v, err := e.viewBy(ctx, run, e.legible)
	if d, err = e.detail(ctx, run, v, err); err != nil || v == nil {
		return d, nil, err
	}
	if p, err := e.program(ctx, v.Run.Hash); err != nil || p != v.Program {
		return d, nil, nil // the plan does not fit this installation
	}
	return d, func() (domain.Preview, error) {
		return e.previewOf(ctx, actor, v, domain.VerbRequest{Run: run, Action: domain.ActionResume})
	}, nil
}

func (e *Engine) detail(ctx context.Context, run string, v *preview.View, err error) (domain.RunDetail, error) {
	if d, is := e.salvage(ctx, run, err, e.legible); is {
		if r := d.Run; !r.Status.Final() && r.WaitReason != domain.WaitQuarantined && !e.opts.OwnRunsOnly {
			e.post(r.ID, timerMsg{}) // whoever takes it up puts it aside
		}
		return d.DamagedDetail(), nil
	}
	if code := domain.CodeOf(err); code == domain.CodeInvalid || code == domain.CodeCorrupt {
		// A plan that cannot be compiled here, or a journal that does not fit it,
		// hides nothing of what is recorded.
		if r, runErr := e.store.Run(ctx, run); runErr == nil {
			switch journal, journalErr := e.store.Journal(ctx, r.ID, 0); {
			case journalErr == nil:
				return domain.RunDetail{Run: r, Journal: journal}, nil
			case domain.CodeOf(journalErr) == domain.CodeCorrupt:
				return domain.RunDetail{Run: r, Journal: journal, Damage: preview.UnreadableDamage(journalErr)}, nil
			}
		}
	}
	if err != nil {
		return domain.RunDetail{}, err
	}
	if !v.Run.Status.Final() {
		e.logsOf(v.Run.ID, v.Journal)
	}
	d := domain.RunDetail{Run: v.Run, Journal: v.Journal, Plan: v.PlanResult()}
	if !v.Run.Status.Final() || len(v.State.UnresolvedDoubts()) > 0 {
		d.Waits = v.State.Waits()
	}
	return d, nil
}

// Result is what a run has come to so far.
func (e *Engine) Result(ctx context.Context, run string) (domain.Result, error) {
	d, err := e.Detail(ctx, run)
	if err != nil {
		return domain.Result{}, err
	}
	return domain.ResultOf(d), nil
}

// Preview says what a verb would do, by the code that then does it.
func (e *Engine) Preview(ctx context.Context, actor domain.Actor, req domain.VerbRequest) (domain.Preview, error) {
	if err := preview.CheckRequest(req); err != nil {
		return domain.Preview{}, err
	}
	v, err := e.salvaged(ctx, req.Run)
	if err != nil {
		return domain.Preview{}, err
	}
	return e.previewOf(ctx, actor, v, req)
}

// previewOf says what an action would do to the run of a view, which it may use up.
func (e *Engine) previewOf(ctx context.Context, actor domain.Actor, v *preview.View, req domain.VerbRequest) (domain.Preview, error) {
	var pre domain.Preview
	var err error
	switch {
	case preview.NeedsJournal(v.Run, req):
		err = preview.PurgedError(v.Run)
	case v.Damage != nil && (req.Action != domain.ActionFork && req.Action != domain.ActionRerun || len(v.Damage.Parts) > 0):
		pre, err = v.DamagedAction(req)
	case req.Action == domain.ActionResume:
		pre, _, _, err = v.Resume(req)
	case req.Action == domain.ActionRerun, req.Action == domain.ActionFork:
		var b *preview.Branch
		if b, err = e.branch(ctx, v, req); err == nil {
			pre = b.Preview
			pre.Decisions = b.PredictDecisions()
		}
	default:
		pre = v.Simple(req)
	}
	if err == nil && !actor.Role.Includes(v.RequiredRole(req, pre)) {
		pre.Allowed, pre.Refusal = false, fmt.Sprintf("this needs the role %s", v.RequiredRole(req, pre))
	}
	if refused, ok := v.Refused(req.Action, err); ok {
		return refused, nil
	}
	return pre, err
}
