package preview

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// Undo previews the undo of a run: the calls in order, the steps whose effects stay, and the steps that a
// later undo handles.
func (v *View) Undo(calls []domain.PreviewUndo, keep, later []domain.PreviewStep) domain.Preview {
	p := v.blank(domain.ActionUndo)
	p.Allowed, p.Undo = true, calls
	lists{keep: keep, later: later}.fill(&p)
	return p
}

// MayUndo returns an error if a run cannot be undone now. It does not check earlier undo runs.
func (v *View) MayUndo() error {
	r, id := &v.Run, domain.ShortID(v.Run.ID)
	refuse := func(format string, args ...any) *domain.Error {
		return domain.Errorf(domain.CodeConflict, format, args...)
	}
	switch {
	case r.Undoes != "":
		return refuse("run %s is itself the undo of run %s", id, domain.ShortID(r.Undoes)).
			Suggest("to do the work again, rerun %s", domain.ShortID(r.Undoes))
	case r.Parent != nil:
		return refuse("run %s is part of run %s", id, domain.ShortID(r.Parent.Run)).
			Suggest("undo that run: kairos runs undo %s", domain.ShortID(r.Parent.Run))
	case r.Dry():
		return refuse("run %s is a dry run, which has no side effects", id)
	case !r.DeletedAt.IsZero():
		return refuse("run %s was deleted", id)
	case !r.Status.Final():
		return refuse("run %s has not ended (status: %s)", id, r.Status).Suggest("cancel it first: kairos cancel %s", id)
	case v.Damage != nil:
		return refuse("the journal of run %s is damaged from row %d on, so the completed steps are not known", id, v.Damage.Row).
			Suggest("undo the steps by hand")
	}
	return v.undecided()
}

// undecided returns an error if steps of the run are in doubt.
func (v *View) undecided() error {
	for _, k := range v.State.UnresolvedDoubts() {
		id, node := domain.ShortID(v.Run.ID), v.Program.Nodes[k.Node].ID
		err := domain.Errorf(domain.CodeConflict, "iteration %d of step %s of run %s is in doubt", k.Visit, node, id).
			Suggest("first state its outcome: kairos runs resolve %s %s", id, node)
		err.Reason = domain.ReasonInDoubt
		return err
	}
	return nil
}

// MayUndoChild is MayUndo for a child run of the run that is undone.
func (v *View) MayUndoChild() error {
	id := domain.ShortID(v.Run.ID)
	switch {
	case !v.Run.Status.Final():
		return domain.Errorf(domain.CodeConflict, "run %s has not ended (status: %s)", id, v.Run.Status)
	case !v.Run.PurgedAt.IsZero():
		return PurgedError(v.Run)
	}
	return v.undecided()
}

// UndoneError returns the error of a resume of a run after its steps were undone.
func UndoneError(run, by string) error {
	err := domain.Errorf(domain.CodeConflict, "run %s was undone by run %s, so its completed steps have no effect any more",
		domain.ShortID(run), domain.ShortID(by)).Suggest("start it again: kairos rerun %s", domain.ShortID(run))
	err.Reason = domain.ReasonUndone
	return err
}

// RepeatUndoError returns the error of a rerun or a fork of an undo run.
func RepeatUndoError(r domain.Run) error {
	return domain.Errorf(domain.CodeConflict, "run %s is the undo of run %s; a copy of it would undo steps twice",
		domain.ShortID(r.ID), domain.ShortID(r.Undoes)).
		Suggest("resume it, or undo what is left: kairos runs undo %s", domain.ShortID(r.Undoes))
}

// undoneBy returns the run that undid a step, or "".
func (v *View) undoneBy(e *domain.Entry) string {
	return v.Undone[runstate.StepRef{Node: e.Node, Visit: e.Visit, Item: e.Item}]
}
