package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/store/storetest"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner"
)

// A planner's version of a plan in use is not current until a person accepts it. Only an author may
// replace a version that a person wrote.
func TestAPlannersVersionOfAPlanInUseWaits(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	operator, author := domain.Actor{Name: "ana", Role: domain.RoleOperator}, domain.Actor{Name: "bea", Role: domain.RoleAuthor}
	save := func(n int, origin string) (domain.Plan, domain.Version) {
		t.Helper()
		p, v, _, _, err := e.SavePlan(
			t.Context(),
			author,
			fmt.Appendf(nil, "id: p\nnodes:\n  a: {type: set, input: %d}\n", n),
			planner.FormatYAML,
			origin,
			"",
		)
		if err != nil {
			t.Fatal(err)
		}
		return p, v
	}
	if p, v := save(1, "planner"); p.Stage != domain.StageDraft || p.LatestHash != v.Hash {
		t.Fatalf("%+v", p)
	}
	p, second := save(2, "planner")
	if p.Stage != domain.StageDraft || p.LatestHash != second.Hash {
		t.Errorf("a draft follows its newest version: %+v", p)
	}
	if p, err := e.AcceptVersion(t.Context(), operator, "p", second.Hash, "good"); err != nil || p.Stage != domain.StageUsed {
		t.Fatalf("%+v %v", p, err)
	}
	p, third := save(3, "planner")
	if p.LatestHash != second.Hash || p.Latest != 2 || third.Number != 3 {
		t.Errorf("nobody accepted v3: %+v", p)
	}
	if _, v, err := e.ProposedVersion(t.Context(), "p"); err != nil || v.Hash != third.Hash {
		t.Errorf("%+v %v", v, err)
	}
	// The proposed version can be started. Other runs continue to follow v2.
	run, err := e.Start(t.Context(), operator, domain.StartRequest{Plan: "p", Hash: third.Hash})
	if err != nil || run.Version != 3 {
		t.Errorf("%+v %v", run, err)
	}
	if run, err := e.Start(t.Context(), operator, domain.StartRequest{Plan: "p"}); err != nil || run.Version != 2 {
		t.Errorf("%+v %v", run, err)
	}
	if p, err := e.AcceptVersion(t.Context(), operator, "p", third.Hash, "better"); err != nil || p.LatestHash != third.Hash ||
		p.Latest != 3 {
		t.Errorf("%+v %v", p, err)
	}
	if _, _, err := e.ProposedVersion(t.Context(), "p"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("it is accepted: %v", err)
	}
	// An operator cannot replace a version that a person wrote.
	_, fourth := save(4, "upload")
	_, fifth := save(5, "planner")
	if _, err := e.AcceptVersion(t.Context(), operator, "p", fifth.Hash, ""); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("an operator: %v", err)
	}
	if p, err := e.AcceptVersion(t.Context(), author, "p", fifth.Hash, ""); err != nil || p.LatestHash != fifth.Hash {
		t.Errorf("an author: %+v %v", p, err)
	}
	if _, err := e.AcceptVersion(t.Context(), author, "p", fourth.Hash, ""); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("what a person wrote is restored, not accepted: %v", err)
	}
	// An archived plan becomes a draft when it is planned again.
	storetest.Archive(t, e.Store, "p", true)
	if _, err := e.AcceptVersion(t.Context(), author, "p", third.Hash, ""); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("it is archived: %v", err)
	}
	if p, sixth := save(6, "planner"); p.Stage != domain.StageDraft || p.Archived || p.LatestHash != sixth.Hash {
		t.Errorf("%+v", p)
	}
}

// A form that comes from data is checked like every other schema. A recursive form fails the step.
func TestAHostileFormIsRefused(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	r := e.Settle(e.Run(`{nodes: {ask: {type: approval, input: {message: ok, form: "${input.form}"}}}}`, `{"form": {"$ref": "#"}}`).ID)
	if r.Status != domain.RunFailed || !strings.Contains(r.Error.Message, "leads back to itself") {
		t.Errorf("%s %s %+v", r.Status, r.WaitReason, r.Error)
	}
}
