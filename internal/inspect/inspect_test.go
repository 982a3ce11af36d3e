package inspect_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// order is a plan that reads, requests an approval, pays, and reports.
const order = `{nodes: {fetch: {type: fetch}, ask: {type: approval, input: {message: "Pay 70 EUR?"}}, pay: {type: pay}, report: {type: report}},
  edges: [{from: fetch, to: ask}, {from: ask, to: pay}, {from: pay, to: report}]}`

// registry has handlers for the steps of an order. The step pay returns the given error, or nil.
func registry(pay error) *enginetest.Registry {
	return enginetest.NewRegistry().
		Handle("fetch", walk.EffectRead, func(context.Context, *engine.Call) (engine.Result, error) {
			return engine.Result{Output: "order 4711"}, nil
		}).
		Handle("pay", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
			return engine.Result{Output: "paid"}, pay
		}).
		Handle("report", walk.EffectPure, func(context.Context, *engine.Call) (engine.Result, error) {
			return engine.Result{Output: "done"}, nil
		})
}

func names(steps []domain.PreviewStep) []string {
	out := []string{}
	for _, s := range steps {
		out = append(out, s.Node)
	}
	slices.Sort(out)
	return out
}

// same fails the test if two lists differ.
func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// decide answers the pending approval of a run, and returns the run when it has ended.
func decide(t *testing.T, e *enginetest.Engine, run string, approve bool) domain.Run {
	t.Helper()
	a := approvalOf(t, e, run)
	_, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: a.ID, Approve: approve, Digest: a.Digest})
	if err != nil {
		t.Fatal(err)
	}
	return e.Settle(run)
}

// approvalOf returns the pending approval of a run.
func approvalOf(t *testing.T, e *enginetest.Engine, run string) domain.Approval {
	t.Helper()
	list, err := e.Store.Approvals(t.Context(), domain.ApprovalFilter{Run: run, Status: "pending"})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d open approvals: %v", len(list.Items), err)
	}
	return list.Items[0]
}

// An operator sees what a run waits for, and the steps and side effects that would follow each
// answer.
func TestAWaitingRun(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, registry(nil))
	run := e.Until(e.Run(order, "").ID, domain.RunWaiting, domain.WaitApproval)
	d, err := e.Detail(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Waits) != 1 || d.Waits[0].Node != "ask" || d.Waits[0].Message != "Pay 70 EUR?" {
		t.Errorf("it waits for %+v", d.Waits)
	}
	if last := d.Journal[len(d.Journal)-1].Seq; last != d.Run.LastSeq {
		t.Errorf("the journal ends at row %d, the run at %d", last, d.Run.LastSeq)
	}
	answers, err := e.Prediction(t.Context(), approvalOf(t, e, run.ID).ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		switch a.Answer {
		case "approve":
			same(t, "next after an approval", names(a.Next), "pay")
			same(t, "side effects after an approval", names(a.Effects), "pay")
		case "reject":
			if a.Ends != domain.RunFailed {
				t.Errorf("a rejection ends the run as %q", a.Ends)
			}
		}
	}
	if len(answers) < 2 {
		t.Errorf("only %d answers: %+v", len(answers), answers)
	}
}

// The preview of a resume names the steps that keep their result, those that run again, and those
// that run for the first time. It changes nothing.
func TestThePreviewOfAResume(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, registry(&domain.Failure{Code: "card_declined", Message: "The card was declined.", Permanent: true}))
	run := decide(t, e, e.Until(e.Run(order, "").ID, domain.RunWaiting, domain.WaitApproval).ID, true)
	if run.Status != domain.RunFailed {
		t.Fatalf("the run has the status %s", run.Status)
	}
	before := e.Journal(run.ID)
	d, resume, err := e.Look(t.Context(), enginetest.Operator, run.ID)
	if err != nil || resume == nil {
		t.Fatal(err)
	}
	if d.Run.ID != run.ID || len(d.Waits) != 0 {
		t.Errorf("a failed run waits for %+v", d.Waits)
	}
	p, err := resume()
	if err != nil || !p.Allowed {
		t.Fatalf("%+v: %v", p.Refusal, err)
	}
	same(t, "kept", names(p.Keep), "ask", "fetch")
	same(t, "again", names(p.Again), "pay")
	same(t, "new", names(p.New), "report")
	same(t, "side effects", names(p.Effects), "pay")
	asked, err := e.Preview(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionResume})
	if err != nil || asked.Digest != p.Digest {
		t.Errorf("requested separately, the preview has another digest: %v", err)
	}
	if after := e.Journal(run.ID); after != before {
		t.Errorf("a preview changed the journal:\n%s", after)
	}
}

// The preview of resuming a completed run contains the reason why that is not possible.
func TestThePreviewOfWhatIsNotAllowed(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, registry(nil))
	run := decide(t, e, e.Until(e.Run(order, "").ID, domain.RunWaiting, domain.WaitApproval).ID, true)
	p, err := e.Preview(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionResume})
	if err != nil || p.Allowed || p.Refusal.IsZero() {
		t.Errorf("%+v, %v", p, err)
	}
}

// For a run with a damaged journal, every row before the damage is shown, with the checkpoint from
// which a fork can continue. The run cannot be resumed.
func TestADamagedRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := enginetest.OpenOn(t, s, registry(nil), engine.Options{})
	run := decide(t, e, e.Until(e.Run(order, "").ID, domain.RunWaiting, domain.WaitApproval).ID, true)
	e.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	storetest.Turn(t, path, "order 4711")
	e = enginetest.OpenOn(t, storetest.OpenAt(t, path), registry(nil), engine.Options{})
	d, resume, err := e.Look(t.Context(), enginetest.Operator, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if d.Damage == nil || d.Damage.Row != d.Damage.Good+1 || d.Damage.Message == "" || resume != nil {
		t.Fatalf("damage: %+v", d.Damage)
	}
	if n := int64(len(d.Journal)); n != d.Damage.Good {
		t.Errorf("%d rows are shown, and %d can be trusted", n, d.Damage.Good)
	}
	if _, err := e.View(t.Context(), run.ID); domain.CodeOf(err) != domain.CodeCorrupt {
		t.Errorf("folding the whole journal: %v", err)
	}
}

// A missing run is CodeNotFound.
func TestAMissingRun(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, registry(nil))
	_, err := e.Detail(t.Context(), "01jr8k2mf0s0000000007qx2")
	if domain.CodeOf(err) != domain.CodeNotFound {
		t.Error(err)
	}
	if _, err := e.Result(t.Context(), "01jr8k2mf0s0000000007qx2"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Error(err)
	}
}
