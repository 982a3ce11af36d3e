package webtest

import (
	"context"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
)

// Furnishing is what an installation offers besides plans and runs.
type Furnishing interface {
	Approvals(ctx context.Context, f kairos.ApprovalFilter) (kairos.List[kairos.Approval], error)
	StartDraft(ctx context.Context, actor kairos.Actor, r kairos.DraftRequest) (kairos.Draft, error)
	Draft(ctx context.Context, id string) (kairos.Draft, error)
	ChangeToolCircuit(ctx context.Context, actor kairos.Actor, name string, c kairos.CircuitChange) error
	StartBulk(ctx context.Context, actor kairos.Actor, r kairos.BulkRequest) (kairos.Bulk, error)
}

// furnished is a site as a Furnishing.
type furnished struct{ *Site }

func (f furnished) Approvals(ctx context.Context, filter kairos.ApprovalFilter) (kairos.List[kairos.Approval], error) {
	return f.Store.Approvals(ctx, filter)
}
func (f furnished) StartDraft(ctx context.Context, actor kairos.Actor, r kairos.DraftRequest) (kairos.Draft, error) {
	return f.Drafts.Start(ctx, actor, r)
}
func (f furnished) Draft(ctx context.Context, id string) (kairos.Draft, error) {
	return f.Drafts.Draft(ctx, id)
}
func (f furnished) ChangeToolCircuit(ctx context.Context, actor kairos.Actor, name string, c kairos.CircuitChange) error {
	return f.Tools.ChangeToolCircuit(ctx, actor, name, c)
}
func (f furnished) StartBulk(ctx context.Context, actor kairos.Actor, r kairos.BulkRequest) (kairos.Bulk, error) {
	return f.Bulk.Start(ctx, actor, r)
}

// Furnish adds to a seed what only some pages show: a draft, acts on many runs, an
// open circuit, an approval by its address.
func (s *Site) Furnish(tb testing.TB, d Seeded) Seeded {
	tb.Helper()
	return Furnish(tb, furnished{s}, s.Admin, d)
}

// Furnish adds to a seed what only some pages show.
func Furnish(tb testing.TB, on Furnishing, admin kairos.Actor, d Seeded) Seeded {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	open, err := on.Approvals(ctx, kairos.ApprovalFilter{Run: d.Waiting.ID})
	if err != nil || len(open.Items) != 1 {
		tb.Fatalf("approvals: %+v %v", open, err)
	}
	d.Approval = open.Items[0].ID
	draft, err := on.StartDraft(ctx, admin, kairos.DraftRequest{Query: "collect the figures " + Hostile})
	if err != nil {
		tb.Fatal(err)
	}
	for draft.State == kairos.DraftPlanning {
		select {
		case <-ctx.Done():
			tb.Fatalf("a draft is not done: %+v", draft)
		case <-time.After(10 * time.Millisecond):
		}
		if draft, err = on.Draft(ctx, draft.ID); err != nil {
			tb.Fatal(err)
		}
	}
	d.Draft = draft.ID
	act, err := on.StartBulk(ctx, admin, kairos.BulkRequest{Action: kairos.ActionLabel, Query: "plan:report", Labels: map[string]string{"team": "books"}, Reason: Hostile})
	if err != nil {
		tb.Fatal(err)
	}
	d.Bulk = act.ID
	// The host that the ledger's runs failed at rests, and an act waits for it.
	if err := on.ChangeToolCircuit(ctx, admin, "http", kairos.CircuitChange{Part: refusing, Open: true, For: kairos.MaxCircuitFor, Reason: Hostile}); err != nil {
		tb.Fatal(err)
	}
	if act, err = on.StartBulk(ctx, admin, kairos.BulkRequest{Action: kairos.ActionResume, Query: "status:failed plan:ledger", Canary: true, Tool: kairos.CircuitName("http", refusing), Reason: "when it is up again"}); err != nil {
		tb.Fatal(err)
	}
	d.Waiter = act.ID
	return d
}

// refusing is a host where nobody listens: the ledger's runs fail at it.
const refusing = "127.0.0.1:9"

// furniture are the pages of what Furnish added.
func (d Seeded) furniture() []string {
	if d.Draft == "" {
		return nil
	}
	return []string{"/approvals/" + d.Approval, "/approvals/" + d.Approval + "/assign", "/plans/drafts/" + d.Draft, "/bulk/" + d.Bulk, "/bulk/" + d.Waiter, "/agents/tools/http/circuit?do=close&part=" + refusing}
}
