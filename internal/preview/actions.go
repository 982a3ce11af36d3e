package preview

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

func visitName(node string, visit int) string { return node + "#" + strconv.Itoa(visit) }

// visitOf parses "node" or "node#visit". Without a number, the visit is latest(node).
func visitOf(name string, latest func(node string) int) (node string, visit int, err error) {
	node, number, numbered := strings.Cut(name, "#")
	if !numbered {
		return node, latest(node), nil
	}
	visit, err = strconv.Atoi(number)
	if err != nil || visit < 1 {
		return "", 0, domain.Errorf(domain.CodeInvalid, "%q is not node or node#visit", name)
	}
	return node, visit, nil
}

// resumeOptions checks the options of a resume against the steps that it opens again. If reset is
// nil, it opens none.
func (v *View) resumeOptions(req domain.ActionRequest, reset walk.Reset) (*runstate.ResumeOptions, error) {
	if req.Only == "" && req.Timeout == 0 && req.Attempts == 0 {
		return nil, nil
	}
	o := &runstate.ResumeOptions{Timeout: req.Timeout, Attempts: req.Attempts}
	var names []string
	for _, r := range reset.Reopened {
		o.Reopened = append(o.Reopened, runstate.StepRef{Node: r.Node, Visit: r.Visit, Item: runstate.NoItem})
		names = append(names, visitName(r.Node, r.Visit))
	}
	if req.Only == "" {
		return o, nil
	}
	node, visit, err := visitOf(req.Only, func(node string) int {
		latest := 0
		for _, r := range reset.Reopened {
			if r.Node == node {
				latest = max(latest, r.Visit)
			}
		}
		return latest
	})
	if err != nil {
		return nil, err
	}
	only := runstate.StepRef{Node: node, Visit: visit, Item: runstate.NoItem}
	if !slices.Contains(o.Reopened, only) {
		return nil, domain.Errorf(domain.CodeInvalid, "%s is not a step that would run again",
			req.Only).Suggest("only one of these can be retried alone: %s", strings.Join(names, ", "))
	}
	o.Only = &only
	return o, nil
}

// narrowed reduces the lists of a preview to one requested step. All other steps wait.
func (l *lists) narrowed(o *runstate.ResumeOptions) {
	if o == nil || o.Only == nil {
		return
	}
	is := func(s domain.PreviewStep) bool { return s.Node == o.Only.Node && s.Visit == o.Only.Visit }
	for _, list := range []*[]domain.PreviewStep{&l.again, &l.fresh} {
		for _, s := range *list {
			if !is(s) {
				l.later = append(l.later, s)
			}
		}
		*list = slices.DeleteFunc(*list, func(s domain.PreviewStep) bool { return !is(s) })
	}
	l.effects = slices.DeleteFunc(l.effects, func(s domain.PreviewStep) bool { return !is(s) })
}

// DeletedError returns the error of resuming a deleted run.
func DeletedError() error {
	return domain.Errorf(domain.CodeConflict, "the run was deleted").Suggest("rerun or fork it")
}

// StaleError returns the error of an action whose preview now has another digest.
func StaleError() error {
	return domain.Errorf(domain.CodeStale, "the predicted result has changed since the preview").Suggest("review the new preview")
}

// PurgedError returns the error of an action that needs a journal that retention removed.
func PurgedError(r domain.Run) error {
	return domain.Errorf(domain.CodeConflict, "the journal of run %s was removed by retention on %s", domain.ShortID(r.ID),
		r.PurgedAt.Format(time.DateOnly)).
		Suggest("start a new run of its plan, or rerun it with an input")
}

// NeedsJournal reports whether an action needs a journal that retention has removed. A
// rerun with its own input does not.
func NeedsJournal(r domain.Run, req domain.ActionRequest) bool {
	switch req.Action {
	case domain.ActionResume, domain.ActionFork, domain.ActionUndo:
		return !r.PurgedAt.IsZero()
	case domain.ActionRerun:
		return !r.PurgedAt.IsZero() && req.Input == nil
	}
	return false
}

// Refused returns the preview of an action that is not possible now. ok is false if err has another
// cause.
func (v *View) Refused(action domain.Action, err error) (p domain.Preview, ok bool) {
	refusal, ok := err.(*domain.Error)
	if !ok || refusal.Code != domain.CodeConflict && refusal.Code != domain.CodeNotResumable {
		return p, false
	}
	p = v.blank(action)
	p.Refusal, p.Suggestion = refusal.Localize(), refusal.Advice()
	lists{}.fill(&p)
	return p, true
}

// RequiredRole returns the role that the action requires: author to follow another version, and
// operator otherwise.
func (v *View) RequiredRole(req domain.ActionRequest, pre domain.Preview) domain.Role {
	if (req.Action == domain.ActionFork || req.Action == domain.ActionRerun) && req.Version != 0 && pre.Hash != "" &&
		pre.Hash != v.Run.Hash {
		return domain.RoleAuthor
	}
	return domain.RoleOperator
}

// Simple previews actions that reopen no steps: pause, continue, cancel, release, retry-now,
// start-now, limits, and delete.
func (v *View) Simple(req domain.ActionRequest) domain.Preview {
	p := v.blank(req.Action)
	p.Allowed = true
	final := v.Run.Status.Final()
	refuse := func(on bool, format string, args ...any) {
		if on && p.Allowed {
			p.Allowed, p.Refusal = false, domain.Messagef(format, args...)
		}
	}
	switch req.Action {
	case domain.ActionDelete:
		refuse(!final, "only a finished run can be deleted")
		refuse(!v.Run.DeletedAt.IsZero(), "the run was already deleted")
	case domain.ActionUnpause:
		refuse(!v.State.Paused, "the run is not paused")
	case domain.ActionPause:
		refuse(v.State.Paused, "the run is already paused")
	case domain.ActionRelease:
		refuse(!v.State.Held && !v.State.Quarantined, "the run is neither held nor quarantined")
	case domain.ActionStartNow:
		refuse(v.Run.Status != domain.RunQueued || !v.Run.StartedAt.IsZero() || !v.Run.StartAt.After(v.Env.Now()),
			"the run is not scheduled")
	case domain.ActionRetryNow:
		refuse(!v.State.HasWait(domain.WaitRetry), "no retry is pending")
	}
	refuse(final && req.Action != domain.ActionDelete, "%s", domain.RunIs(v.Run.Status, ""))
	l := lists{keep: v.kept(v.Program, v.State)}
	if !final && req.Action != domain.ActionDelete {
		o := v.outlook(v.Program, v.State, v.State.Begun(), nil)
		l.doubt = o.doubt
		if req.Action == domain.ActionCancel {
			for _, step := range append(o.again, o.fresh...) {
				if v.runsAfterCancel(step) {
					step.Reason = domain.Messagef("a finally step runs when all others have ended")
					l.fresh = append(l.fresh, step)
					continue
				}
				step.Reason = domain.Messagef(v.cancels(step))
				l.dropped = append(l.dropped, step)
			}
			l.given = slices.DeleteFunc(o.given, func(s domain.PreviewStep) bool { return !v.runsAfterCancel(s) })
			l.effects = slices.DeleteFunc(slices.Clone(l.fresh), func(s domain.PreviewStep) bool { return !touches(walk.Effect(s.Effect)) })
		} else if req.Action != domain.ActionPause {
			l.again, l.fresh, l.effects = o.again, o.fresh, o.effects
		}
	}
	l.fill(&p)
	return p
}

// runsAfterCancel reports whether a cancel makes a step start: a finally step, unless these have begun.
func (v *View) runsAfterCancel(step domain.PreviewStep) bool {
	i, ok := v.Program.Index[step.Node]
	return ok && v.Program.Nodes[i].Finally && !v.State.Walk.Finishing()
}

// cancels returns the effect of a cancel on a step.
func (v *View) cancels(step domain.PreviewStep) string {
	reason := domain.ReasonCancelled
	for k, w := range v.State.Open {
		if !w.InFlight() || k.Visit != step.Visit || v.Program.Nodes[k.Node].ID != step.Node {
			continue
		}
		if v.Env.LostOutcome(v.Program.Program, w, true) == runstate.OutcomeInDoubt {
			return domain.ReasonRunningUnsafe
		}
		reason = domain.ReasonRunning
	}
	return reason
}

// Resume computes the effect of a resume: the preview, the reset of the walk, and the checked
// options, which may be nil. It reads no journal. It modifies the state of the view, so that the
// view cannot be used afterwards.
func (v *View) Resume(req domain.ActionRequest) (domain.Preview, walk.Reset, *runstate.ResumeOptions, error) {
	p := v.blank(domain.ActionResume)
	switch v.Run.Status {
	case domain.RunCompleted:
		return p, walk.Reset{}, nil, domain.Errorf(domain.CodeConflict,
			"a completed run has nothing to resume").Suggest("rerun or fork it")
	case domain.RunFailed, domain.RunCancelled:
		if !v.Run.DeletedAt.IsZero() {
			return p, walk.Reset{}, nil, DeletedError()
		}
	default:
		if HasResumeOptions(req) {
			return p, walk.Reset{}, nil, NoOptionsError()
		}
		p.Allowed = len(runstate.ResumeActions(v.State)) > 0 || v.Env.Unattended(v.Run)
		if !p.Allowed {
			p.Refusal = domain.Messagef("the run is not stopped")
			if b := v.State.Budget; b != nil {
				p.Refusal, p.Suggestion = b.Message, domain.Messagef("raise the limit")
			} else if waits := v.State.Waits(); v.Run.Status == domain.RunWaiting && len(waits) > 0 {
				text, _ := runstate.WaitMessage(waits[0].Reason, waits)
				p.Refusal = domain.Messagef("nothing to resume: %s", text)
			}
		}
		l := v.outlook(v.Program, v.State, v.State.Begun(), nil)
		l.fillResume(&p, v.kept(v.Program, v.State), v.State.History)
		return p, walk.Reset{}, nil, nil
	}
	for _, k := range v.State.UnresolvedDoubts() {
		n := &v.Program.Nodes[k.Node]
		err := domain.Errorf(domain.CodeConflict, "iteration %d of step %s is in doubt", k.Visit, n.ID).
			Suggest("use happened, retry, skip, or fail")
		err.Reason = domain.ReasonInDoubt
		return p, walk.Reset{}, nil, err
	}
	reset, failure := v.State.Walk.Reset()
	if failure != nil {
		return p, walk.Reset{}, nil, domain.FailureError(domain.CodeNotResumable, failure)
	}
	asked, err := v.resumeOptions(req, reset)
	if err != nil {
		return p, reset, nil, err
	}
	history := v.State.History
	v.State.AfterReset(reset)
	p.Allowed = true
	why := map[string]domain.Message{}
	for _, r := range reset.Reopened {
		why[r.Node] = domain.Messagef(domain.ReasonReopened)
		if v.Program.Nodes[v.Program.Index[r.Node]].Type == walk.TypeApproval {
			why[r.Node] = domain.Messagef(domain.ReasonAskedAgain)
		}
	}
	for _, r := range reset.Forgotten {
		why[r.Node] = domain.Messagef("it depends on a step that runs again")
	}
	l := v.outlook(v.Program, v.State, v.State.Begun(), why)
	l.narrowed(asked)
	if asked != nil {
		if p.TimeoutMs, p.Attempts = asked.Timeout.Milliseconds(), asked.Attempts; asked.Only != nil {
			p.Only = visitName(asked.Only.Node, asked.Only.Visit)
		}
	}
	l.fillResume(&p, v.kept(v.Program, v.State), history)
	return p, reset, asked, nil
}
