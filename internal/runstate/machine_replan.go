package runstate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// mayReplan reports whether a failure of this step leads to a new version.
func mayReplan(m *Machine, w *Step, f *domain.Failure) bool {
	edge, on := m.Program.Nodes[w.Node].AfterFailure(ToPlanner(f))
	return edge < 0 && on == walk.OnErrorReplan && w.Item == NoItem && !w.ReplanAbandoned && m.env.Options.Replans &&
		m.State.ReplanCount < m.env.Options.MaxReplans && !m.State.Cancelled && !m.State.Walk.Stopping()
}

// awaitReplan records that a step failed and that the run waits for a new version.
func awaitReplan(m *Machine, w *Step, f *domain.Failure, fill func(*domain.Entry)) {
	m.attemptContinues(w, domain.NodeFailed, f, "", func(e *domain.Entry) {
		e.Attempt = w.Attempt
		if fill != nil {
			fill(e)
		}
	})
	e := m.entry(domain.EntryWait, w.StepKey)
	e.Status, e.Reason, e.Attempt = domain.NodeWaiting, string(domain.WaitReplan), w.Attempt
	m.add(e)
	m.dueDirty = true
}

// considerReplan requests a new version when nothing is running or in doubt, because the new plan
// depends on everything that has happened.
func considerReplan(m *Machine) {
	s, o := m.State, m.env.Options
	if !m.Program.Replans || m.replanAsked || len(m.attempts) > 0 || m.ended || m.env.Stopping || m.env.Maintenance || o.Safe ||
		!o.Replans || s.Paused || s.Held || s.Quarantined || s.ReplanCount >= o.MaxReplans {
		return
	}
	w := s.Replanning()
	if w == nil || w.ReplanTarget != nil || len(s.UnresolvedDoubts()) > 0 {
		return
	}
	for _, other := range s.Open {
		if other.Phase == PhaseInDoubt {
			return
		}
	}
	m.replanAsked = true
	m.doAfter(AskReplan{w.StepKey})
}

// awaitingReplan returns the step if it waits for a new version, or nil.
func awaitingReplan(m *Machine, k StepKey) *Step {
	w := m.State.Open[k]
	if m.ended || w == nil || w.Phase != PhaseWaiting || w.Reason != domain.WaitReplan {
		return nil
	}
	return w
}

// handle records the planner's answer and its usage.
func (ev *ReplanAnswered) handle(m *Machine) error {
	w := awaitingReplan(m, ev.StepKey)
	if w == nil {
		return m.Conflict("the run no longer waits for a plan")
	}
	e := m.entry(domain.EntrySubstep, ev.StepKey)
	e.Status, e.Attempt, e.Substep, e.Usage = domain.NodeCompleted, w.Attempt, ReplanSubstep, ev.Usage
	e.Decision = SubstepDecision{Kind: KindReplan}.JSON()
	e.Output = MustJSON(ev.Answer)
	m.add(e)
	return nil
}

func (ev *ReplanReady) handle(m *Machine) error {
	m.replanAsked = false
	w := awaitingReplan(m, ev.StepKey)
	switch {
	case w == nil || ev.Again:
	case ev.Failure != "":
		abandonReplan(m, w, ev.Failure, ev.Usage)
	case len(ev.Unsafe) > 0:
		askReplan(m, w, ev)
	default:
		followVersion(m, w, ev.Target, ev.Version, ev.Usage, ReplanActor.Name)
	}
	return nil
}

// ReplanActor stores new versions and makes runs follow them.
var ReplanActor = domain.Actor{Name: "supervisor", Role: domain.RoleAuthor, Source: "engine"}

// abandonReplan settles the step with its own failure.
func abandonReplan(m *Machine, w *Step, why string, usage domain.Usage) {
	w.ReplanAbandoned = true
	f := w.Failure
	if f == nil {
		f = (&domain.Failure{Code: walk.CodeFailed}).WithMessage("failed") // the row before the wait has it
	}
	m.final(w, domain.NodeFailed, nil, f, func(e *domain.Entry) {
		e.Attempt, e.Usage, e.Reason = w.Attempt, usage, "no new plan: "+ClipText(why, 2000)
	})
}

// askReplan requests the acceptance of a version with non-idempotent steps.
func askReplan(m *Machine, w *Step, ev *ReplanReady) {
	node, target := m.Program.Nodes[w.Node].ID, ev.Target
	e := m.entry(domain.EntryWait, w.StepKey)
	e.Status, e.Reason, e.Attempt, e.Usage = domain.NodeWaiting, string(domain.WaitApproval), w.Attempt, ev.Usage
	e.Ref = requestID(m, "replan", w)
	question := fmt.Sprintf("After %s failed: follow version %d? New steps that cannot be repeated: %s.", node, target.Version,
		strings.Join(ev.Unsafe, ", "))
	e.Input = MustJSON(map[string]any{"message": question, "version": target.Version, "reason": target.Reason})
	e.Decision = WaitDecision{Kind: KindReplan, Tail: &target}.JSON()
	m.add(e)
	m.dueDirty = true
	openApproval(m, w)
}

// answerReplan applies a person's decision on a version.
func answerReplan(m *Machine, w *Step, t ReplanTarget, v *NewVersion, approved bool, by, comment string) {
	if !approved {
		abandonReplan(m, w, strings.TrimSuffix("version "+fmt.Sprint(t.Version)+" was rejected by "+by+": "+comment, ": "), domain.Usage{})
		return
	}
	followVersion(m, w, t, v, domain.Usage{}, by)
}

// followVersion makes the run follow a version. It writes one row, with which a fold does the same.
// Completed steps must stay completed.
func followVersion(m *Machine, w *Step, t ReplanTarget, v *NewVersion, usage domain.Usage, by string) {
	switch {
	case v == nil:
		abandonReplan(m, w, "the version was not loaded", usage)
		return
	case v.Failure != "":
		abandonReplan(m, w, v.Failure, usage)
		return
	}
	r := Replan{From: m.Run.Hash, Before: m.Run.Version, Hash: t.Hash, Version: t.Version, Node: m.Program.Nodes[w.Node].ID, Visit: w.Visit,
		Kept: v.Kept}
	e := domain.Entry{Seq: m.State.Seq + 1, Kind: domain.EntryReplan, Item: NoItem, Actor: by, At: m.env.Now, Decision: MustJSON(r),
		Reason: cmp.Or(t.Reason, "replanned"), Failure: w.Failure, Usage: usage}
	next, dropped, err := m.State.FollowReplan(v.Facts, &e, v.Journal)
	if err != nil {
		abandonReplan(m, w, err.Error(), usage)
		return
	}
	for _, d := range dropped {
		if id := m.Program.Nodes[d.Node].ID; d.Attempt > 0 && d.VisitKey != w.VisitKey && !slices.Contains(r.Dropped, id) {
			r.Dropped = append(r.Dropped, id)
		}
	}
	e.Decision = MustJSON(r)
	m.separate()
	m.next.Entries = append(m.next.Entries, e)
	m.use(usage)
	for _, d := range dropped {
		if d.Reason != domain.WaitApproval || d.ReplanTarget == nil {
			withdraw(m, d, by, domain.Messagef("the run follows another plan"))
		}
	}
	m.State, m.Program = next, v.Program
	m.path = slices.Clone(next.Settled[:min(len(next.Settled), pathKept)])
	next.ForgetSettled()
	m.Run.Hash, m.Run.Version = t.Hash, t.Version
	p := m.patch()
	p.Hash, p.Version = t.Hash, t.Version
	m.queue.requeue(m.State)
	m.dueDirty = true
	m.doAfter(VersionChanged{})
	m.complete()
}
