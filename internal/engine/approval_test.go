package engine_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// requests lists the approvals of a run, latest first.
func requests(t *testing.T, s *store.Store, run string) []domain.Approval {
	t.Helper()
	list, err := s.Approvals(t.Context(), domain.ApprovalFilter{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// A run that fails at the moment in which it opens an approval closes it, although the approval is
// not on disk yet.
func TestAFailingRunClosesTheApprovalThatItJustOpened(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	run := e.Run(
		`{nodes: {ask: {type: approval, input: {message: sure?}}, bad: {type: set, input: "${input.missing}"}, end: {type: noop, needs: [ask, bad]}}}`,
		`{}`,
	)
	e.Until(run.ID, domain.RunFailed, "")
	list := requests(t, e.Store, run.ID)
	if len(list) != 1 || list[0].Status != "cancelled" || list[0].DecidedBy != domain.System.Name || list[0].Message != "sure?" {
		t.Errorf("approvals of the failed run: %+v\n%s", list, e.Journal(run.ID))
	}
}

// slow is a store whose writes block until the test permits them.
type slow struct {
	*store.Store
	mu      sync.Mutex
	held    []func()
	free    bool
	arrived chan struct{}
}

func (s *slow) Enqueue(list []domain.Checkpoint, done func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free {
		s.Store.Enqueue(list, done)
		return
	}
	s.held = append(s.held, func() { s.Store.Enqueue(list, done) })
	s.arrived <- struct{}{}
}

func (s *slow) unblock() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = true
	for _, f := range s.held {
		f()
	}
}

// A cancel that arrives before an approval is on disk closes it.
func TestACancelClosesAnApprovalThatIsNotYetDurable(t *testing.T) {
	t.Parallel()
	s := &slow{Store: storetest.Open(t), arrived: make(chan struct{}, 8)}
	e := enginetest.OpenWith(t, s.Store, s, enginetest.NewRegistry(), engine.Options{})
	run := e.Run(`{nodes: {ask: {type: approval, input: {message: sure?}}}}`, "")
	<-s.arrived
	done := make(chan error)
	go func() {
		_, err := e.Do(run.ID, domain.ActionCancel)
		done <- err
	}()
	<-s.arrived
	s.unblock()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	e.Until(run.ID, domain.RunCancelled, "")
	if list := requests(t, e.Store, run.ID); len(list) != 1 || list[0].Status != "cancelled" {
		t.Errorf("approvals of the cancelled run: %+v\n%s", list, e.Journal(run.ID))
	}
}

// Resuming a quarantined run reopens its approvals, like releasing it.
func TestResumeReopensApprovals(t *testing.T) {
	t.Parallel()
	for _, action := range []domain.Action{domain.ActionResume, domain.ActionRelease} {
		t.Run(string(action), func(t *testing.T) {
			t.Parallel()
			path, run, _ := waitingRun(t, billing)
			storetest.Alter(t, path, `UPDATE step_results SET output = replace(output, '4711', '4712') WHERE node = 'pay' AND final = 1`)
			s := storetest.OpenAt(t, path)
			e := enginetest.OpenOn(t, s, billingRegistry(), engine.Options{})
			if err := e.CheckDamage(t.Context(), run.ID); err != nil {
				t.Fatal(err)
			}
			e.Until(run.ID, domain.RunWaiting, domain.WaitQuarantined)
			e.Close()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			storetest.Alter(t, path, `UPDATE step_results SET output = replace(output, '4712', '4711') WHERE node = 'pay' AND final = 1`)
			e = enginetest.OpenOn(t, storetest.OpenAt(t, path), billingRegistry(), engine.Options{})
			if _, err := e.Do(run.ID, action); err != nil {
				t.Fatal(err)
			}
			e.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
			p := asked(t, e, run.ID)
			if p.Status != "pending" || p.Comment != "" || p.DecidedBy != "" {
				t.Fatalf("after %s: %+v", action, p)
			}
			if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: p.ID, Approve: true,
				Digest: p.Digest}); err != nil {
				t.Fatal(err)
			}
			if r, err := e.Wait(t.Context(), run.ID); err != nil || r.Status != domain.RunCompleted {
				t.Errorf("after %s and the answer: %s, %v", action, r.Status, err)
			}
		})
	}
}

// A resume that repeats an answered approval opens a new request. The earlier answer stays on
// record.
func TestAResumeThatDropsAnApprovalRequestsItAgain(t *testing.T) {
	t.Parallel()
	reg := enginetest.NewRegistry().Handle("broken", walk.EffectIdempotent, fails(&walk.Failure{Code: "boom", Permanent: true}))
	e := enginetest.Open(t, reg)
	run := e.Run(
		`{on_failure: continue_branches, nodes: {bad: {type: broken}, ask: {type: approval, needs: [bad], when: always, input: {message: "go on?"}}, long: {type: wait, input: {for: 100h}}}}`,
		"",
	)
	answer := func(of string) {
		t.Helper()
		e.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
		list := requests(t, e.Store, run.ID)
		i := slices.IndexFunc(list, func(p domain.Approval) bool { return p.Status == "pending" })
		if i < 0 {
			t.Fatalf("no request is open: %+v", list)
		}
		if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: list[i].ID, Approve: true,
			Comment: of}); err != nil {
			t.Fatal(err)
		}
		e.Until(run.ID, domain.RunWaiting, domain.WaitTimer)
	}
	answer("the first")
	if _, err := e.Do(run.ID, domain.ActionCancel); err != nil {
		t.Fatal(err)
	}
	e.Settle(run.ID)
	if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	answer("the second")
	list := requests(t, e.Store, run.ID)
	if len(list) != 2 || list[0].Comment == list[1].Comment || list[0].Status != "approved" || list[1].Status != "approved" {
		t.Errorf("%+v", list)
	}
}

const payment = `
id: payment
nodes:
  rate:   {type: set, input: {r: "${input.r}"}}
  amount: {type: set, needs: [rate], input: {n: 5}}
  ask:    {type: approval, needs: [amount], input: {message: "Pay the invoice?"}}
  beside: {type: set, needs: [rate], input: {to: alice}}
  note:   {type: set, needs: [ask], input: {text: paid}}
  pay:    {type: call, needs: [note, beside], input: {n: "${output.amount.n}", to: "${output.beside.to}", text: "${output.note.text}"}}
edges: []
`

// An approval holds for what was approved. A fork requests it again after an edit before the
// approval, an edit of a value that later steps use, another input, or another version. The preview
// shows this.
func TestAForkRequestsApprovalAgainAfterAChange(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry().Handle("call", walk.EffectUnsafe, echo))
	v := e.Save(payment)
	run := e.Settle(e.Begin(v, `{"r": 1}`).ID)
	if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: requests(t, e.Store, run.ID)[0].ID,
		Approve: true}); err != nil {
		t.Fatal(err)
	}
	run = e.Until(run.ID, domain.RunCompleted, "")
	if paid := e.Registry.Count("pay"); paid != 1 {
		t.Fatalf("paid %d times\n%s", paid, e.Journal(run.ID))
	}
	e.Save(strings.Replace(payment, "to: alice", "to: mallory", 1))
	edit := func(node, output string) map[string]domain.RawJSON {
		return map[string]domain.RawJSON{node: domain.RawJSON(output)}
	}
	for name, tt := range map[string]struct {
		req    domain.ActionRequest
		reason string // empty: the approval is kept
	}{
		"nothing":                 {domain.ActionRequest{}, ""},
		"what a step behind says": {domain.ActionRequest{Edits: edit("note", `{"text": "x"}`)}, ""},
		"the same input":          {domain.ActionRequest{Input: domain.RawJSON(`{ "r": 1 }`)}, ""},
		"the amount": {domain.ActionRequest{Edits: edit("amount", `{"n": 888888}`)},
			"the approved content has changed: the output of amount was edited"},
		"an earlier step": {domain.ActionRequest{Edits: edit("rate", `{"r": 2}`)},
			"the approved content has changed: the output of rate was edited"},
		"a parallel step": {domain.ActionRequest{Edits: edit("beside", `{"to": "mallory"}`)},
			"the approved content has changed: the output of beside was edited"},
		"the input": {domain.ActionRequest{Input: domain.RawJSON(`{"r": 2}`)},
			"the approved content has changed: the run has another input"},
		"the version": {domain.ActionRequest{Version: -1}, "the approved content has changed: the run follows another version"},
	} {
		t.Run(name, func(t *testing.T) {
			req := tt.req
			req.Run, req.Action, req.At = run.ID, domain.ActionFork, run.LastSeq
			pre, err := e.Preview(t.Context(), enginetest.Operator, req)
			if err != nil {
				t.Fatal(err)
			}
			asks := slices.IndexFunc(pre.Again, func(s domain.PreviewStep) bool { return s.Node == "ask" })
			kept := strings.Contains(" "+names(pre.Keep)+" ", " ask ")
			if tt.reason == "" && (asks >= 0 || !kept) ||
				tt.reason != "" && (asks < 0 || kept || pre.Again[asks].Reason.String() != tt.reason) {
				t.Errorf("preview: keep %q, again %+v; want the reason %q", names(pre.Keep), pre.Again, tt.reason)
			}
			before := e.Registry.Count("pay")
			fork, err := e.Act(t.Context(), enginetest.Operator, req)
			if err != nil {
				t.Fatal(err)
			}
			r := e.Settle(fork.ID)
			list := requests(t, e.Store, fork.ID)
			switch {
			case tt.reason == "" && (r.Status != domain.RunCompleted || len(list) != 0):
				t.Errorf("the fork is %s %s, with %d requests", r.Status, r.WaitReason, len(list))
			case tt.reason != "" && (r.WaitReason != domain.WaitApproval || len(list) != 1 || e.Registry.Count("pay") != before):
				t.Errorf("the fork is %s %s, with %d requests, and paid\n%s", r.Status, r.WaitReason, len(list), e.Journal(fork.ID))
			}
		})
	}
}

// An approval covers a stub for a later step, but not one for a parallel step, which no one
// approved.
func TestAStubForAParallelStepRequestsApprovalAgain(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry().Handle("call", walk.EffectUnsafe, echo))
	run := e.Settle(e.Run(`
nodes:
  ask:    {type: approval, input: {message: "Pay?"}}
  late:   {type: approval, input: {message: "Whom?"}}
  beside: {type: call, needs: [late], input: {to: alice}}
  note:   {type: call, needs: [ask], input: {text: paid}}
  pay:    {type: call, needs: [note, beside], input: {to: "${output.beside.to}", text: "${output.note.text}"}}
edges: []`, "").ID)
	for _, node := range []string{"ask", "late"} {
		for _, p := range requests(t, e.Store, run.ID) {
			if p.Node == node {
				if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: p.ID, Approve: true}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	e.Until(run.ID, domain.RunCompleted, "")
	for node, want := range map[string]string{"note": "late", "beside": "ask late"} {
		fork, err := e.Act(
			t.Context(),
			enginetest.Operator,
			domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, At: settledAt(t, e, run.ID, "ask"),
				Instead: map[string]domain.Override{node: {Output: domain.RawJSON(`{"text": "x", "to": "mallory"}`)}}},
		)
		if err != nil {
			t.Fatal(err)
		}
		e.Settle(fork.ID)
		var asks []string
		for _, p := range requests(t, e.Store, fork.ID) {
			asks = append(asks, p.Node)
		}
		slices.Sort(asks)
		if got := strings.Join(asks, " "); got != want {
			t.Errorf("a stub for %s: the fork asks %q, want %q\n%s", node, got, want, e.Journal(fork.ID))
		}
	}
}

// settledAt returns the row with which a step settled.
func settledAt(t *testing.T, e *enginetest.Engine, run, node string) int64 {
	t.Helper()
	rows, err := e.Store.Journal(t.Context(), run, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Node == node && r.Final {
			return r.Seq
		}
	}
	t.Fatalf("%s has not settled", node)
	return 0
}

// A rejection stops the run, unless the step itself handles it. Nothing else of the
// plan does, and it is never retried.
func TestARejectionStops(t *testing.T) {
	t.Parallel()
	const rejected = `"rejected by marta: too much"`
	for name, tt := range map[string]struct {
		plan   string // a plan with the step "ask"
		status domain.RunStatus
		output string
		ran    string // completed steps
	}{
		"what follows does not run":        {`{nodes: {ask: {type: approval, input: {message: m}}, pay: {type: call, input: 1}}, edges: [{from: ask, to: pay}]}`, "failed", "", ""},
		"what needs it does not run":       {`{nodes: {ask: {type: approval, input: {message: m}}, pay: {type: call, needs: [ask], input: 1}}}`, "failed", "", ""},
		"defaults.on_error does not apply": {`{defaults: {on_error: continue}, nodes: {ask: {type: approval, input: {message: m}}, pay: {type: call, needs: [ask], input: 1}}}`, "failed", "", ""},
		"defaults.retry does not apply":    {`{defaults: {retry: {max_attempts: 3}}, nodes: {ask: {type: approval, input: {message: m}}}}`, "failed", "", ""},
		"its own retry does not repeat it": {`{nodes: {ask: {type: approval, input: {message: m}, retry: {max_attempts: 3}}}}`,
			"failed", "", ""},
		"continue_branches does not apply": {`{on_failure: continue_branches, nodes: {ask: {type: approval, input: {message: m}}, nap: {type: wait, input: {for: 1h}}, pay: {type: call, needs: [nap], input: 1}}}`, "failed", "", ""},
		"a step plan":                      {`{steps: [{id: ask, order: 1, tool: approval, params: {message: m}}, {id: pay, order: 2, tool: set, params: {x: 1}}]}`, "failed", "", ""},
		"cleanup runs":                     {`{nodes: {ask: {type: approval, input: {message: m}}, tidy: {type: call, needs: [ask], when: failure, input: 1}}}`, "failed", "", "tidy"},
		"an error edge handles it":         {`{nodes: {ask: {type: approval, input: {message: m}}, pay: {type: call, input: 1}, sorry: {type: call, input: "${last.error}"}}, edges: [{from: ask, to: pay}, {from: ask, to: sorry, condition: failed}]}`, "completed", rejected, "sorry"},
		"on_error of the step handles it":  {`{defaults: {on_error: fail}, nodes: {ask: {type: approval, input: {message: m}, on_error: continue}, pay: {type: call, input: 1}}, edges: [{from: ask, to: pay}]}`, "completed", "1", "ask pay"},
		"on_reject: continue hands the answer on": {`{nodes: {ask: {type: approval, input: {message: m}, on_reject: continue}, yes: {type: call, input: 1}, no: {type: call, input: "${output.ask}"}}, edges: [{from: ask, to: yes, condition: last.approved==true}, {from: ask, to: no, condition: default}]}`,
			"completed", `{"answer":"reject","approved":false,"by":"marta","comment":"too much","values":null}`, "ask no"},
		"one item of a list stops it": {`{nodes: {ask: {type: approval, foreach: input.list, input: {message: "${item}"}}, pay: {type: call, input: 1}}, edges: [{from: ask, to: pay}]}`, "failed", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := enginetest.Open(t, enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo))
			run := e.Run(tt.plan, `{"list": [1]}`)
			e.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
			p := requests(t, e.Store, run.ID)[0]
			if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: p.ID, Comment: "too much"}); err != nil {
				t.Fatal(err)
			}
			r := e.Until(run.ID, tt.status, "")
			if string(r.Output) != tt.output ||
				tt.status == "failed" &&
					(r.Error == nil || r.Error.Code != "rejected" || r.Error.Message != "rejected by marta: too much") {
				t.Errorf("got %s %+v, want %s\n%s", r.Output, r.Error, tt.output, e.Journal(run.ID))
			}
			result, err := e.Result(t.Context(), run.ID)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(result.Path)
			if got := strings.Join(result.Path, " "); strings.ReplaceAll(got, "ask ", "") != strings.ReplaceAll(tt.ran, "ask ", "") &&
				got != tt.ran {
				t.Errorf("completed %q, want %q\n%s", got, tt.ran, e.Journal(run.ID))
			}
			if n := len(requests(t, e.Store, run.ID)); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// Resuming a rejected run opens a new request, and records it before that. The earlier answer, and a
// later answer to the earlier request, never count.
func TestResumingARejectedRunRequestsApprovalAgain(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	reg := enginetest.NewRegistry().Handle("call", walk.EffectUnsafe, echo)
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	run := e.Run(
		`{nodes: {ask: {type: approval, input: {message: "Pay?"}}, pay: {type: call, input: 1}}, edges: [{from: ask, to: pay}]}`,
		"",
	)
	e.Settle(run.ID)
	first := requests(t, s, run.ID)[0]
	if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: first.ID}); err != nil {
		t.Fatal(err)
	}
	e.Until(run.ID, domain.RunFailed, "")
	e.Close()
	e = enginetest.OpenOn(t, s, reg, engine.Options{})
	pre, err := e.Preview(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionResume})
	if err != nil || len(pre.Again) != 1 || pre.Again[0].Node != "ask" || pre.Again[0].Reason.Text != domain.ReasonAskedAgain ||
		names(pre.New) != "pay" {
		t.Fatalf("preview: %+v, %v", pre, err)
	}
	if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	e.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
	list := requests(t, s, run.ID)
	if len(list) != 2 || list[0].Status != "pending" || list[0].ID == first.ID || list[1].Status != "rejected" || reg.Count("pay") != 0 {
		t.Fatalf("after the resume: %+v", list)
	}
	if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: first.ID, Approve: true}); domain.CodeOf(
		err,
	) != domain.CodeConflict {
		t.Errorf("another answer to the old request: %v", err)
	}
	if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: list[0].ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	if r := e.Until(run.ID, domain.RunCompleted, ""); reg.Count("pay") != 1 {
		t.Errorf("got %s, paid %d times", r.Output, reg.Count("pay"))
	}
}
