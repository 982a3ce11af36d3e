package engine_test

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// People and handlers do not wait for the checkpoints of a run. This file performs actions while a
// checkpoint is being written, and together with the result of a step.

// ambush stops a run's goroutine at its next checkpoint until the result of a step and an action
// have arrived, so that it handles both together.
type ambush struct {
	run    string
	action domain.Action
}

// rushed contains the actions that race with checkpoints. More frequent actions are repeated.
var rushed = []domain.Action{
	domain.ActionPause,
	domain.ActionPause,
	domain.ActionUnpause,
	domain.ActionUnpause,
	domain.ActionResume,
	domain.ActionResume,
	domain.ActionResume,
	domain.ActionLimits,
	domain.ActionCancel,
	domain.ActionRetryNow,
}

// rush performs an action on a run whose checkpoint is about to be stored. The order calls it while
// all goroutines are idle, and it returns at the next such moment.
func (w *world) rush(o *order, r request) {
	if o.rng.IntN(8) > 0 || w.calm || w.closed || w.root(r.run) != r.run {
		return
	}
	action := rushed[o.rng.IntN(len(rushed))]
	if o.rng.IntN(2) == 0 {
		w.mu.Lock()
		w.ambush = &ambush{r.run, action}
		w.mu.Unlock()
		return
	}
	for _, p := range r.checkpoint.Approvals {
		if p.Status == "pending" && o.rng.IntN(2) == 0 {
			w.later("approve "+p.Node+" early", r.run, func() error {
				_, err := w.engine.Decide(w.ctx(), operator, domain.DecideRequest{Approval: p.ID, Approve: true})
				return err
			})
		}
	}
	w.actLater(r.run, action)
	o.turns.next(time.Microsecond, 250)
}

// checkpointed is called by a run's goroutine when it completes a checkpoint.
func (w *world) checkpointed(run string) {
	w.mu.Lock()
	d := w.ambush
	open := d != nil && d.run == run && !w.closed
	if open {
		w.ambush = nil
		w.acting++ // the world is not idle before this returns
	}
	w.mu.Unlock()
	if !open {
		return
	}
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.acting--
	}()
	for _, p := range w.waiting() {
		if p.call.RunID == run {
			w.turns.next(time.Microsecond, 600)
			w.note("%s ends, and at once:", w.where(p))
			p.end <- ending{}
			break
		}
	}
	w.turns.next(time.Microsecond, 600)
	w.actLater(run, d.action)
	w.turns.next(time.Microsecond, 600)
}

// actLater performs an action on a run without waiting for the answer.
func (w *world) actLater(run string, action domain.Action) {
	req := domain.ActionRequest{Run: run, Action: action, Reason: "rush"}
	if action == domain.ActionLimits {
		req.Limits = moreThanEnough
	}
	w.later(string(action), run, func() error {
		if action != domain.ActionResume {
			_, err := w.engine.Act(w.ctx(), operator, req)
			return err
		}
		return w.resumeWithoutPreview(req)
	})
}

// resumeWithoutPreview resumes a run without a preview. The steps that the resume reopened may run again.
// If it reopened none, none may.
func (w *world) resumeWithoutPreview(req domain.ActionRequest) error {
	r, ok := w.run(req.Run)
	if !ok {
		return nil
	}
	p, err := w.engine.Program(w.ctx(), r.ProgramRef)
	if err != nil {
		return err
	}
	for i := range p.Nodes {
		w.permit(visitOf{run: req.Run, node: p.Nodes[i].ID})
	}
	_, err = w.engine.Act(w.ctx(), operator, req)
	if rows, journalErr := w.store.Journal(w.ctx(), req.Run, r.LastSeq); journalErr == nil {
		for _, row := range rows {
			if row.Kind == domain.EntryReset {
				return err
			}
		}
	}
	w.withdraw(req.Run)
	return err
}

// withdraw removes the permissions of resumes that were rushed and then lost.
func (w *world) withdraw(run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.facts[:0]
	for _, f := range w.facts {
		if f.kind != factPermitted || f.of.run != run || f.of.visit != 0 {
			kept = append(kept, f)
		}
	}
	w.facts = kept
}

// later performs an action without waiting for the answer.
func (w *world) later(what, run string, act func() error) {
	w.note("in between: %s %s", what, w.name(run))
	w.mu.Lock()
	w.acting++
	w.mu.Unlock()
	go func() {
		err := act()
		w.mu.Lock()
		w.acting--
		closed := w.closed
		w.mu.Unlock()
		switch code := domain.CodeOf(err); {
		case err == nil,
			refusal(err),
			code == domain.CodeNotFound,
			code == domain.CodeUnavailable && closed,
			code == domain.CodeNotResumable:
		default:
			w.violate("%s %s: %v", what, w.name(run), err)
		}
	}()
}
