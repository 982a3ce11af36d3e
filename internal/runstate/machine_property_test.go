package runstate_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/runstate/runstatetest"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/plannertest"
	"github.com/kairosd/kairosd/planner/walk"
)

// happened is an event with the environment in which it was handled.
type happened struct {
	ev  runstate.Event
	env runstate.Env
}

// driver acts as the runner of a machine, and draws the events of the run.
type driver struct {
	t       *rapid.T
	m       *runstate.Machine
	begun   domain.Run
	now     time.Time
	passed  time.Duration
	slot    bool
	options runstate.Options

	attempts []*runstate.Attempt // active attempts
	events   []happened
	rows     []domain.Entry
	out      strings.Builder // all decisions
}

func newDriver(t *rapid.T, p *runstate.Compiled) *driver {
	d := &driver{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), passed: time.Second,
		options: runstate.Options{QuarantineAfter: 3, ConsentTimeout: time.Hour}}
	d.begun = domain.Run{ID: "run", PlanKey: "p", Status: domain.RunQueued, CreatedAt: d.now}
	d.m = runstate.NewMachine(d.begun, p, runstate.New(p.Program, d.facts()), 0)
	return d
}

func (d *driver) facts() runstate.Facts {
	return runstate.Facts{Run: "run", Input: plannertest.Input()}
}

// write appends a decision to b.
func write(b *strings.Builder, d runstate.Decision, err error) {
	for i := range d.Checkpoints {
		raw, _ := json.Marshal(d.Checkpoints[i])
		fmt.Fprintf(b, "checkpoint %s\n", raw)
	}
	for _, c := range d.Commands {
		switch t := c.Task.(type) {
		case runstate.StartAttempt:
			fmt.Fprintf(b, "%d start %v %d\n", c.After, t.Attempt.StepKey, t.Attempt.Number)
		case runstate.CancelAttempt:
			fmt.Fprintf(b, "%d cancel %v %d\n", c.After, t.Attempt.StepKey, t.Cause)
		default:
			fmt.Fprintf(b, "%d %T %+v\n", c.After, t, t)
		}
	}
	if err != nil {
		fmt.Fprintf(b, "error %v\n", err)
	}
}

func (d *driver) handle(ev runstate.Event) runstate.Decision {
	d.now, d.passed = d.now.Add(time.Millisecond), d.passed+time.Millisecond
	env := runstate.Env{Now: d.now, Monotonic: d.passed, Jitter: [2]float64{0.25, 0.5}, HasSlot: d.slot, Options: &d.options}
	before := runstatetest.Digest(d.m.State)
	dec, err := d.m.Handle(ev, env)
	d.events = append(d.events, happened{ev, env})
	write(&d.out, dec, err)
	if err != nil && (len(dec.Checkpoints)+len(dec.Commands) > 0 || runstatetest.Digest(d.m.State) != before) {
		d.t.Fatalf("%T was refused (%v) and changed the run", ev, err)
	}
	for i := range dec.Checkpoints {
		d.rows = append(d.rows, dec.Checkpoints[i].Entries...)
	}
	for _, c := range slices.Clone(dec.Commands) {
		switch task := c.Task.(type) {
		case runstate.TakeSlot:
			d.slot = true
		case runstate.YieldSlot:
			d.slot = false
		case runstate.PrepareAttempt:
			d.prepare(task.StepKey)
		case runstate.StartAttempt:
			d.attempts = append(d.attempts, task.Attempt)
		case runstate.CancelAttempt:
			d.finish(task.Attempt, task.Cause)
		}
	}
	return dec
}

func (d *driver) prepare(k runstate.StepKey) {
	w, node := d.m.State.Open[k], &d.m.Program.Nodes[k.Node]
	switch rapid.IntRange(0, 15).Draw(d.t, "prepare") {
	case 0:
		d.handle(&runstate.AttemptRefused{StepKey: k, Failure: &walk.Failure{Code: walk.CodeFailed, Message: "refused"}})
		return
	case 1:
		if consent, ok := w.Answers[0]; !ok || !consent.Approved {
			d.handle(
				&runstate.ConsentNeeded{StepKey: k, Request: runstate.ConsentRequest{Tool: "t", Digest: "d", Args: domain.RawJSON("{}")}},
			)
			return
		}
	}
	effect := rapid.SampledFrom([]walk.Effect{walk.EffectPure, walk.EffectRead, walk.EffectIdempotent, walk.EffectUnsafe}).
		Draw(d.t, "effect")
	d.handle(&runstate.AttemptReady{Attempt: &runstate.Attempt{StepKey: k, Spec: node, Number: w.Attempt + 1, Effect: effect,
		Input: domain.RawJSON(`{"x":1}`), IdempotencyKey: "key", StartedAt: d.now}})
}

// finish ends an attempt in a randomly drawn way.
func (d *driver) finish(t *runstate.Attempt, cause runstate.StopCause) {
	d.attempts = slices.DeleteFunc(d.attempts, func(o *runstate.Attempt) bool { return o == t })
	end := runstate.AttemptEnding{Attempt: t, Cause: cause, Usage: domain.Usage{InputTokens: 3, OutputTokens: 2}}
	fail := func(f domain.Failure) { d.handle(&runstate.AttemptDone{AttemptEnding: end, Failure: &f}) }
	switch rapid.IntRange(0, 9).Draw(d.t, "end") {
	case 0:
		fail(domain.Failure{Code: walk.CodeFailed, Message: "it broke", Permanent: true, NoEffect: true})
	case 1:
		fail(domain.Failure{Code: walk.CodeFailed, Message: "busy", NoEffect: true, RetryAfter: domain.Millis(time.Second)})
	case 2:
		fail(domain.Failure{Code: walk.CodeFailed, Message: "lost"})
	case 3:
		d.handle(&runstate.AttemptAbandoned{AttemptEnding: end})
		d.handle(&runstate.AttemptLate{Attempt: t, Output: domain.RawJSON("1")})
	case 4:
		end.Usage = domain.Usage{}
		d.handle(&runstate.AttemptDone{AttemptEnding: end, Failure: &domain.Failure{Code: walk.CodeFailed, Message: "asked"},
			Asked: &runstate.ConsentRequest{Substep: 1, Tool: "t", Digest: "d", Args: domain.RawJSON("{}")}})
	default:
		d.handle(&runstate.AttemptDone{AttemptEnding: end, Output: map[string]any{"n": json.Number("2")}, Raw: domain.RawJSON(`{"n":2}`)})
	}
}

// substep records or announces a call of an attempt.
func (d *driver) substep(t *runstate.Attempt) {
	row := domain.Entry{Kind: domain.EntrySubstep, Node: t.Spec.ID, Visit: t.Visit, Item: t.Item, Attempt: t.Number, Substep: 1,
		Status: domain.NodeCompleted, Effect: string(walk.EffectUnsafe), StartedAt: d.now, Output: domain.RawJSON("1"),
		Decision: runstate.SubstepDecision{Kind: runstate.ToolKindPrefix + "t"}.JSON()}
	if rapid.Bool().Draw(d.t, "announced") {
		row.Kind, row.Status, row.Output = domain.EntryIntent, domain.NodeRunning, nil
	}
	d.handle(&runstate.SubstepRecorded{Attempt: t, Row: row})
}

// answer answers the first open request.
func (d *driver) answer() {
	for _, w := range d.m.State.OpenSteps() {
		if w.Phase == runstate.PhaseWaiting && w.Reason == domain.WaitApproval {
			p := runstate.ApprovalRequest(&d.m.Run, d.m.State, w)
			given := rapid.SampledFrom(p.Choices).Draw(d.t, "answer")
			d.handle(&runstate.ApprovalDecided{Actor: domain.Actor{Name: "ada"}, Approval: p, Answer: given})
			return
		}
	}
}

func (d *driver) resolve() {
	action := rapid.SampledFrom([]string{runstate.ActionHappened, runstate.ActionRetry, runstate.ActionSkip,
		runstate.ActionFail}).Draw(d.t, "resolve")
	for _, w := range d.m.State.OpenSteps() {
		if w.Phase == runstate.PhaseInDoubt {
			d.handle(&runstate.StepResolved{Actor: domain.Actor{Name: "ada"}, Request: domain.ResolveRequest{
				Node: d.m.Program.Nodes[w.Node].ID, Visit: w.Visit, Item: w.Item, Action: action}})
			return
		}
	}
	for _, k := range d.m.State.UnresolvedDoubts() {
		d.handle(&runstate.StepResolved{Actor: domain.Actor{Name: "ada"}, Request: domain.ResolveRequest{
			Node: d.m.Program.Nodes[k.Node].ID, Visit: k.Visit, Item: k.Item, Action: action}})
		return
	}
}

func (d *driver) operate() {
	d.handle(runstate.Complete{})
	ev := &runstate.OperatorAction{Actor: domain.Actor{Name: "ada"}}
	ev.Request.Action = rapid.SampledFrom([]domain.Action{domain.ActionPause, domain.ActionUnpause, domain.ActionCancel,
		domain.ActionRetryNow, domain.ActionRelease, domain.ActionStartNow, domain.ActionResume, domain.ActionResume,
		domain.ActionLimits}).Draw(d.t, "action")
	ev.Request.Limits.MaxSteps = 1000
	if ev.Request.Action == domain.ActionResume && d.m.Ended() {
		if len(d.m.State.UnresolvedDoubts()) > 0 || d.m.Run.Status == domain.RunCompleted {
			return
		}
		reset, failure := d.m.State.Clone().Walk.Reset()
		if failure != nil {
			return
		}
		ev.Reset = &reset
	}
	d.handle(ev)
}

func (d *driver) step() {
	switch n := rapid.IntRange(0, 19).Draw(d.t, "event"); {
	case n < 8:
		for d.handle(runstate.Advance{}).Began {
		}
	case n < 13:
		if len(d.attempts) == 0 {
			return
		}
		t := rapid.SampledFrom(d.attempts).Draw(d.t, "attempt")
		if n == 8 {
			d.substep(t)
			return
		}
		d.finish(t, runstate.StopNone)
	case n < 15:
		d.answer()
	case n == 15:
		d.resolve()
	case n == 16:
		d.now = d.now.Add(time.Minute)
		d.handle(runstate.TimerDue{})
	case n == 17:
		d.handle(&runstate.Silence{Since: d.now, Node: "n0"})
	case n == 18:
		d.handle(runstate.Complete{})
	default:
		d.operate()
	}
}

// pending lists the pending work of a machine, without attempts, because a fold has none.
func pending(m *runstate.Machine) string {
	var b strings.Builder
	var d runstate.Decision
	for _, c := range m.Pending() {
		if _, ok := c.Task.(runstate.StartAttempt); !ok {
			d.Commands = append(d.Commands, c)
		}
	}
	write(&b, d, nil)
	return b.String()
}

// refold replays the rows so far and compares the resulting state with the live one.
func (d *driver) refold() {
	rows := slices.Concat(d.rows, d.m.Draft())
	s, err := runstate.Fold(d.m.Program.Program, d.facts(), rows)
	if err != nil {
		d.t.Fatal(err)
	}
	if want, got := runstatetest.Digest(d.m.State), runstatetest.Digest(s); want != got {
		d.t.Fatalf("the rows lead to another state:\n%s\nwant\n%s", got, want)
	}
	folded := runstate.NewMachine(d.m.Run, d.m.Program, s, 0)
	if want, got := pending(d.m), pending(folded); want != got {
		d.t.Fatalf("after a fold there is pending\n%s\nwant\n%s", got, want)
	}
}

// For any events, the rows of a run lead to the same state and the same pending commands. Equal
// events lead to equal bytes: nothing depends on the order of a map.
func TestRowsAndEventsDecideEverything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.OneOf(plannertest.Plans(), plannertest.Races()).Draw(t, "plan")
		doc, problems := planner.Parse([]byte(src), planner.WithFormat(planner.FormatJSON))
		if doc == nil {
			t.Skip(problems)
		}
		program, err := doc.Program(nil)
		if err != nil {
			t.Fatal(err)
		}
		program.Start.Timeout = rapid.SampledFrom([]time.Duration{0, 0, time.Second, 90 * time.Second, 10 * time.Minute}).Draw(t, "timeout")
		p := runstate.NewCompiled(program, domain.Version{})
		d := newDriver(t, p)
		d.handle(&runstate.Recover{})
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			d.step()
			if rapid.IntRange(0, 3).Draw(t, "refold") == 0 {
				d.refold()
			}
		}
		d.refold()
		for range 3 {
			var again strings.Builder
			m := runstate.NewMachine(d.begun, p, runstate.New(p.Program, d.facts()), 0)
			for _, h := range d.events {
				dec, err := m.Handle(h.ev, h.env)
				write(&again, dec, err)
			}
			if again.String() != d.out.String() {
				t.Fatalf("the same events lead to\n%s\nwant\n%s", again.String(), d.out.String())
			}
		}
	})
}
