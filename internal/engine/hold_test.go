package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// restoredDatabase returns a database that was copied while its runs were inside a node, and
// restored after the runs had continued. The anchor is ahead of it.
func restoredDatabase(t *testing.T, reg *enginetest.Registry, plans ...string) (path string, ids []string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "kairos.db")
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	for _, p := range plans {
		ids = append(ids, e.Run(p, "1").ID)
	}
	for range len(plans) {
		<-inside
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := recovery.CopyTo(t.Context(), s, copied); err != nil {
		t.Fatal(err)
	}
	for range len(plans) {
		goOn <- struct{}{}
	}
	for _, id := range ids {
		e.Until(id, domain.RunCompleted, "")
	}
	e.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(copied)
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path, ids
}

var inside, goOn = make(chan struct{}), make(chan struct{})

// G15: After a rollback, nothing is executed until an operator releases the runs. Interrupted steps
// are settled by their side-effect class.
func TestNothingRunsInARestoredDatabase(t *testing.T) { // not parallel, because it shares inside and goOn
	gate := true
	wait := func(ctx context.Context, c *engine.Call) (engine.Result, error) {
		if gate {
			inside <- struct{}{}
			<-goOn
		}
		return echo(ctx, c)
	}
	reg := enginetest.NewRegistry().Handle("read", walk.EffectRead, echo).Handle("safe", walk.EffectIdempotent, wait).
		Handle("unsafe", walk.EffectUnsafe, wait)
	plan := func(typ string) string {
		return `{id: "held-` + typ + `", nodes: {before: {type: read}, doing: {type: ` + typ + `}, after: {type: set, input: done}},
edges: [{from: before, to: doing}, {from: doing, to: after}]}`
	}
	path, ids := restoredDatabase(t, reg, plan("safe"), plan("unsafe"))
	gate = false
	calls := len(reg.Calls())

	s := storetest.OpenAt(t, path)
	h, err := s.Hold(t.Context())
	if err != nil || h == nil || h.Reason != domain.HoldRolledBack || h.Held != 2 || h.Lost <= h.Last {
		t.Fatalf("hold: %+v, %v", h, err)
	}
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	for _, id := range ids {
		e.Until(id, domain.RunWaiting, domain.WaitHeld)
	}
	fresh := e.Run(plan("safe"), "1")
	if fresh.Status != domain.RunWaiting || fresh.WaitReason != domain.WaitHeld {
		t.Errorf("a run started during a hold is %s %s", fresh.Status, fresh.WaitReason)
	}
	// Runs are released one by one.
	if _, err := e.Do(fresh.ID, domain.ActionRelease); err != nil {
		t.Fatal(err)
	}
	e.Until(fresh.ID, domain.RunCompleted, "")
	if got := len(reg.Calls()) - calls; got != 2 {
		t.Errorf("%d calls after the release of one run of two nodes", got)
	}
	viewer := domain.Actor{Name: "eva", Role: domain.RoleViewer}
	if _, err := e.ReleaseHeld(t.Context(), viewer, "", ""); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("a viewer releases: %v", err)
	}
	// Runs are released by plan. The hold remains.
	if n, err := e.ReleaseHeld(t.Context(), enginetest.Operator, "held-unsafe", "looked at it"); err != nil || n != 1 {
		t.Fatalf("released %d of a plan, %v", n, err)
	}
	if h, err := s.Hold(t.Context()); err != nil || h == nil {
		t.Errorf("the hold has ended: %v", err)
	}
	// All runs are released at once.
	if n, err := e.ReleaseHeld(t.Context(), enginetest.Operator, "", "looked at it"); err != nil || n != 1 {
		t.Fatalf("released %d, %v", n, err)
	}
	r := e.Until(ids[0], domain.RunCompleted, "")
	if r.Crashes != 0 || string(r.Output) != `"done"` {
		t.Errorf("the idempotent run: %s with %d crashes\n%s", r.Output, r.Crashes, e.Journal(ids[0]))
	}
	e.Until(ids[1], domain.RunWaiting, domain.WaitInDoubt)
	if h, err := s.Hold(t.Context()); err != nil || h != nil {
		t.Errorf("the hold goes on: %+v, %v", h, err)
	}
	if n, err := e.ReleaseHeld(t.Context(), enginetest.Operator, "", ""); n != 0 || err != nil {
		t.Errorf("releasing nothing: %v", err)
	}
	e.Until(e.Run(plan("safe"), "1").ID, domain.RunCompleted, "")
	if report, err := s.VerifyAudit(t.Context()); err != nil || len(report.Problems) > 0 {
		t.Errorf("audit: %+v, %v", report, err)
	}
	counts, err := s.RunCounts(t.Context())
	if err != nil || counts.ByStatus[domain.RunWaiting] != 1 || counts.ByStatus[domain.RunCompleted] != 3 || counts.Total != 4 {
		t.Errorf("counts: %+v, %v", counts, err)
	}
}

// In safe mode, runs are kept and actions on them work, but nothing is executed.
func TestSafeModeExecutesNothing(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	reg := enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo)
	e := enginetest.OpenOn(t, s, reg, engine.Options{Safe: true})
	v := e.Save(`{nodes: {a: {type: call}}}`)
	kept, unwanted := e.Begin(v, "1"), e.Begin(v, "1")
	if kept.Status != domain.RunQueued {
		t.Fatalf("a new run is %s", kept.Status)
	}
	if _, err := e.Do(unwanted.ID, domain.ActionCancel); err != nil {
		t.Fatal(err)
	}
	e.Until(unwanted.ID, domain.RunCancelled, "")
	e.Close()
	if n := len(reg.Calls()); n != 0 {
		t.Errorf("%d calls in safe mode", n)
	}
	e = enginetest.OpenOn(t, s, reg, engine.Options{})
	if r := e.Until(kept.ID, domain.RunCompleted, ""); r.Crashes != 0 {
		t.Errorf("safe mode counts as a crash: %d", r.Crashes)
	}
}
