package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// racers has steps that wait until the test lets one of them win. Those that lose end when they are cancelled.
func racers(effect walk.Effect, began chan<- string, win <-chan string) *enginetest.Registry {
	return enginetest.NewRegistry().Handle("run", effect, func(ctx context.Context, c *engine.Call) (engine.Result, error) {
		began <- c.Node.ID
		select {
		case id := <-win:
			return engine.Result{Output: id}, nil
		case <-ctx.Done():
			return engine.Result{}, context.Cause(ctx)
		}
	})
}

const raced = `
nodes:
  a: {type: run}
  b: {type: run}
  ask: {type: approval, input: {message: or you?}}
  first: {type: set, race: [a, b, ask], input: "${last} ${status.ask}"}`

// The first step of a race that completes wins. The others are cancelled, and the run continues.
func TestTheFirstOfARaceWins(t *testing.T) {
	t.Parallel()
	began, win := make(chan string, 2), make(chan string)
	e := enginetest.Open(t, racers(walk.EffectIdempotent, began, win))
	run := e.Run(raced, "")
	<-began
	<-began
	win <- "won"
	r := e.Until(run.ID, domain.RunCompleted, "")
	if string(r.Output) != `"won cancelled"` {
		t.Errorf("the output is %s\n%s", r.Output, e.Journal(run.ID))
	}
	d, err := e.Detail(t.Context(), run.ID)
	if err != nil || len(d.Waits) > 0 || strings.Count(e.Journal(run.ID), " cancelled ") != 2 {
		t.Errorf("after the race: %+v, %v\n%s", d.Waits, err, e.Journal(run.ID))
	}
	open, err := e.Store.Approvals(t.Context(), domain.ApprovalFilter{Run: run.ID, Page: domain.Page{Limit: 5}})
	if err != nil || len(open.Items) != 1 || open.Items[0].Status != "cancelled" {
		t.Errorf("the request that lost: %+v, %v", open.Items, err)
	}
}

// A non-idempotent step that loses a race may have had its effect. It is in doubt after the end of the run.
func TestANonIdempotentLoserIsInDoubt(t *testing.T) {
	t.Parallel()
	began, win := make(chan string, 2), make(chan string)
	e := enginetest.Open(t, racers(walk.EffectUnsafe, began, win))
	run := e.Run(raced, "")
	<-began
	<-began
	win <- "won"
	e.Until(run.ID, domain.RunCompleted, "")
	d, err := e.Detail(t.Context(), run.ID)
	if err != nil || len(d.Waits) != 1 || d.Waits[0].Reason != domain.WaitInDoubt {
		t.Fatalf("after the race: %+v, %v\n%s", d.Waits, err, e.Journal(run.ID))
	}
	if _, err := e.Resolve(t.Context(), enginetest.Operator, domain.ResolveRequest{Run: run.ID, Node: d.Waits[0].Node, Visit: 1, Item: -1,
		Action: "happened"}); err != nil {
		t.Fatal(err)
	}
	if d, err = e.Detail(t.Context(), run.ID); err != nil || len(d.Waits) > 0 || d.Run.Status != domain.RunCompleted {
		t.Errorf("after the resolution: %s, %+v, %v", d.Run.Status, d.Waits, err)
	}
}

// A fork after the winner does not run the steps that lost.
func TestAForkOfARaceKeepsItsWinner(t *testing.T) {
	t.Parallel()
	began, win := make(chan string, 2), make(chan string)
	reg := racers(walk.EffectIdempotent, began, win)
	e := enginetest.OpenOn(t, storetest.Open(t), reg, engine.Options{})
	run := e.Run(raced, "")
	<-began
	<-began
	win <- "won"
	r := e.Until(run.ID, domain.RunCompleted, "")
	rows, err := e.Store.Journal(t.Context(), run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	at := int64(0)
	for _, row := range rows {
		if row.Final && row.Status == domain.NodeCompleted && at == 0 {
			at = row.Seq
		}
	}
	fork, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, At: at})
	if err != nil {
		t.Fatal(err)
	}
	if f := e.Until(fork.ID, domain.RunCompleted, ""); string(f.Output) != string(r.Output) || reg.Count("a")+reg.Count("b") != 2 {
		t.Errorf("the fork ends with %s, after %d calls\n%s", f.Output, reg.Count("a")+reg.Count("b"), e.Journal(fork.ID))
	}
}

// A run whose race has no winner fails with the failure of the step that failed last. A resume runs the steps of
// the race again.
func TestARaceWithoutAWinner(t *testing.T) {
	t.Parallel()
	broken := true
	reg := enginetest.NewRegistry().Handle("try", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		if broken {
			return engine.Result{}, &walk.Failure{Code: "down", Message: "down", Permanent: true}
		}
		return engine.Result{Output: 1}, nil
	})
	e := enginetest.Open(t, reg)
	run := e.Run(`{nodes: {a: {type: try}, b: {type: try}, first: {type: set, race: [a, b]}}}`, "")
	if r := e.Until(run.ID, domain.RunFailed, ""); r.Error.Code != "down" {
		t.Errorf("%+v", r.Error)
	}
	broken = false
	if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	if r := e.Until(run.ID, domain.RunCompleted, ""); string(r.Output) != "1" {
		t.Errorf("after the resume: %s\n%s", r.Output, e.Journal(run.ID))
	}
}

// A person rejects a request before another step wins. After a resume, the race has its winner, and the request is
// cancelled.
func TestARejectionBeforeTheWinner(t *testing.T) {
	t.Parallel()
	began, win := make(chan string, 2), make(chan string)
	e := enginetest.Open(t, racers(walk.EffectIdempotent, began, win))
	run := e.Run(raced, "")
	<-began
	<-began
	open, err := e.Store.Approvals(t.Context(), domain.ApprovalFilter{Run: run.ID, Page: domain.Page{Limit: 5}})
	if err != nil || len(open.Items) != 1 {
		t.Fatalf("%+v, %v", open.Items, err)
	}
	answer := domain.DecideRequest{Approval: open.Items[0].ID, Answer: "reject"}
	if _, err := e.Decide(t.Context(), enginetest.Operator, answer); err != nil {
		t.Fatal(err)
	}
	win <- "won"
	e.Until(run.ID, domain.RunFailed, "")
	if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	r := e.Until(run.ID, domain.RunCompleted, "")
	if string(r.Output) != `"won cancelled"` {
		t.Errorf("%s\n%s", r.Output, e.Journal(run.ID))
	}
}

// A race has the same winner after a power loss at any checkpoint, and nothing of the steps that lost remains.
func TestARaceSurvivesEveryCut(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	reg := enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo)
	first := enginetest.OpenOn(t, s, reg, engine.Options{})
	v := first.Save(`
id: raced
nodes:
  a: {type: call, input: {n: 1}}
  ask: {type: approval, input: {message: or you?}}
  late: {type: wait, input: {for: 1h}}
  first: {type: call, race: [a, ask, late], input: {a: "${last.n}", ask: "${status.ask}", late: "${status.late}"}}
  end: {type: set, needs: [first]}`)
	first.Close()
	for n, died := 0, true; died; n++ {
		if n > 60 {
			t.Fatal("the run never ends")
		}
		cut := enginetest.NewCut(s, n)
		e := enginetest.OpenWith(t, s, cut, reg, engine.Options{})
		run := e.Begin(v, "")
		whole := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		go func() {
			defer close(whole)
			_, _ = e.WaitFor(ctx, run.ID, func(r domain.Run) bool { return r.Status.Final() })
		}()
		select {
		case <-cut.Dead():
		case <-whole:
			died = false
		}
		e.Close()
		<-whole
		cancel()
		e = enginetest.OpenOn(t, s, reg, engine.Options{})
		if r := e.Until(run.ID, domain.RunCompleted, ""); string(r.Output) != `{"a":1,"ask":"cancelled","late":"cancelled"}` {
			t.Errorf("cut after %d checkpoints: %s\n%s", n, r.Output, e.Journal(run.ID))
		}
		d, err := e.Detail(t.Context(), run.ID)
		if err != nil || len(d.Waits) > 0 || strings.Count(e.Journal(run.ID), " cancelled ") != 2 {
			t.Errorf("cut after %d checkpoints: %+v, %v\n%s", n, d.Waits, err, e.Journal(run.ID))
		}
		e.Close()
	}
}
