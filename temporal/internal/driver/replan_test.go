package driver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/temporal/internal/drivertest"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// tails is a planner that answers with prepared documents. The last one is repeated.
type tails struct {
	mu      sync.Mutex
	asked   []domain.ReplanRequest
	answers []string
	unsafe  []string
}

func (p *tails) Replan(_ context.Context, r domain.ReplanRequest) (domain.Replanned, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r)
	answer := p.answers[min(len(p.asked), len(p.answers))-1]
	out := domain.Replanned{Reason: "b cannot be done", Unsafe: p.unsafe, Usage: domain.Usage{InputTokens: 7}}
	if answer == "" {
		return out, errors.New("there is no other way")
	}
	doc, problems := planner.Parse([]byte(answer), planner.WithFormat(planner.FormatYAML))
	if err := problems.Err(); err != nil {
		return out, err
	}
	var err error
	out.Source, err = doc.Encode(planner.FormatJSON)
	return out, err
}

const (
	mayFail  = `{id: p, nodes: {a: {type: echo, input: one}, b: {type: broken, needs: [a], on_error: replan}, c: {type: echo, needs: [b]}}}`
	repaired = `{id: p, nodes: {a: {type: echo, input: one}, d: {type: echo, needs: [a], input: "${output.a}, two"}}}`
	again    = `{id: p, nodes: {a: {type: echo, input: one}, d: {type: broken, needs: [a], on_error: replan}}}`
	withPart = `{id: p, nodes: {a: {type: echo, input: one}, d: {type: plan, plan: part, needs: [a], input: "${output.a}"}}}`
)

// A run whose step failed continues with a new version of its plan, and keeps the completed steps. Its reports may arrive twice.
func TestARunIsReplanned(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers, unsafe []string
		approve         bool
		status          domain.RunStatus
		output, rows    string
	}{
		"a new version": {[]string{repaired}, nil, false, domain.RunCompleted, `"one, two"`, "replan"},
		"twice":         {[]string{again, repaired}, nil, false, domain.RunCompleted, `"one, two"`, "replan"},
		"max_replans": {[]string{again, strings.NewReplacer("d:", "e:", "d]", "e]").Replace(again), repaired}, nil, false,
			domain.RunFailed, "", "replan"},
		"no version": {[]string{""}, nil, false, domain.RunFailed, "", "no new plan: there is no other way"},
		"another plan": {[]string{strings.Replace(repaired, "id: p", "id: q", 1)}, nil, false, domain.RunFailed, "",
			`no new plan: the new plan is "q", not a version of "p"`},
		"a completed step is not kept": {[]string{strings.Replace(repaired, "one", "other", 1)}, nil, false, domain.RunFailed, "",
			"does not keep the completed node a: its definition differs"},
		"accepted":   {[]string{repaired}, []string{"d"}, true, domain.RunCompleted, `"one, two"`, "approved"},
		"rejected":   {[]string{repaired}, []string{"d"}, false, domain.RunFailed, "", "was rejected by marta"},
		"a sub-plan": {[]string{withPart}, nil, false, domain.RunCompleted, `"one!"`, "replan"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &tails{answers: c.answers, unsafe: c.unsafe}
			r := registry()
			r.Replanner = p
			w := drivertest.New(t, r)
			w.Save(`{"id": "part", "nodes": {"x": {"type": "set", "input": "${input}!"}}}`)
			failed := map[string]bool{}
			w.Reports.After = func(r wire.Report) error {
				key := fmt.Sprint(r.Run.ID, r.Run.LastSeq)
				if failed[key] {
					return nil
				}
				failed[key] = true
				return temporal.NewApplicationError("the answer was lost", "test")
			}
			w.At(time.Hour, func() {
				for _, p := range w.Approvals() {
					w.Update(wire.DecideUpdate, wire.Decision{Actor: drivertest.Operator, Approval: p.ID,
						Request: domain.DecideRequest{Approve: c.approve, Digest: p.Digest}})
				}
			})
			run := w.Run(mayFail, `"x"`)
			want(t, w, run, c.status, c.output)
			if text := w.Reports.Text(run.ID); !strings.Contains(text, c.rows) {
				t.Errorf("no %q in\n%s", c.rows, text)
			}
			if n := r.Count("a"); n != 1 {
				t.Errorf("a ran %d times", n)
			}
			if got := run.Usage.InputTokens; got != int64(7*len(p.asked)) {
				t.Errorf("%d tokens for %d answers", got, len(p.asked))
			}
			if p.asked[0].Node != "b" || len(p.asked[0].Settled) != 1 || string(p.asked[0].Settled[0].Output) != `"one"` {
				t.Errorf("%+v", p.asked[0])
			}
		})
	}
}

// A run continues in other workflow runs before, while, and after it follows a new version. It never loses its history.
func TestAReplannedRunContinuesAsNew(t *testing.T) {
	t.Parallel()
	p := &tails{answers: []string{`{id: p, nodes: {a: {type: echo, input: one}, d: {type: echo, needs: [a], input: two},
		w: {type: wait, needs: [d], input: {for: 5h}}, e: {type: set, needs: [w], input: ["${output.a}", "${output.d}"]}}}`}, unsafe: []string{"d"}}
	r := registry()
	r.Replanner = p
	w := drivertest.New(t, r)
	w.OnAttempt(func(a wire.Attempt) error {
		w.Env.SetContinueAsNewSuggested(w.Continued < 3)
		return nil
	})
	var approve func()
	approve = func() {
		for _, p := range w.Approvals() {
			w.Update(wire.DecideUpdate, wire.Decision{Actor: drivertest.Operator, Approval: p.ID,
				Request: domain.DecideRequest{Approve: true, Digest: p.Digest}})
		}
	}
	w.OnRenewed = func() { w.At(time.Hour, approve) }
	run := w.Run(mayFail, `"x"`)
	want(t, w, run, domain.RunCompleted, `["one","two"]`)
	if w.Continued != 3 || len(p.asked) != 1 || r.Count("a") != 1 || r.Count("d") != 1 {
		t.Errorf("%d continuations, %d answers\n%s", w.Continued, len(p.asked), w.Reports.Text(run.ID))
	}
}

// A run is cancelled while kairosd calls the planner.
func TestACancelWhilePlanning(t *testing.T) {
	t.Parallel()
	p := &tails{answers: []string{repaired}}
	r := registry()
	r.Replanner = p
	w := drivertest.New(t, r)
	w.Reports.Planning = func() { w.Env.CancelWorkflow() }
	run := w.Run(mayFail, `"x"`)
	want(t, w, run, domain.RunCancelled, "")
}

// Two steps fail one after the other. For the first one, there is no version. The planner is called once for each.
func TestTwoStepsAreReplanned(t *testing.T) {
	t.Parallel()
	p := &tails{answers: []string{"", `{id: p, nodes: {b: {type: broken, on_error: replan}, c: {type: echo, needs: [b], when: failure, input: three}}}`}}
	r := registry()
	r.Replanner = p
	w := drivertest.New(t, r)
	run := w.Run(`{id: p, nodes: {b: {type: broken, on_error: replan}, c: {type: broken, needs: [b], when: failure, on_error: replan}}}`, "")
	if len(p.asked) != 2 || p.asked[0].Node != "b" || p.asked[1].Node != "c" || run.Usage.InputTokens != 14 || run.Version == 1 {
		t.Errorf("%d answers, version %d, %+v\n%s", len(p.asked), run.Version, run.Usage, w.Reports.Text(run.ID))
	}
	if n := strings.Count(w.Reports.Text(run.ID), "substep"); n != 1 {
		t.Errorf("%d answers are recorded\n%s", n, w.Reports.Text(run.ID))
	}
}
