package engine_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
)

// moreThanEnough are limits that no run of a world reaches.
var moreThanEnough = domain.Limits{MaxSteps: 1000, MaxTokens: 1e6, MaxCost: 1e6}

// performAction performs an action on some run.
func (w *world) performAction() {
	runs := slices.DeleteFunc(w.runs(), func(id string) bool {
		_, ok := w.run(id)
		return !ok || w.root(id) != id
	})
	if len(runs) == 0 {
		w.start()
		return
	}
	if w.rng.IntN(3) == 0 && w.giveUpADoubt() {
		return
	}
	id := runs[w.rng.IntN(len(runs))]
	actions := []domain.Action{domain.ActionPause, domain.ActionUnpause, domain.ActionCancel, domain.ActionResume, domain.ActionResume,
		domain.ActionRetryNow, domain.ActionLimits, domain.ActionRelease, domain.ActionRerun, domain.ActionFork}
	w.perform(domain.ActionRequest{Run: id, Action: actions[w.rng.IntN(len(actions))], Reason: "try"})
}

// giveUpADoubt cancels a run with a child in doubt, and resumes it. It returns false if there is
// none.
func (w *world) giveUpADoubt() bool {
	for _, id := range w.runs() {
		root := w.root(id)
		r, ok := w.run(id)
		if !ok || root == id || r.WaitReason != domain.WaitInDoubt {
			continue
		}
		w.tampered[root] = true
		w.perform(domain.ActionRequest{Run: root, Action: domain.ActionCancel, Reason: "enough"})
		w.perform(domain.ActionRequest{Run: root, Action: domain.ActionResume, Reason: "after all"})
		return true
	}
	return false
}

func (w *world) perform(req domain.ActionRequest) {
	switch req.Action {
	case domain.ActionLimits:
		req.Limits = moreThanEnough
	case domain.ActionRerun, domain.ActionFork:
		if len(w.runs()) > 12 {
			return
		}
		w.sleep(time.Microsecond)
	}
	w.note("%s %s", req.Action, w.name(req.Run))
	w.mu.Lock()
	mark := len(w.facts)
	w.mu.Unlock()
	if req.Action == domain.ActionResume || req.Action == domain.ActionFork {
		pre, err := w.engine.Preview(w.ctx(), operator, req)
		if err != nil || !pre.Allowed {
			if err != nil && !refusal(err) {
				w.violate("preview %s: %v", req.Action, err)
			}
			return
		}
		if req.Action == domain.ActionFork {
			points := slices.DeleteFunc(pre.Points, func(p domain.ForkPoint) bool { return !p.Closed })
			req.At = points[w.rng.IntN(len(points))].Seq
		} else if r, ok := w.run(req.Run); ok && r.Status.Final() {
			req.Digest = pre.Digest
			for _, step := range slices.Concat(pre.Again, pre.New) {
				w.permit(visitOf{run: req.Run, node: step.Node})
			}
		}
	}
	r, err := w.engine.Act(w.ctx(), operator, req)
	switch {
	case err != nil && refusal(err):
		w.mu.Lock()
		w.facts = slices.DeleteFunc(w.facts, func(f fact) bool { return slices.Index(w.facts, f) >= mark && f.kind == factPermitted })
		w.mu.Unlock()
	case err != nil:
		w.violate("%s %s: %v", req.Action, w.name(req.Run), err)
	case req.Action == domain.ActionRerun:
		w.roots = append(w.roots, r.ID)
	}
}

// refusal reports whether an error means that the action is not possible in the current state of
// the run.
func refusal(err error) bool {
	switch domain.CodeOf(err) {
	case domain.CodeConflict, domain.CodeStale, domain.CodeForbidden:
		return true
	}
	return false
}

// answer answers a run that waits for an answer.
func (w *world) answer() {
	open := w.unfinished()
	for _, i := range w.rng.Perm(len(open)) {
		if w.reply(open[i], false) {
			return
		}
	}
	w.pass()
}

// helped answers one of the requests whose runs then continue normally.
func (w *world) helped(open []domain.Run) bool {
	for _, r := range open {
		if w.reply(r, true) {
			return true
		}
	}
	return false
}

// reply answers a run. If kindly is true, the run continues as if nothing had happened.
func (w *world) reply(r domain.Run, kindly bool) bool {
	d, err := w.engine.Detail(w.ctx(), r.ID)
	if err != nil {
		w.violate("%s cannot be looked at: %v", w.name(r.ID), err)
		return false
	}
	for _, wait := range d.Waits {
		switch wait.Reason {
		case domain.WaitApproval:
			approve := kindly || w.rng.IntN(6) > 0
			if !approve {
				w.tampered[w.root(r.ID)] = true
			}
			w.note("%s: approve %s %v", w.name(r.ID), wait.Node, approve)
			_, err = w.engine.Decide(w.ctx(), operator, domain.DecideRequest{Approval: wait.Approval, Approve: approve})
		case domain.WaitInDoubt:
			err = w.resolve(r.ID, wait, kindly)
		case domain.WaitPaused:
			err = w.do(r.ID, domain.ActionUnpause)
		case domain.WaitQuarantined, domain.WaitHeld:
			err = w.do(r.ID, domain.ActionRelease)
		case domain.WaitBudget:
			_, err = w.engine.Act(
				w.ctx(),
				operator,
				domain.ActionRequest{Run: r.ID, Action: domain.ActionLimits, Reason: "more", Limits: moreThanEnough},
			)
			w.note("%s: higher limits", w.name(r.ID))
		default:
			continue
		}
		if err != nil && !refusal(err) {
			w.violate("answer %s, which waits for %s: %v", w.name(r.ID), wait.Reason, err)
		}
		return true
	}
	return false
}

func (w *world) do(run string, action domain.Action) error {
	w.note("%s %s", action, w.name(run))
	_, err := w.engine.Act(w.ctx(), enginetest.Operator, domain.ActionRequest{Run: run, Action: action, Reason: "help"})
	return err
}

// resolve draws the resolution of an attempt in doubt.
func (w *world) resolve(run string, wait domain.Wait, kindly bool) error {
	action := []string{"retry", "retry", "retry", "skip", "fail", "happened"}[w.rng.IntN(6)]
	if kindly {
		action = "retry"
	}
	req := domain.ResolveRequest{Run: run, Node: wait.Node, Visit: wait.Visit, Item: wait.Item, Action: action, Reason: "so it was"}
	of := visitOf{run, wait.Node, wait.Visit, wait.Item, 0}
	switch action {
	case "retry":
		w.permit(of)
	case "fail":
		w.permit(of) // a resume of the failed run repeats the attempt
		fallthrough
	default:
		w.tampered[w.root(run)] = true
	}
	if action == "happened" {
		req.Output = domain.RawJSON(`{"n":1}`)
	}
	w.note("%s: %s#%d[%d] %s", w.name(run), wait.Node, wait.Visit, wait.Item, fmt.Sprint(action))
	_, err := w.engine.Resolve(w.ctx(), operator, req)
	return err
}
