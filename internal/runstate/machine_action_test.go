package runstate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/runstate/runstatetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// Each operator action has the expected rows and tasks, or is rejected.
func TestOperatorActions(t *testing.T) {
	t.Parallel()
	const plan = `{nodes: {s: {type: set}, a: {type: x, needs: [s], retry: {max_attempts: 3, backoff: 1m}},
		b: {type: approval, needs: [s], input: {message: "go on?"}}}}`
	for _, tt := range []struct {
		name   string
		before []domain.Action
		run    func(*domain.Run)
		action domain.Action
		rows   string // without the rows of the start
		tasks  string
		err    string
	}{
		{name: "pause", action: domain.ActionPause, rows: "action pause"},
		{name: "pause twice", before: []domain.Action{domain.ActionPause}, action: domain.ActionPause, err: "already paused"},
		{name: "unpause", before: []domain.Action{domain.ActionPause}, action: domain.ActionUnpause, rows: "action pause, action unpause"},
		{name: "unpause a run that is not paused", action: domain.ActionUnpause, err: "not paused"},
		{name: "retry now", action: domain.ActionRetryNow, rows: "action retry-now"},
		{name: "cancel", action: domain.ActionCancel, rows: "action cancel, result a cancelled!, result b cancelled!"},
		{name: "cancel what has ended", before: []domain.Action{domain.ActionCancel}, action: domain.ActionCancel,
			err: "nothing to cancel"},
		{name: "release a run that is not held", action: domain.ActionRelease, err: "neither held nor quarantined"},
		{name: "start a run that has started", action: domain.ActionStartNow, err: "is not scheduled"},
		{name: "delete a run that is not over", action: domain.ActionDelete, err: "only a finished run can be deleted"},
		{name: "delete", before: []domain.Action{domain.ActionCancel}, action: domain.ActionDelete,
			rows: "action cancel, result a cancelled!, result b cancelled!"},
		{name: "resume", action: domain.ActionResume, rows: "action retry-now"},
		{name: "resume a paused run", before: []domain.Action{domain.ActionPause}, action: domain.ActionResume,
			rows: "action pause, action unpause, action retry-now"},
		{name: "limits", action: domain.ActionLimits, rows: "action limits", tasks: "FreeCalls"},
	} {
		f := newFixture(t, plan)
		first := f.begin(walk.EffectIdempotent)
		f.do(runstate.Advance{})
		f.failure(first, domain.Failure{Code: walk.CodeFailed}, runstate.StopNone)
		f.complete()
		start := f.rows()
		f.want(tt.name, start, "result s completed!, intent a, wait b approval, result a failed, wait a retry")
		for _, action := range tt.before {
			if err := f.act(action); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			f.complete()
		}
		digest, all := runstatetest.Digest(f.m.State), f.rows()
		err := f.act(tt.action)
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got %v, want %q", tt.name, err, tt.err)
			}
			if f.rows() != all || runstatetest.Digest(f.m.State) != digest || len(f.last) > 0 {
				t.Errorf("%s: it was refused and changed the run", tt.name)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if tt.tasks != "" {
			f.want(tt.name, f.commands(), tt.tasks)
		}
		f.complete()
		f.want(tt.name, strings.TrimPrefix(strings.TrimPrefix(f.rows(), start), ", "), tt.rows)
		last := f.decided[len(f.decided)-1]
		if n := len(last.Audit); n == 0 || last.Audit[0].Action != "run."+string(tt.action) || last.Audit[0].Actor != "ada" {
			t.Errorf("%s: audited as %+v", tt.name, last.Audit)
		}
	}
}

// An action with an outdated revision is rejected, unless only Recover has changed the run.
func TestRevisions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{nodes: {a: {type: x}}}`, func(r *domain.Run) { r.Status = domain.RunRunning })
	f.do(&runstate.Recover{})
	f.want("rows", f.rows(), "action crash")
	for rev, want := range map[int64]domain.Code{0: "", 1: "", 2: domain.CodeStale} {
		if got := domain.CodeOf(f.m.CheckRevision(rev)); got != want {
			t.Errorf("revision %d: %q, want %q", rev, got, want)
		}
	}
}

// The reset of an ended run reopens its failed steps.
func TestResumeReopensFailedSteps(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{nodes: {a: {type: set}, b: {type: x}}, edges: [{from: a, to: b}]}`)
	attempt := f.begin(walk.EffectIdempotent)
	f.failure(attempt, domain.Failure{Code: walk.CodeFailed}, runstate.StopNone)
	f.complete()
	if f.m.Run.Status != domain.RunFailed {
		t.Fatalf("the run is %s", f.m.Run.Status)
	}
	reset, failure := f.m.State.Clone().Walk.Reset()
	if failure != nil {
		t.Fatal(failure)
	}
	f.do(&runstate.OperatorAction{Actor: ada, Request: domain.ActionRequest{Action: domain.ActionResume}, Reset: &reset})
	last := f.decided[len(f.decided)-1]
	if p := last.Patch; p == nil || p.Status != domain.RunQueued || p.Path == nil || *p.Path != "c" || !p.ClearError {
		t.Errorf("the checkpoint of the resume changes %+v", last.Patch)
	}
	again := f.begin(walk.EffectIdempotent)
	if again.Number != 2 || f.m.Ended() {
		t.Errorf("attempt %d follows", again.Number)
	}
}

// A person resolves an attempt in doubt.
func TestResolutions(t *testing.T) {
	t.Parallel()
	for action, rows := range map[string]string{
		runstate.ActionHappened: "resolve a happened, result a completed!",
		runstate.ActionSkip:     "resolve a skip, result a skipped!",
		runstate.ActionFail:     "resolve a fail, result a failed!",
		runstate.ActionRetry:    "resolve a retry",
	} {
		f := newFixture(t, `{nodes: {a: {type: x}}}`)
		f.failure(f.begin(walk.EffectUnsafe), domain.Failure{Code: walk.CodeFailed}, runstate.StopNone)
		resolve := func(attempt int) error {
			return f.try(
				&runstate.StepResolved{Actor: ada, Request: domain.ResolveRequest{Node: "a", Visit: 1, Attempt: attempt, Action: action}},
			)
		}
		if err := resolve(2); domain.CodeOf(err) != domain.CodeStale {
			t.Errorf("%s of another attempt: %v", action, err)
		}
		if err := resolve(1); err != nil {
			t.Errorf("%s: %v", action, err)
		}
		f.want(action, f.rows(), "intent a, result a in_doubt, "+rows)
		if action == runstate.ActionRetry {
			if again := f.begin(walk.EffectUnsafe); again.Number != 2 {
				t.Errorf("attempt %d follows", again.Number)
			}
			continue
		}
		if err := resolve(1); domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("%s twice: %v", action, err)
		}
	}
}

// Rows open and close approvals.
func TestApprovals(t *testing.T) {
	t.Parallel()
	const plan = `{nodes: {a: {type: approval, input: {message: "go on?", timeout: 1m, on_timeout: %}}}}`
	for _, tt := range []struct {
		name, onTimeout string
		then            func(f *fixture, p domain.Approval)
		rows, closed    string
	}{
		{"approved", "fail", func(f *fixture, p domain.Approval) {
			f.do(&runstate.ApprovalDecided{Actor: ada, Approval: p, Answer: p.Choices[0]})
		}, "resolve a approved, result a completed!", "approved by ada"},
		{"rejected", "fail", func(f *fixture, p domain.Approval) {
			f.do(&runstate.ApprovalDecided{Actor: ada, Approval: p, Answer: p.Choices[1]})
		}, "resolve a rejected, result a failed!", "rejected by ada"},
		{"cancelled", "fail", func(f *fixture, _ domain.Approval) { _ = f.act(domain.ActionCancel) }, "action cancel, result a cancelled!",
			"cancelled by system"},
		{"expired", "approve", expire, "resolve a expired, result a completed!", "expired by system"},
		{"expired into a rejection", "reject", expire, "resolve a expired, result a failed!", "expired by system"},
		{"expired into a failure", "fail", expire, "resolve a expired, result a failed!", "expired by system"},
		{"not due", "fail", func(f *fixture, _ domain.Approval) { f.do(runstate.TimerDue{}) }, "", ""},
	} {
		f := newFixture(t, strings.Replace(plan, "%", tt.onTimeout, 1))
		f.do(runstate.Advance{})
		f.complete()
		opened := f.decided[0].Approvals
		if len(opened) != 1 || opened[0].Status != "pending" || opened[0].Message != "go on?" || opened[0].DueAt.IsZero() {
			t.Fatalf("opened %+v", opened)
		}
		tt.then(f, opened[0])
		f.complete()
		f.want(tt.name, strings.TrimPrefix(strings.TrimPrefix(f.rows(), "wait a approval"), ", "), tt.rows)
		closed := ""
		for _, c := range f.decided[1:] {
			for _, p := range c.Approvals {
				closed = p.Status + " by " + p.DecidedBy
			}
		}
		f.want(tt.name, closed, tt.closed)
		err := f.try(&runstate.ApprovalDecided{Actor: ada, Approval: opened[0]})
		if tt.closed != "" && domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("%s: a second answer: %v", tt.name, err)
		}
	}
}

func expire(f *fixture, _ domain.Approval) {
	f.env.Now = f.env.Now.Add(time.Hour)
	f.do(runstate.TimerDue{})
}

// A call that requires consent is approved or rejected before it is made.
func TestConsent(t *testing.T) {
	t.Parallel()
	for _, approve := range []bool{true, false} {
		f := newFixture(t, `{nodes: {a: {type: x}}}`)
		f.env.Options.ConsentTimeout = time.Hour
		k := f.next()
		f.do(&runstate.ConsentNeeded{StepKey: k, Request: runstate.ConsentRequest{Tool: "mail", Digest: "d", Args: domain.RawJSON("{}")}})
		f.complete()
		p := f.decided[0].Approvals[0]
		if p.Tool != "mail" || !p.DueAt.Equal(f.all()[0].At.Add(time.Hour)) {
			t.Fatalf("opened %+v", p)
		}
		answer := p.Choices[0]
		if !approve {
			answer = p.Choices[1]
		}
		f.do(&runstate.ApprovalDecided{Actor: ada, Approval: p, Answer: answer})
		if !approve {
			f.want("rejected", f.rows(), "wait a approval, resolve a rejected, result a failed!")
			continue
		}
		f.begin(walk.EffectUnsafe)
		f.want("approved", f.rows(), "wait a approval, resolve a approved, intent a")
	}
}
