package inspect

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
)

// Undo is the undo of a run: its preview, and the plan and the input of the run that carries it out.
//
// An undo is a run of its own, so that it survives crashes, waits for approvals, and can be resumed like
// any other run. Its plan contains the calls one after the other, the newest completed step first. Its
// input contains the values that the calls refer to, because retention deletes inputs, but not plans.
type Undo struct {
	Preview domain.Preview
	Plan    []byte // JSON
	Input   domain.RawJSON
	// ByPerson is set if persons stored all versions that the calls come from.
	ByPerson bool
}

// Undo returns the undo of a run. The error has CodeConflict if the run cannot be undone now.
func (in *Inspector) Undo(ctx context.Context, v *preview.View, req domain.ActionRequest) (*Undo, error) {
	if err := v.MayUndo(); err != nil {
		return nil, err
	}
	earlier, err := in.undoRuns(ctx, v.Run.ID)
	if err != nil {
		return nil, err
	}
	done, err := in.alreadyUndone(ctx, earlier)
	if err != nil {
		return nil, err
	}
	list, err := in.completions(ctx, v, map[string]bool{})
	if err != nil {
		return nil, err
	}
	skips := newSkips(req.Skip)
	var calls []*completion
	var keep, later []domain.PreviewStep
	for _, c := range slices.Backward(list) {
		switch by := done[c.key()]; {
		case by != "":
			keep = append(keep, c.kept(domain.Messagef("run %s undid it", domain.ShortID(by))))
		case !c.reason.IsZero():
			keep = append(keep, c.kept(c.reason))
		case skips.has(c.ref):
			keep = append(keep, c.kept(domain.Messagef("left as it is, as you requested")))
		case len(calls) == planner.MaxNodes:
			later = append(later, c.kept(domain.Messagef("undo the run again to undo it")))
		case c.failure != nil:
			name := c.ref.Name()
			return nil, domain.Errorf(domain.CodeConflict, "step %s cannot be undone: %s", name, c.failure.Localize()).
				Suggest("leave it out, and undo it by hand: --skip %s", name)
		default:
			calls = append(calls, c)
		}
	}
	if err := skips.unused(); err != nil {
		return nil, err
	}
	if len(calls) == 0 && len(done) > 0 {
		return nil, domain.Errorf(domain.CodeConflict, "all completed steps of run %s were undone", domain.ShortID(v.Run.ID))
	}
	if len(calls) == 0 {
		return nil, domain.Errorf(domain.CodeConflict, "run %s has no completed steps to undo", domain.ShortID(v.Run.ID)).
			Suggest("only completed steps with undo: in their plan can be undone")
	}
	u, previews, err := in.document(v, calls)
	if err != nil {
		return nil, err
	}
	if _, problems := in.c.Versions.CheckPlan(u.Plan, planner.FormatJSON); problems.Err() != nil {
		return nil, domain.Errorf(domain.CodeConflict, "the undo cannot run on this server: %s", problems.Err()).
			Suggest("check that every tool, agent, and plan that it uses is configured")
	}
	u.Preview = v.Undo(previews, keep, later)
	return u, nil
}

// alreadyUndone returns the steps that earlier undo runs undid, with their run. While an undo run is
// unfinished, the error has CodeConflict and names it.
func (in *Inspector) alreadyUndone(ctx context.Context, earlier []domain.UndoRun) (map[string]string, error) {
	done := map[string]string{}
	for _, u := range earlier {
		run, err := in.c.Store.Run(ctx, u.ID)
		if err != nil {
			return nil, err
		}
		id := domain.ShortID(u.ID)
		switch {
		case !run.Status.Final():
			return nil, domain.Errorf(domain.CodeConflict, "run %s is undoing it (status: %s)", id, run.Status).
				Suggest("wait for it, or look at it: kairos show %s", id)
		case run.Status != domain.RunCompleted && run.DeletedAt.IsZero():
			return nil, domain.Errorf(domain.CodeConflict, "the undo run %s did not complete (status: %s)", id, run.Status).
				Suggest("resume it: kairos resume %s", id)
		case run.Status != domain.RunCompleted && !run.PurgedAt.IsZero():
			return nil, domain.Errorf(domain.CodeConflict, "retention removed the journal of the undo run %s, "+
				"so it is not known which steps it undid", id).Suggest("undo the other steps by hand")
		}
		for _, s := range u.Steps {
			switch {
			case s.Status == domain.NodeCompleted || run.Status == domain.RunCompleted && !run.PurgedAt.IsZero():
				done[undoKey(s.UndoneRef)] = u.ID
			case s.Status == domain.NodeInDoubt:
				return nil, domain.Errorf(domain.CodeConflict, "step %s of the deleted undo run %s is in doubt", s.Step, id).
					Suggest("check whether it happened, and leave it out: --skip %s", s.Name())
			}
		}
	}
	return done, nil
}

// undoRuns returns the undo runs of a run with the state of their steps.
func (in *Inspector) undoRuns(ctx context.Context, run string) ([]domain.UndoRun, error) {
	runs, err := in.c.Store.UndoRuns(ctx, run)
	if err != nil {
		return nil, err
	}
	var list []domain.UndoRun
	for _, r := range runs {
		u := domain.UndoRun{ID: r.ID, Status: r.Status, Actor: r.Actor, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt}
		p, err := in.c.Versions.CompileReadOnly(ctx, r.ProgramRef)
		if err != nil {
			return nil, err
		}
		journal, err := in.c.Store.Journal(ctx, r.ID, 0)
		if err != nil && domain.CodeOf(err) != domain.CodeCorrupt {
			return nil, err
		}
		ended := map[string]*domain.Entry{}
		for i := range journal {
			switch e := &journal[i]; {
			case e.Kind == domain.EntryReset:
				for id, e := range ended { // a resume runs the steps again that did not complete
					if e.Status != domain.NodeCompleted {
						delete(ended, id)
					}
				}
			case e.Kind == domain.EntryResult && (e.Final || e.Status == domain.NodeInDoubt):
				ended[e.Node] = e
			}
		}
		for i := range p.Nodes {
			s := domain.UndoStep{Step: p.Nodes[i].ID, UndoneRef: refOf(p.Nodes[i].Metadata), Status: domain.NodePending}
			if e := ended[s.Step]; e != nil {
				s.Status, s.EndedAt = e.Status, e.At
			}
			u.Steps = append(u.Steps, s)
		}
		slices.SortStableFunc(u.Steps, func(a, b domain.UndoStep) int { return inOrder(p, a.Step) - inOrder(p, b.Step) })
		list = append(list, u)
	}
	return list, nil
}

// CheckNotUndone returns an error if steps of a run, or of the run that it is part of, were undone or
// will be.
func (in *Inspector) CheckNotUndone(ctx context.Context, r domain.Run) error {
	for at := r; at.Status.Final(); {
		runs, err := in.c.Store.UndoRuns(ctx, at.ID)
		if err != nil {
			return err
		}
		for _, u := range runs {
			if u.DeletedAt.IsZero() || u.Steps > 0 {
				return preview.UndoneError(r.ID, u.ID)
			}
		}
		if at.Parent == nil {
			return nil
		}
		if at, err = in.c.Store.Run(ctx, at.Parent.Run); err != nil {
			return err
		}
	}
	return nil
}

// undone returns the steps of a run that its undo runs undid or will undo, with their undo run. A step
// that runs another plan is included if a step of its child run is.
func (in *Inspector) undone(ctx context.Context, run string) (map[runstate.StepRef]string, error) {
	earlier, err := in.undoRuns(ctx, run)
	if err != nil || len(earlier) == 0 {
		return nil, err
	}
	steps := map[runstate.StepRef]string{}
	for _, u := range earlier {
		for _, s := range u.Steps {
			at, of := runstate.StepRef{Node: s.Node, Visit: s.Visit, Item: s.Item}, s.UndoneRef.Run
			for of != run {
				child, err := in.c.Store.Run(ctx, of)
				if err != nil || child.Parent == nil {
					return nil, err
				}
				at, of = runstate.StepRef{Node: child.Parent.Node, Visit: child.Parent.Visit, Item: child.Parent.Item}, child.Parent.Run
			}
			steps[at] = u.ID
			at.Item = runstate.NoItem
			steps[at] = u.ID
		}
	}
	return steps, nil
}

func undoKey(r domain.UndoneRef) string { return r.Run + "\x00" + strconv.FormatInt(r.Seq, 10) }

// skips are the steps that a request leaves as they are.
type skips map[string]bool // whether a step has the name

func newSkips(names []string) skips {
	s := skips{}
	for _, name := range names {
		s[name] = false
	}
	return s
}

func (s skips) has(r domain.UndoneRef) (found bool) {
	for _, name := range []string{r.Node, r.Node + "#" + strconv.Itoa(r.Visit), r.Name()} {
		if _, ok := s[name]; ok {
			s[name], found = true, true
		}
	}
	return found
}

// unused returns an error if a name is not that of a step that would be undone.
func (s skips) unused() error {
	for name, used := range s {
		if !used {
			return domain.Errorf(domain.CodeInvalid, "skip: no step %q would be undone", fmt.Sprint(name)).
				Suggest("use the names that the preview lists")
		}
	}
	return nil
}
