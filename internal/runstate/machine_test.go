package runstate_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

var ada = domain.Actor{Name: "ada", Source: "ui"}

// fixture is a machine with an environment that the test controls.
type fixture struct {
	t   *testing.T
	m   *runstate.Machine
	env runstate.Env

	decided []domain.Checkpoint
	last    []runstate.Command // of the last event
}

func newFixture(t *testing.T, plan string, change ...func(*domain.Run)) *fixture {
	t.Helper()
	doc, problems := planner.Parse([]byte(plan), planner.WithFormat(planner.FormatYAML))
	if doc == nil {
		t.Fatal(problems)
	}
	program, err := doc.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := runstate.NewCompiled(program, domain.Version{})
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	run := domain.Run{ID: "run", PlanKey: "p", Status: domain.RunQueued, CreatedAt: now, Input: domain.RawJSON(`{"list": [1, 2]}`)}
	for _, c := range change {
		c(&run)
	}
	input, err := runstate.Decode(run.Input)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, m: runstate.NewMachine(run, p, runstate.New(p.Program, runstate.Facts{Run: "run", Input: input}), 0)}
	f.env = runstate.Env{Now: now, Monotonic: time.Second, HasSlot: true,
		Options: &runstate.Options{QuarantineAfter: 3, MaxReplans: 2, Replans: true}}
	return f
}

// try passes an event to the machine.
func (f *fixture) try(ev runstate.Event) error {
	f.env.Now, f.env.Monotonic = f.env.Now.Add(time.Millisecond), f.env.Monotonic+time.Millisecond
	d, err := f.m.Handle(ev, f.env)
	f.decided = append(f.decided, d.Checkpoints...)
	f.last = slices.Clone(d.Commands)
	return err
}

func (f *fixture) do(ev runstate.Event) {
	f.t.Helper()
	if err := f.try(ev); err != nil {
		f.t.Fatal(err)
	}
}

// attempt begins an attempt of a step.
func (f *fixture) attempt(k runstate.StepKey, effect walk.Effect) *runstate.Attempt {
	f.t.Helper()
	t := &runstate.Attempt{StepKey: k, Spec: &f.m.Program.Nodes[k.Node], Number: f.m.State.Open[k].Attempt + 1, Effect: effect,
		Input: domain.RawJSON("{}"), IdempotencyKey: "key", StartedAt: f.env.Now}
	f.do(&runstate.AttemptReady{Attempt: t})
	return t
}

// next returns the step that the machine prepares next.
func (f *fixture) next() runstate.StepKey {
	f.t.Helper()
	for range 100 {
		f.do(runstate.Advance{})
		for _, c := range f.last {
			if t, ok := c.Task.(runstate.PrepareAttempt); ok {
				return t.StepKey
			}
		}
	}
	f.t.Fatal("no step is to be prepared")
	return runstate.StepKey{}
}

// begin starts an attempt of the next step.
func (f *fixture) begin(effect walk.Effect) *runstate.Attempt { return f.attempt(f.next(), effect) }

func (f *fixture) complete() { f.do(runstate.Complete{}) }

// failure ends an attempt with a failure.
func (f *fixture) failure(t *runstate.Attempt, fail domain.Failure, cause runstate.StopCause) {
	f.t.Helper()
	f.do(&runstate.AttemptDone{AttemptEnding: runstate.AttemptEnding{Attempt: t, Cause: cause}, Failure: &fail})
}

func (f *fixture) output(t *runstate.Attempt, v any) {
	f.t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		f.t.Fatal(err)
	}
	f.do(&runstate.AttemptDone{AttemptEnding: runstate.AttemptEnding{Attempt: t}, Output: v, Raw: raw})
}

// rows formats the decided rows: kind, node, and distinguishing fields.
func (f *fixture) rows() string {
	var list []string
	for _, e := range f.all() {
		text := string(e.Kind)
		if e.Node != "" {
			text += " " + e.Node
		}
		if e.Item != runstate.NoItem {
			text += fmt.Sprintf("[%d]", e.Item)
		}
		switch e.Kind {
		case domain.EntryResult:
			text += " " + string(e.Status)
			if e.Final {
				text += "!"
			}
		case domain.EntryWait:
			text += " " + e.Reason
		case domain.EntryAction:
			var d runstate.RunActionDecision
			if err := json.Unmarshal(e.Decision, &d); err != nil {
				f.t.Fatal(err)
			}
			text += " " + d.Action
		case domain.EntryResolve:
			var d runstate.ResolveDecision
			if err := json.Unmarshal(e.Decision, &d); err != nil {
				f.t.Fatal(err)
			}
			text += " " + d.Action
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

func (f *fixture) all() []domain.Entry {
	var list []domain.Entry
	for i := range f.decided {
		list = append(list, f.decided[i].Entries...)
	}
	return append(list, f.m.Draft()...)
}

// commands lists the types of the last event's tasks. A task that waits for a checkpoint has the
// checkpoint's number.
func (f *fixture) commands() string {
	var list []string
	for _, c := range f.last {
		text := strings.TrimPrefix(fmt.Sprintf("%T", c.Task), "runstate.")
		if c.After > 0 {
			text += fmt.Sprintf("@%d", c.After)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

func (f *fixture) want(what, got, want string) {
	f.t.Helper()
	if got != want {
		f.t.Errorf("%s: %s\nwant %s", what, got, want)
	}
}

func (f *fixture) act(action domain.Action) error {
	return f.try(&runstate.OperatorAction{Actor: ada, Request: domain.ActionRequest{Run: "run", Action: action}})
}

// A step with side effects starts after its intent is durable. A pure step starts at once. Each
// finished step is one checkpoint.
func TestCommandsAreTiedToCheckpoints(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{nodes: {a: {type: x}, b: {type: x}, c: {type: set}}, edges: [{from: a, to: b}, {from: b, to: c}]}`)
	a := f.begin(walk.EffectIdempotent)
	f.want("commands", f.commands(), "StartAttempt@1")
	f.complete()
	f.want("commands of the checkpoint", f.commands(), "ArmTimer, StatusChanged@1")
	f.output(a, 1)
	b := f.begin(walk.EffectPure)
	f.want("commands of a pure step", f.commands(), "StartAttempt")
	f.output(b, 2)
	f.do(runstate.Advance{})
	if !strings.Contains(f.rows(), "result c completed!") || len(f.decided) != 4 || !f.m.Ended() {
		t.Errorf("%d checkpoints: %s", len(f.decided), f.rows())
	}
	f.want("rows", f.rows(), "intent a, result a completed!, result b completed!, result c completed!")
	f.want("commands at the end", f.commands(), "ArmTimer, YieldSlot, StatusChanged@4")
}

// The outcome of a failed attempt depends on its class and cause.
func TestEndsOfAttempts(t *testing.T) {
	t.Parallel()
	busy := domain.Failure{Code: walk.CodeFailed, Message: "busy"}
	for _, tt := range []struct {
		name    string
		effect  walk.Effect
		failure domain.Failure
		cause   runstate.StopCause
		rows    string
		status  domain.RunStatus
	}{
		{"retried after a wait", walk.EffectIdempotent, busy, runstate.StopNone, "result a failed, wait a retry", domain.RunWaiting},
		{"permanent", walk.EffectIdempotent, domain.Failure{Code: walk.CodeFailed, Permanent: true}, runstate.StopNone,
			"result a failed!", domain.RunFailed},
		{"in doubt", walk.EffectUnsafe, busy, runstate.StopNone, "result a in_doubt", domain.RunWaiting},
		{"nothing happened", walk.EffectUnsafe, domain.Failure{Code: walk.CodeFailed, NoEffect: true}, runstate.StopNone,
			"result a failed, wait a retry", domain.RunWaiting},
		{"shutdown", walk.EffectIdempotent, busy, runstate.StopShutdown, "result a pending", domain.RunQueued},
		{"limit", walk.EffectIdempotent, busy, runstate.StopBudget, "result a pending, action budget", domain.RunWaiting},
	} {
		f := newFixture(t, `{nodes: {a: {type: x, retry: {max_attempts: 2, backoff: 1s}}}}`)
		attempt := f.begin(tt.effect)
		f.failure(attempt, tt.failure, tt.cause)
		f.env.HasSlot = false
		f.complete()
		f.want(tt.name, f.rows(), "intent a, "+tt.rows)
		f.want(tt.name, string(f.m.Run.Status), string(tt.status))
		if f.m.Attempts() != 0 {
			t.Errorf("%s: the attempt is still under way", tt.name)
		}
	}
}

// An attempt in doubt of a cancelled run has two rows. Its usage counts once.
func TestUsageOfADoubtfulCancelCountsOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{nodes: {a: {type: x}}}`)
	attempt := f.begin(walk.EffectUnsafe)
	if err := f.act(domain.ActionCancel); err != nil {
		t.Fatal(err)
	}
	f.want("commands", f.commands(), "CancelAttempt")
	f.do(&runstate.AttemptDone{AttemptEnding: runstate.AttemptEnding{Attempt: attempt, Cause: runstate.StopCancelled,
		Usage: domain.Usage{InputTokens: 7}}, Failure: &domain.Failure{Code: walk.CodeCancelled}})
	f.complete()
	f.want("rows", f.rows(), "intent a, action cancel, result a in_doubt, result a cancelled!")
	if got := f.m.Run.Usage.InputTokens; got != 7 {
		t.Errorf("%d tokens are counted, want 7", got)
	}
}

// The result of an abandoned attempt is kept, unless the run no longer has its step.
func TestLateResults(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{nodes: {a: {type: x}}}`)
	attempt := f.begin(walk.EffectIdempotent)
	f.do(&runstate.AttemptAbandoned{AttemptEnding: runstate.AttemptEnding{Attempt: attempt}})
	f.do(&runstate.AttemptLate{Attempt: attempt, Output: domain.RawJSON("1")})
	f.want("rows", f.rows(), "intent a, result a failed!, resolve a late")
	gone := *attempt
	gone.Spec = &walk.ProgramNode{ID: "of another version"}
	f.do(&runstate.AttemptLate{Attempt: &gone, Output: domain.RawJSON("1")})
	f.want("rows", f.rows(), "intent a, result a failed!, resolve a late")
}

// A foreach starts at most its limit of items at once. A dry run skips steps.
func TestForeachAndDryRuns(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{nodes: {a: {type: x, foreach: "${input.list}", max_parallel: 1}, b: {type: set, needs: [a]}}}`)
	f.output(f.begin(walk.EffectPure), 1)
	f.do(&runstate.DryStep{StepKey: f.next(), Input: map[string]any{}})
	for f.do(runstate.Advance{}); !f.m.Ended(); f.do(runstate.Advance{}) {
	}
	f.want("rows", f.rows(), "result a[0] completed!, result a[1] completed!, result b completed!")
}
