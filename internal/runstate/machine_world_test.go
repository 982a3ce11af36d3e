package runstate_test

import (
	"errors"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/runstate/runstatetest"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// After a crash of the daemon, attempts in flight are settled according to their side-effect class.
func TestRecover(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		effect  walk.Effect
		stepped bool
		rows    string
	}{
		{"repeatable", walk.EffectIdempotent, false, "action crash, result a pending"},
		{"in doubt", walk.EffectUnsafe, false, "action crash, result a in_doubt"},
		{"only its calls can be in doubt", walk.EffectUnsafe, true, "action crash, result a pending"},
		{"pure work has no row", walk.EffectPure, false, "action crash"},
	} {
		f := newFixture(t, `{nodes: {a: {type: x}}}`)
		f.begin(tt.effect)
		f.complete()
		before := f.rows()
		s, err := runstate.Fold(f.m.Program.Program, runstate.Facts{Run: "run"}, f.all())
		if err != nil {
			t.Fatal(err)
		}
		f.m, f.decided = runstate.NewMachine(f.m.Run, f.m.Program, s, 0), nil
		f.do(&runstate.Recover{Stepped: map[int]bool{0: tt.stepped}})
		f.complete()
		f.want(tt.name+" after "+before, f.rows(), tt.rows)
		if f.m.Run.Crashes != 1 {
			t.Errorf("%s: %d crashes", tt.name, f.m.Run.Crashes)
		}
	}
}

// An attempt whose worker was lost is settled according to its side-effect class, and other attempts continue. A run that
// repeatedly crashes its workers is quarantined.
func TestAnAttemptIsLost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		effect  walk.Effect
		stepped bool
		rows    string
		again   bool
	}{
		{walk.EffectIdempotent, false, "intent a, action crash, result a pending", true},
		{walk.EffectUnsafe, false, "intent a, action crash, result a in_doubt", false},
		{walk.EffectUnsafe, true, "intent a, action crash, result a pending", true},
		{walk.EffectPure, false, "action crash", true},
	} {
		f := newFixture(t, `{nodes: {a: {type: x}}}`)
		a := f.begin(tt.effect)
		a.Stepped = tt.stepped
		f.do(&runstate.AttemptLost{Attempt: a})
		f.do(&runstate.AttemptLost{Attempt: a}) // it counts once
		f.complete()
		name := string(tt.effect)
		f.want(name, f.rows(), tt.rows)
		if again := f.m.Next(f.env.Now) != nil; again != tt.again || f.m.Run.Crashes != 1 {
			t.Errorf("%s: runs again: %v, %d crashes", name, again, f.m.Run.Crashes)
		}
	}
	f := newFixture(t, `{nodes: {a: {type: x}}}`)
	f.env.Options.QuarantineAfter = 2
	for range 2 {
		f.do(&runstate.AttemptLost{Attempt: f.begin(walk.EffectPure)})
	}
	f.complete()
	f.want("status", string(f.m.Run.WaitReason), string(domain.WaitQuarantined))
}

// An attempt whose worker stopped regularly runs again on another worker, without the retry budget.
func TestAWorkerStops(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{nodes: {a: {type: x}}}`)
	a := f.begin(walk.EffectIdempotent)
	f.do(&runstate.AttemptDone{AttemptEnding: runstate.AttemptEnding{Attempt: a, Cause: runstate.StopShutdown},
		Failure: &domain.Failure{Code: walk.CodeCancelled, Message: "stopped"}})
	f.complete()
	f.want("rows", f.rows(), "intent a, result a pending")
	if f.m.Next(f.env.Now) == nil || f.m.Run.Crashes != 0 {
		t.Errorf("next %v, %d crashes", f.m.Next(f.env.Now), f.m.Run.Crashes)
	}
}

// A run that repeatedly crashes the daemon is quarantined. A clean shutdown does not count as a
// crash.
func TestQuarantineAndCleanStop(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{nodes: {a: {type: x}}}`, func(r *domain.Run) { r.Status = domain.RunRunning })
	f.env.Options.QuarantineAfter = 2
	f.do(&runstate.Recover{})
	f.do(&runstate.Recover{})
	f.complete()
	f.want("rows", f.rows(), "action crash, action crash, action quarantine")
	f.want("status", string(f.m.Run.WaitReason), string(domain.WaitQuarantined))

	f = newFixture(t, `{nodes: {a: {type: x}}}`, func(r *domain.Run) { r.Status = domain.RunRunning })
	f.env.Stopping = true
	f.do(runstate.Shutdown{})
	f.complete()
	f.do(&runstate.Recover{})
	f.want("rows of a clean stop", f.rows(), "action stop")
}

// Limits prevent steps from starting, end attempts, and make the run wait.
func TestLimitsOfARun(t *testing.T) {
	t.Parallel()
	const plan = `{nodes: {a: {type: x}, b: {type: x}}, edges: [{from: a, to: b}]}`
	f := newFixture(t, plan, func(r *domain.Run) { r.Limits = domain.Limits{MaxSteps: 1} })
	f.output(f.begin(walk.EffectPure), 1)
	f.do(runstate.Advance{})
	f.complete()
	f.want("max_steps", f.rows(), "result a completed!, action budget")
	f.want("status", string(f.m.Run.WaitReason), string(domain.WaitBudget))
	raise := domain.ActionRequest{Action: domain.ActionLimits, Limits: domain.Limits{MaxSteps: 5}}
	err := f.try(&runstate.OperatorAction{Actor: ada, Request: raise})
	if err != nil {
		t.Fatal(err)
	}
	f.want("the next step", f.m.Program.Nodes[f.next().Node].ID, "b")

	f = newFixture(t, plan, func(r *domain.Run) { r.Limits = domain.Limits{MaxDuration: time.Minute} })
	attempt := f.begin(walk.EffectIdempotent)
	f.complete()
	f.want("a run with a deadline", f.commands(), "ArmTimer, ArmDeadline, StatusChanged@1")
	f.do(runstate.DeadlinePassed{})
	f.want("too early", f.commands(), "ArmDeadline")
	f.env.Monotonic += time.Minute
	f.do(runstate.DeadlinePassed{})
	f.want("in time", f.commands(), "CancelAttempt")
	f.failure(attempt, domain.Failure{Code: walk.CodeCancelled}, runstate.StopBudget)
	f.complete()
	f.want("max_duration", f.rows(), "intent a, result a pending, action budget")
}

// A plan step waits for its child run, and settles when the child ends.
func TestChildren(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		ended  runstate.ChildEnded
		pinned bool
		rows   string
		tasks  string
	}{
		{name: "completed", ended: runstate.ChildEnded{Child: domain.Run{Status: domain.RunCompleted, Output: domain.RawJSON("7")}},
			rows: ", resolve a child, result a completed!"},
		{name: "failed", ended: runstate.ChildEnded{Child: domain.Run{Status: domain.RunFailed}},
			rows: ", resolve a child, result a failed!"},
		{name: "cannot run", ended: runstate.ChildEnded{Err: errors.New("no such plan")}, rows: ", resolve a child, result a failed!"},
		{name: "not over", ended: runstate.ChildEnded{Child: domain.Run{Status: domain.RunRunning}}},
		{name: "cancelled by this run before it was resumed", pinned: true,
			ended: runstate.ChildEnded{Child: domain.Run{Status: domain.RunCancelled}, CancelledHere: true}, tasks: "StartChild"},
		{name: "cancelled by a person", pinned: true, ended: runstate.ChildEnded{Child: domain.Run{Status: domain.RunCancelled}},
			rows: ", resolve a child, result a failed!"},
	} {
		f := newFixture(t, `{nodes: {a: {type: plan, plan: other}}}`)
		if tt.pinned {
			row := runstate.PlansRow(map[string]string{"other": "hash"}, f.env.Now)
			if err := f.m.State.Apply(&row); err != nil {
				t.Fatal(err)
			}
		}
		f.do(runstate.Advance{})
		f.want(tt.name, f.commands(), "FindChild")
		f.do(&runstate.ChildReady{StepKey: runstate.StepKey{VisitKey: walk.VisitKey{Visit: 1}, Item: runstate.NoItem}, Hash: "hash"})
		f.want(tt.name, f.commands(), "StartChild@1")
		child := f.last[0].Task.(runstate.StartChild)
		f.complete()
		pending := 0
		for _, c := range f.m.Pending() {
			if task, ok := c.Task.(runstate.StartChild); ok && task.ID == child.ID && !task.Resume {
				pending++
			}
		}
		if tt.pinned != (pending == 1) {
			t.Errorf("%s: %d children are pending", tt.name, pending)
		}
		tt.ended.ID = child.ID
		f.do(&tt.ended)
		if tt.tasks != "" {
			f.want(tt.name, f.commands(), tt.tasks)
		}
		f.want(tt.name, f.rows(), "wait a child"+tt.rows)
	}
}

// A child run that no step waits for is cancelled once that decision is durable.
func TestACancelledStepCancelsItsChild(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{nodes: {a: {type: plan, plan: other}}}`)
	f.do(runstate.Advance{})
	f.do(&runstate.ChildReady{StepKey: runstate.StepKey{VisitKey: walk.VisitKey{Visit: 1}, Item: runstate.NoItem}, Hash: "hash"})
	f.complete()
	if err := f.act(domain.ActionCancel); err != nil {
		t.Fatal(err)
	}
	f.want("commands", f.commands(), "CancelChild@2")
}

// A failed step waits for a new version. The run follows it at once, after a person accepts it, or
// not at all.
func TestReplanning(t *testing.T) {
	t.Parallel()
	const plan = `{nodes: {a: {type: x, on_error: replan}}}`
	compile := func(text string) *runstate.Compiled {
		doc, problems := planner.Parse([]byte(text), planner.WithFormat(planner.FormatYAML))
		if doc == nil {
			t.Fatal(problems)
		}
		program, err := doc.Program(nil)
		if err != nil {
			t.Fatal(err)
		}
		return runstate.NewCompiled(program, domain.Version{})
	}
	other := compile(`{nodes: {b: {type: x}}}`)
	version := &runstate.NewVersion{Program: other, Facts: runstate.Facts{Run: "run",
		Program: func(string) (*walk.Program, error) { return other.Program, nil }}}
	target := runstate.ReplanTarget{Hash: "new", Version: 2}
	const failed = "intent a, result a failed, wait a replan"
	for _, tt := range []struct {
		name  string
		ready runstate.ReplanReady
		rows  string
	}{
		{"followed", runstate.ReplanReady{Target: target, Version: version}, ", replan"},
		{"none", runstate.ReplanReady{Failure: "no idea"}, ", result a failed!"},
		{"cannot be followed", runstate.ReplanReady{Target: target, Version: &runstate.NewVersion{Failure: "no"}}, ", result a failed!"},
		{"not loaded", runstate.ReplanReady{Target: target}, ", result a failed!"},
		{"a person is asked", runstate.ReplanReady{Target: target, Unsafe: []string{"b"}}, ", wait a approval"},
		{"asked again", runstate.ReplanReady{Again: true}, ""},
	} {
		f := newFixture(t, plan)
		f.failure(f.begin(walk.EffectIdempotent), domain.Failure{Code: walk.CodeFailed}, runstate.StopNone)
		f.do(runstate.Advance{})
		f.want(tt.name, f.commands(), "AskReplan@1")
		f.do(runstate.Advance{})
		f.want(tt.name+": asked once", f.commands(), "")
		f.complete()
		tt.ready.StepKey = runstate.StepKey{VisitKey: walk.VisitKey{Visit: 1}, Item: runstate.NoItem}
		f.do(&tt.ready)
		f.want(tt.name, f.rows(), failed+tt.rows)
		switch tt.name {
		case "followed":
			f.want("the next step", f.m.Program.Nodes[f.next().Node].ID, "b")
			f.want("the run's version", f.m.Run.Hash, "new")
		case "asked again":
			f.do(runstate.Advance{})
			f.want(tt.name, f.commands(), "AskReplan@2")
		case "a person is asked":
			f.complete()
			p := f.decided[len(f.decided)-1].Approvals[0]
			f.do(&runstate.ApprovalDecided{Actor: ada, Approval: p, Version: version,
				Answer: domain.Answer{ID: "approve", Kind: domain.AnswerApprove}})
			f.want("accepted", f.rows(), failed+", wait a approval, resolve a approved, replan")
		}
	}
}

// Changes to a copy of a state do not affect the original.
func TestCloneIsIndependent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{nodes: {a: {type: x, foreach: "${input.list}"}, b: {type: approval, input: {message: "go on?"}},
		c: {type: x, needs: [a, b]}}}`)
	f.begin(walk.EffectIdempotent)
	before := runstatetest.Digest(f.m.State)
	clone := f.m.State.Clone()
	if err := f.act(domain.ActionCancel); err != nil {
		t.Fatal(err)
	}
	if got := runstatetest.Digest(clone); got != before {
		t.Errorf("the copy changed:\n%s\nwant\n%s", got, before)
	}
	after := runstatetest.Digest(f.m.State)
	row := f.all()[1]
	row.Seq = clone.Seq + 1
	if err := clone.Apply(&row); err != nil {
		t.Fatal(err)
	}
	if got := runstatetest.Digest(f.m.State); got != after {
		t.Errorf("the state changed with its copy:\n%s\nwant\n%s", got, after)
	}
}
