package engine

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// status completes the checkpoint with what becomes of the run.
func (a *runner) status() {
	if n := a.s.Settled; len(n) > 0 {
		if a.pathLen < maxPath {
			letters := make([]byte, 0, len(n))
			for _, v := range n {
				if a.pathLen+len(letters) < maxPath {
					letters = append(letters, letter(v.Status))
				}
			}
			patchOf(&a.pipe.next).AddPath += string(letters)
			a.pathLen += len(letters)
		}
		a.s.ForgetSettled()
	}
	if a.ended || a.reopening || a.stopping && len(a.pipe.next.Entries) == 0 && a.pipe.next.Patch == nil {
		return
	}
	status, reason, waits := a.where()
	// A resume of one step ends in a pause; a pause ends with the run, which the
	// steps at work may have completed.
	if on := a.s.Paused && !status.Final(); on != a.run.Paused { //seed:final-pause
		a.run.Paused, patchOf(&a.pipe.next).Paused = on, &on
	}
	if a.stopping && !status.Final() && a.run.Status == domain.RunRunning {
		return // runs stay running over a shutdown and go on at the next start
	}
	now := a.e.now()
	if a.dueDirty || status != a.run.Status {
		a.dueDirty = false
		due := time.Time{}
		if !status.Final() {
			due = a.nextDue(now)
		}
		if !due.Equal(a.run.DueAt) {
			at := due // what follows concerns the timer only
			patchOf(&a.pipe.next).DueAt, a.run.DueAt = &at, at
		}
		if a.s.Paused || a.s.Held || a.s.Quarantined {
			due = time.Time{}
		}
		if a.early() && !status.Final() {
			due = a.run.StartAt
		}
		a.e.timers.set(a.id, due)
	}
	if status == a.run.Status && reason == a.run.WaitReason {
		return
	}
	p := patchOf(&a.pipe.next)
	p.Status, p.WaitReason = status, reason
	a.run.Attention = false // the store knows better; here it stands for silence only
	if reason == domain.WaitRetry {
		p.Retrying = runstate.MostAttempts(a.s)
	}
	if a.run.Status == domain.RunRunning && !a.runningSince.IsZero() {
		total := a.run.RunningTime + a.ran()
		a.run.RunningTime, p.RunningTime = total, &total
	}
	if a.run.StartedAt.IsZero() && status != domain.RunQueued && status != domain.RunCancelled {
		a.run.StartedAt, p.StartedAt = now, &now
	}
	headline, node := a.headline(status, reason, waits)
	p.Headline, p.Node = &headline, &node
	switch {
	case status == domain.RunRunning:
		a.runningSince = time.Now()
	case status.Final():
		a.finish(p, now)
	}
	failure := ""
	if status == domain.RunFailed && a.prog.Kind == walk.KindSteps && a.run.Error != nil {
		failure = runstate.StepFailureReason(a.prog.Program, a.run.Error)
	}
	a.pipe.next.Audit = append(a.pipe.next.Audit, failureRecord(a.id, status, reason, headline, failure))
	a.run.Status, a.run.WaitReason, a.run.Headline, a.run.Node = status, reason, headline, node
	a.armDeadline()
	if status != domain.RunRunning {
		a.slots.yield()
	}
	final := status.Final()
	a.pipe.after(func(err error) {
		if err != nil {
			return
		}
		a.e.watchers.changed(a.id)
		if final && a.ended { // else it was resumed meanwhile
			a.e.sched.ended(a.id, a.concurrencyKey())
			if p := a.run.Parent; p != nil {
				a.e.post(p.Run, childMsg{run: a.id})
			}
		}
	})
}

// nextDue is when the run must be heard of next. A retry that is due and stands
// in the queue needs no timer: it starts when there is room for it, and a timer
// in the past would fire again and again until then.
func (a *runner) nextDue(now time.Time) time.Time {
	return a.s.NextDue(func(w *runstate.Step) bool {
		return w.Reason == domain.WaitRetry && !w.Due.After(now) && a.ready.contains(w.StepKey)
	})
}

// finish completes the patch of a run that ends.
func (a *runner) finish(p *domain.RunPatch, now time.Time) {
	a.ended = true
	p.EndedAt = &now
	out := a.s.Walk.Outcome()
	if out.Status == walk.Completed {
		raw, err := jsonvalue.EncodeWithin(out.Output, jsonvalue.MaxBytes)
		if err != nil {
			raw = domain.RawJSON("null") // its parts are stored; together they are nested too deep, or too large
		}
		p.Output, a.run.Output = raw, raw
		a.pipe.next.Remember = a.remembered(now)
	}
	if f := out.Failure; f != nil {
		e := &domain.RunError{Code: f.Code, Message: f.Message, Node: f.Node}
		if f.Behind != nil { // an outage is one failure, also where calls were no longer made
			e.Code, e.Message = f.Behind.Code, f.Behind.Message
		}
		p.Error, a.run.Error = e, e
	}
}

// where says what the run's status is now.
func (a *runner) where() (domain.RunStatus, domain.WaitReason, []domain.Wait) {
	if out := a.s.Walk.Outcome(); out.Done {
		switch out.Status {
		case walk.Completed:
			return domain.RunCompleted, "", nil
		case walk.Cancelled:
			return domain.RunCancelled, "", nil
		}
		return domain.RunFailed, "", nil
	}
	if len(a.running) > 0 || a.ready.starting {
		return domain.RunRunning, "", nil
	}
	// What became ready while the engine stops is work for its next start: a run
	// left waiting without a due time would be taken up by nobody.
	if !a.barred() && a.ready.peek(a.s) != nil {
		if a.slots.token != 0 {
			return domain.RunRunning, "", nil
		}
		return domain.RunQueued, "", nil
	}
	waits := a.s.Waits()
	if len(waits) > 0 {
		return domain.RunWaiting, waits[0].Reason, waits
	}
	return a.run.Status, a.run.WaitReason, nil
}

func letter(s domain.NodeStatus) byte {
	switch s {
	case domain.NodeFailed:
		return 'f'
	case domain.NodeSkipped:
		return 's'
	case domain.NodeCancelled:
		return 'x'
	}
	return 'c'
}

// headline says where the run stands in one line, for lists.
func (a *runner) headline(status domain.RunStatus, reason domain.WaitReason, waits []domain.Wait) (text, node string) {
	switch status {
	case domain.RunRunning:
		first := runstate.NoItem
		for k := range a.running {
			if first == runstate.NoItem || k.Node < first {
				first = k.Node
			}
		}
		if first == runstate.NoItem {
			if k := a.ready.peek(a.s); k != nil {
				first = k.Node
			}
		}
		if first != runstate.NoItem {
			node = a.prog.Nodes[first].ID
		}
		return node, node
	case domain.RunFailed:
		return runstate.FailureMessage(a.s)
	case domain.RunCompleted:
		return runstate.CompletedMessage(a.s)
	case domain.RunWaiting:
		if len(waits) == 0 {
			return "", ""
		}
		if reason == domain.WaitRetry {
			return runstate.RetryMessage(a.s, waits[0])
		}
		return runstate.WaitMessage(reason, waits)
	}
	return "", ""
}
