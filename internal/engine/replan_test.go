package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// tails is a planner that answers with prepared documents, and records each request.
type tails struct {
	mu      sync.Mutex
	asked   []domain.ReplanRequest
	answers []string // the last one is repeated
	unsafe  []string
	block   chan struct{}
}

func (p *tails) Replan(ctx context.Context, r domain.ReplanRequest) (domain.Replanned, error) {
	p.mu.Lock()
	p.asked = append(p.asked, r)
	answer := p.answers[min(len(p.asked), len(p.answers))-1]
	p.mu.Unlock()
	if p.block != nil {
		select {
		case <-p.block:
		case <-ctx.Done():
			return domain.Replanned{}, ctx.Err()
		}
	}
	out := domain.Replanned{Reason: "b cannot be done", Unsafe: p.unsafe, Usage: domain.Usage{InputTokens: 7}}
	if answer == "" {
		return out, errors.New("no idea")
	}
	doc, problems := planner.Parse([]byte(answer), planner.WithFormat(planner.FormatYAML))
	if err := problems.Err(); err != nil {
		return out, err
	}
	var err error
	out.Source, err = doc.Encode(planner.FormatJSON)
	return out, err
}

func (p *tails) requests() []domain.ReplanRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

const (
	mayFail  = `{id: p, nodes: {a: {type: echo, input: one}, w: {type: approval, input: {message: "is it well?"}}, b: {type: broken, needs: [a], on_error: replan, retry: {max_attempts: 2, backoff: [1ms]}}, c: {type: echo, needs: [b]}}}`
	straight = `{id: p, nodes: {a: {type: echo, input: one}, b: {type: broken, needs: [a], on_error: replan}, c: {type: echo, needs: [b]}}}`
	repaired = `{id: p, nodes: {a: {type: echo, input: one}, d: {type: echo, needs: [a], input: "${output.a}, two"}}}`
	again    = `{id: p, nodes: {a: {type: echo, input: one}, d: {type: broken, needs: [a], on_error: replan}}}`
)

func replanning(p *tails) *enginetest.Registry {
	reg := enginetest.NewRegistry().
		Handle("echo", walk.EffectIdempotent, echo).
		Handle("broken", walk.EffectIdempotent, fails(&walk.Failure{Code: "boom", Message: "it broke"}))
	reg.Replanner = p
	return reg
}

// follows compares the state at every checkpoint with the fold of the journal up to it.
func follows(t *testing.T, e *enginetest.Engine) func(domain.Run) {
	var mu sync.Mutex
	digests := map[int64]string{}
	e.OnFlush(func(_ string, seq int64, digest string) {
		mu.Lock()
		defer mu.Unlock()
		digests[seq] = digest
	})
	return func(r domain.Run) {
		t.Helper()
		rows, err := e.Store.Journal(t.Context(), r.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		first, err := e.Program(t.Context(), r.ProgramRef)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if row.Kind == domain.EntryReplan {
				var d struct{ From string }
				if err := json.Unmarshal(row.Decision, &d); err != nil {
					t.Fatal(err)
				}
				if first, err = e.Program(t.Context(), domain.AsWritten(d.From)); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for seq, want := range digests {
			got, err := e.FoldDigest(first, r, rows[:seq])
			if err != nil {
				t.Fatalf("fold %d rows: %v\n%s", seq, err, e.Journal(r.ID))
			}
			if got != want {
				t.Errorf("fold(journal[:%d]) differs from the live state:\n%s\n\nlive:\n%s\n%s", seq, got, want, e.Journal(r.ID))
			}
		}
	}
}

func TestReplanKeepsWhatIsDone(t *testing.T) {
	t.Parallel()
	p := &tails{answers: []string{repaired}}
	e := enginetest.Open(t, replanning(p))
	same := follows(t, e)
	r := e.Settle(e.Run(straight, `"x"`).ID)
	if r.Status != domain.RunCompleted || string(r.Output) != `"one, two"` {
		t.Fatalf("%s %s\n%s", r.Status, r.Output, e.Journal(r.ID))
	}
	same(r)
	if n := e.Registry.Count("a"); n != 1 {
		t.Errorf("a ran %d times", n)
	}
	asked := p.requests()
	if len(asked) != 1 || asked[0].Node != "b" || asked[0].Failure.Message != "it broke" || len(asked[0].Settled) != 1 ||
		asked[0].Settled[0].Node != "a" || string(asked[0].Settled[0].Output) != `"one"` ||
		!strings.Contains(string(asked[0].Version.Source), "broken") {
		t.Errorf("%+v", asked)
	}
	v, err := e.Store.VersionByHash(t.Context(), r.Hash)
	if err != nil || v.Origin != "replan" || v.ByPerson || v.ParentHash == "" || v.Reason != "b cannot be done" || v.Number != 2 ||
		r.Version != 2 {
		t.Errorf("%+v %v, run version %d", v, err, r.Version)
	}
	plan, err := e.Store.Plan(t.Context(), "p")
	if err != nil || plan.Latest != 1 || plan.LatestHash != v.ParentHash {
		t.Errorf("one run's tail became the plan's newest version: %+v %v", plan, err)
	}
	if r.Usage.InputTokens != 7 {
		t.Errorf("planning is not counted: %+v", r.Usage)
	}
	res, err := e.Result(t.Context(), r.ID)
	if err != nil || fmt.Sprint(res.Path) != "[a d]" {
		t.Errorf("%v %v", res.Path, err)
	}
	// A later version of the plan has its own number. A fork of the run keeps the rows that the run
	// kept.
	if other := e.Run(strings.Replace(straight, "one", "three", 1), `"x"`); other.Version != 3 {
		t.Errorf("the next version is %d", other.Version)
	}
	pre, err := e.Preview(t.Context(), enginetest.Operator, domain.ActionRequest{Run: r.ID, Action: domain.ActionFork, At: r.LastSeq})
	if err != nil || !pre.Allowed || len(pre.Keep) != 2 || len(pre.Again)+len(pre.New) != 0 {
		t.Errorf("%+v %v", pre, err)
	}
	// A fork continues with the version that the run followed at that point. A rerun begins with
	// the run's first version.
	for _, c := range []struct {
		action  domain.Action
		at      int64
		version int
		want    int
	}{{domain.ActionFork, 2, 0, 1}, {domain.ActionFork, r.LastSeq, 0, 2}, {domain.ActionRerun, 0, 0, 1},
		{domain.ActionRerun, 0, 2, 2}, {domain.ActionRerun, 0, -1, 3}} {
		pre, err := e.Preview(
			t.Context(),
			domain.Actor{Name: "olga", Role: domain.RoleOperator},
			domain.ActionRequest{Run: r.ID, Action: c.action, At: c.at, Version: c.version},
		)
		// Only an author may choose a version other than the run's own.
		if err != nil || pre.Version != c.want || pre.Allowed != (c.want != 3) {
			t.Errorf("%+v: version %d, allowed %v, %v", c, pre.Version, pre.Allowed, err)
		}
	}
	detail, err := e.Detail(t.Context(), r.ID)
	if list := domain.ReplansOf(detail); err != nil || len(list) != 1 || list[0].From != 1 || list[0].To != 2 || list[0].Node != "b" ||
		list[0].Reason != "b cannot be done" {
		t.Errorf("%+v %v", list, err)
	}
	fork, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: r.ID, Action: domain.ActionFork, At: 2})
	if err != nil {
		t.Fatal(err)
	}
	if f := e.Settle(fork.ID); f.Status != domain.RunCompleted || string(f.Output) != `"one, two"` {
		t.Errorf("fork: %s %s\n%s", f.Status, f.Output, e.Journal(f.ID))
	}
}

func TestReplanEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []string
		asked   int
		reason  string
	}{
		"the planner has no plan": {[]string{""}, 1, "no new plan: no idea"},
		"max_replans":             {[]string{again, strings.ReplaceAll(strings.ReplaceAll(again, "d:", "e:"), "d]", "e]")}, 2, ""},
		"a completed node is not kept": {[]string{strings.Replace(repaired, "one", "other", 1)}, 1,
			"no new plan: version 2 does not keep the completed node a: its definition differs"},
		"another plan": {[]string{strings.Replace(repaired, "id: p", "id: q", 1)}, 1,
			`no new plan: the new plan is "q", not a version of "p"`},
		"the same plan": {[]string{straight}, 1, "no new plan: the new plan equals the current one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &tails{answers: c.answers}
			e := enginetest.Open(t, replanning(p))
			same := follows(t, e)
			r := e.Settle(e.Run(straight, `"x"`).ID)
			if r.Status != domain.RunFailed || r.Error == nil || r.Error.Code != "boom" || len(p.requests()) != c.asked {
				t.Fatalf("%s %+v after %d plans\n%s", r.Status, r.Error, len(p.requests()), e.Journal(r.ID))
			}
			same(r)
			if c.reason != "" && !strings.Contains(e.Journal(r.ID), c.reason) {
				t.Errorf("the journal does not say %q:\n%s", c.reason, e.Journal(r.ID))
			}
			if e.Registry.Count("a") != 1 {
				t.Errorf("a ran %d times", e.Registry.Count("a"))
			}
		})
	}
}

// While the tail is planned, the run waits with reason replan. Waits in other branches keep their
// requests.
func TestReplanWaitsAndKeepsWaits(t *testing.T) {
	t.Parallel()
	with := strings.Replace(repaired, " d: {", ` w: {type: approval, input: {message: "is it well?"}}, d: {`, 1)
	p := &tails{answers: []string{with}, block: make(chan struct{})}
	e := enginetest.Open(t, replanning(p))
	same := follows(t, e)
	id := e.Run(mayFail, `"x"`).ID
	for {
		r, err := e.WaitFor(t.Context(), id, func(r domain.Run) bool { return r.Status == domain.RunWaiting })
		if err != nil {
			t.Fatal(err)
		}
		d, err := e.Detail(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Waits) == 2 && d.Waits[1].Reason == domain.WaitReplan && d.Waits[1].Node == "b" && d.Waits[1].Message == "it broke" {
			break
		}
	}
	before := open(t, e, id)
	close(p.block)
	r, err := e.WaitFor(t.Context(), id, func(r domain.Run) bool { return r.Version == 2 && r.Status == domain.RunWaiting })
	if err != nil {
		t.Fatal(err)
	}
	if after := open(t, e, id); after.ID != before.ID {
		t.Errorf("another question: %+v, %+v", before, after)
	}
	if got := p.requests()[0].Open; fmt.Sprint(got) != "[w]" {
		t.Errorf("open: %v", got)
	}
	if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: before.ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	if r = e.Settle(id); r.Status != domain.RunCompleted {
		t.Errorf("%s\n%s", r.Status, e.Journal(id))
	}
	same(r)
}

func TestReplansWithUnsafeStepsNeedAcceptance(t *testing.T) {
	t.Parallel()
	for name, approve := range map[string]bool{"accepted": true, "rejected": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &tails{answers: []string{repaired}, unsafe: []string{"d"}}
			e := enginetest.Open(t, replanning(p))
			same := follows(t, e)
			id := e.Run(straight, `"x"`).ID
			q := open(t, e, id)
			if q.Message != "After b failed: follow version 2? New steps that cannot be repeated: d." || q.Node != "b" {
				t.Errorf("%+v", q)
			}
			if d, err := e.Detail(t.Context(), id); err != nil {
				t.Fatal(err)
			} else if list := domain.ReplansOf(d); len(list) != 1 || !list[0].Proposed || list[0].From != 1 || list[0].To != 2 {
				t.Errorf("proposed: %+v", list)
			}
			if e.Registry.Count("d") != 0 {
				t.Error("d ran before anybody accepted it")
			}
			if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: q.ID, Approve: approve,
				Digest: q.Digest, Comment: "so be it"}); err != nil {
				t.Fatal(err)
			}
			r := e.Settle(id)
			want := domain.RunCompleted
			if !approve {
				want = domain.RunFailed
				if !strings.Contains(e.Journal(id), "no new plan: version 2 was rejected by marta: so be it") {
					t.Error(e.Journal(id))
				}
			}
			if d, err := e.Detail(t.Context(), id); err != nil {
				t.Fatal(err)
			} else if list := domain.ReplansOf(d); approve != (len(list) == 1 && !list[0].Proposed && list[0].By == "marta") ||
				!approve && len(list) != 0 {
				t.Errorf("in the end: %+v", list)
			}
			if r.Status != want || r.Usage.InputTokens != 7 {
				t.Errorf("%s %+v\n%s", r.Status, r.Usage, e.Journal(id))
			}
			same(r)
		})
	}
}

func TestCancelWhilePlanning(t *testing.T) {
	t.Parallel()
	p := &tails{answers: []string{repaired}, block: make(chan struct{})}
	e := enginetest.Open(t, replanning(p))
	id := e.Run(straight, `"x"`).ID
	e.Until(id, domain.RunWaiting, domain.WaitReplan)
	if r, err := e.Do(id, domain.ActionCancel); err != nil || r.Status != domain.RunCancelled {
		t.Fatalf("%+v %v", r, err)
	}
	close(p.block)
	if r := e.Settle(id); r.Status != domain.RunCancelled || r.Version != 1 {
		t.Errorf("%s version %d", r.Status, r.Version)
	}
}

// A node that a replan redefines is another node, with another idempotency key.
func TestRedefinedNodeHasItsOwnKey(t *testing.T) {
	t.Parallel()
	p := &tails{answers: []string{strings.Replace(straight, "broken", "echo", 1)}}
	e := enginetest.Open(t, replanning(p))
	same := follows(t, e)
	r := e.Settle(e.Run(straight, `"x"`).ID)
	if r.Status != domain.RunCompleted || e.Registry.Count("c") != 1 {
		t.Fatalf("%s\n%s", r.Status, e.Journal(r.ID))
	}
	same(r)
	keys := map[string]bool{}
	for _, c := range e.Registry.Calls() {
		if c.Node == "b" {
			keys[c.Key] = true
		}
	}
	if len(keys) != 2 {
		t.Errorf("keys of b: %v", keys)
	}
}

// At whichever point the power fails, the run reaches the same end, and nothing durable is done
// again.
func TestCrashesAroundReplan(t *testing.T) {
	t.Parallel()
	for n := range 12 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t)
			cut := enginetest.NewCut(s, n)
			planner := &tails{answers: []string{repaired}}
			first := enginetest.OpenWith(t, s, cut, replanning(planner), engine.Options{})
			id := first.Run(straight, `"x"`).ID
			done := make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				defer close(done)
				_, _ = first.WaitFor(ctx, id, func(r domain.Run) bool { return r.Status.Final() })
			}()
			select {
			case <-cut.Dead():
			case <-done:
			}
			cancel()
			<-done
			if err := first.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			before, err := s.Journal(t.Context(), id, 0)
			if err != nil {
				t.Fatal(err)
			}
			answered := slices.ContainsFunc(before, func(e domain.Entry) bool { return e.Kind == domain.EntrySubstep })
			other := &tails{answers: []string{repaired}}
			second := enginetest.OpenOn(t, s, replanning(other), engine.Options{})
			r := second.Settle(id)
			// The planner is called once more only if its answer was lost. Recorded usage counts
			// once.
			if n := len(other.requests()); answered != (n == 0) && r.LastSeq > int64(len(before)) {
				t.Errorf("answered before the crash: %v, asked %d times after it\n%s", answered, n, second.Journal(id))
			}
			if r.Usage.InputTokens != 7 {
				t.Errorf("usage %+v\n%s", r.Usage, second.Journal(id))
			}
			if r.Status != domain.RunCompleted || string(r.Output) != `"one, two"` || r.Version != 2 {
				t.Errorf("%s %s version %d\n%s", r.Status, r.Output, r.Version, second.Journal(id))
			}
		})
	}
}
