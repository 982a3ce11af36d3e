package engine_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/kairos"
)

// verb presses a button on some run.
func (w *world) verb() {
	runs := slices.DeleteFunc(w.runs(), func(id string) bool {
		_, ok := w.run(id)
		return !ok || w.root(id) != id
	})
	if len(runs) == 0 {
		w.start()
		return
	}
	id := runs[w.rng.IntN(len(runs))]
	actions := []kairos.Action{kairos.ActionPause, kairos.ActionContinue, kairos.ActionCancel, kairos.ActionResume, kairos.ActionResume,
		kairos.ActionRetryNow, kairos.ActionLimits, kairos.ActionRelease, kairos.ActionRerun, kairos.ActionFork}
	w.press(kairos.VerbRequest{Run: id, Action: actions[w.rng.IntN(len(actions))], Reason: "try"})
}

func (w *world) press(req kairos.VerbRequest) {
	switch req.Action {
	case kairos.ActionLimits:
		req.Limits = kairos.Limits{MaxSteps: 1000}
	case kairos.ActionRerun, kairos.ActionFork:
		if len(w.runs()) > 12 {
			return
		}
		w.sleep(time.Microsecond)
	}
	w.note("%s %s", req.Action, w.name(req.Run))
	w.mu.Lock()
	mark := len(w.facts)
	w.mu.Unlock()
	if req.Action == kairos.ActionResume || req.Action == kairos.ActionFork {
		pre, err := w.engine.Preview(w.ctx(), operator, req)
		if err != nil || !pre.Allowed {
			if err != nil && !refusal(err) {
				w.violate("preview %s: %v", req.Action, err)
			}
			return
		}
		if req.Action == kairos.ActionFork {
			points := slices.DeleteFunc(pre.Points, func(p kairos.ForkPoint) bool { return !p.Closed })
			req.At = points[w.rng.IntN(len(points))].Seq
		} else if r, ok := w.run(req.Run); ok && r.Status.Final() {
			req.Digest = pre.Digest
			for _, step := range slices.Concat(pre.Again, pre.New) {
				w.permit(visitOf{req.Run, step.Node, 0, 0})
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
	case req.Action == kairos.ActionRerun:
		w.roots = append(w.roots, r.ID)
	}
}

// refusal: the run was not where the verb needs it to be.
func refusal(err error) bool {
	switch kairos.CodeOf(err) {
	case kairos.CodeConflict, kairos.CodeStale, kairos.CodeForbidden:
		return true
	}
	return false
}

// answer says something to a run that asks.
func (w *world) answer() {
	open := w.unfinished()
	for _, i := range w.rng.Perm(len(open)) {
		if w.reply(open[i], false) {
			return
		}
	}
	w.pass()
}

// helped answers one of those who ask so that their runs go on.
func (w *world) helped(open []kairos.Run) bool {
	for _, r := range open {
		if w.reply(r, true) {
			return true
		}
	}
	return false
}

// reply answers a run; kindly: so that it goes on as if nothing had happened.
func (w *world) reply(r kairos.Run, kindly bool) bool {
	d, err := w.engine.Detail(w.ctx(), r.ID)
	if err != nil {
		w.violate("%s cannot be looked at: %v", w.name(r.ID), err)
		return false
	}
	for _, wait := range d.Waits {
		switch wait.Reason {
		case kairos.WaitApproval:
			approve := kindly || w.rng.IntN(6) > 0
			if !approve {
				w.tampered[w.root(r.ID)] = true
			}
			w.note("%s: approve %s %v", w.name(r.ID), wait.Node, approve)
			_, err = w.engine.Decide(w.ctx(), operator, kairos.DecideRequest{Approval: wait.Approval, Approve: approve})
		case kairos.WaitInDoubt:
			err = w.resolve(r.ID, wait, kindly)
		case kairos.WaitPaused:
			err = w.do(r.ID, kairos.ActionContinue)
		case kairos.WaitQuarantined, kairos.WaitHeld:
			err = w.do(r.ID, kairos.ActionRelease)
		case kairos.WaitBudget:
			_, err = w.engine.Act(w.ctx(), operator, kairos.VerbRequest{Run: r.ID, Action: kairos.ActionLimits, Reason: "more", Limits: kairos.Limits{MaxSteps: 1000}})
			w.note("%s: more steps", w.name(r.ID))
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

func (w *world) do(run string, action kairos.Action) error {
	w.note("%s %s", action, w.name(run))
	_, err := w.engine.Act(w.ctx(), enginetest.Operator, kairos.VerbRequest{Run: run, Action: action, Reason: "help"})
	return err
}

// resolve says what became of an attempt in doubt.
func (w *world) resolve(run string, wait kairos.Wait, kindly bool) error {
	action := []string{"retry", "retry", "retry", "skip", "fail", "happened"}[w.rng.IntN(6)]
	if kindly {
		action = "retry"
	}
	req := kairos.ResolveRequest{Run: run, Node: wait.Node, Visit: wait.Visit, Item: wait.Item, Action: action, Reason: "so it was"}
	of := visitOf{run, wait.Node, wait.Visit, wait.Item}
	switch action {
	case "retry":
		w.permit(of)
	case "fail":
		w.permit(of) // a resume of the failed run runs it again
		fallthrough
	default:
		w.tampered[w.root(run)] = true
	}
	if action == "happened" {
		req.Output = kairos.RawJSON(`{"n":1}`)
	}
	w.note("%s: %s#%d[%d] %s", w.name(run), wait.Node, wait.Visit, wait.Item, fmt.Sprint(action))
	_, err := w.engine.Resolve(w.ctx(), operator, req)
	return err
}
