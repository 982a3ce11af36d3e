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

// What a planner makes of a plan in use is not current before a person accepts it,
// and in the place of what a person wrote only an author puts it.
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
	// A run of it may be started; others continue to follow v2.
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
	// What a person wrote, an operator does not replace.
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
	// A plan that was put away is a draft again when it is planned again.
	storetest.Archive(t, e.Store, "p", true)
	if _, err := e.AcceptVersion(t.Context(), author, "p", third.Hash, ""); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("it is archived: %v", err)
	}
	if p, sixth := save(6, "planner"); p.Stage != domain.StageDraft || p.Archived || p.LatestHash != sixth.Hash {
		t.Errorf("%+v", p)
	}
}

// A form that comes from data passes the guards of every other schema: one that
// leads back to itself fails the step and is never filled in.
func TestAHostileFormIsRefused(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	r := e.Settle(e.Run(`{nodes: {ask: {type: approval, input: {message: ok, form: "${input.form}"}}}}`, `{"form": {"$ref": "#"}}`).ID)
	if r.Status != domain.RunFailed || !strings.Contains(r.Error.Message, "leads back to itself") {
		t.Errorf("%s %s %+v", r.Status, r.WaitReason, r.Error)
	}
}
