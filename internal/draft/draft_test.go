package draft_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/draft"
)

// fakePlanner is a planner that returns when the test permits, and an engine that records announcements.
type fakePlanner struct {
	answer func(ctx context.Context, r domain.AskRequest) (domain.PlannerAnswer, error)

	mu        sync.Mutex
	requests  []domain.AskRequest
	announced chan struct{}
}

func (d *fakePlanner) Ask(ctx context.Context, _ domain.Actor, r domain.AskRequest) (domain.PlannerAnswer, error) {
	d.mu.Lock()
	d.requests = append(d.requests, r)
	d.mu.Unlock()
	r.OnProgress(domain.DraftNote{Phase: domain.PhaseUnderstanding, Who: "complex"})
	return d.answer(ctx, r)
}
func (d *fakePlanner) Planners() []string      { return []string{"a", "b"} }
func (d *fakePlanner) Outline([]byte) []string { return nil }
func (d *fakePlanner) Announce(string, map[string]any) {
	select {
	case d.announced <- struct{}{}:
	default:
	}
}

var marta = domain.Actor{Name: "marta", Role: domain.RoleOperator, Source: "ui"}

func planned(context.Context, domain.AskRequest) (domain.PlannerAnswer, error) {
	return domain.PlannerAnswer{Plan: &domain.PlannerPlan{Key: "p", Version: 1, Hash: "h", By: "rules"}}, nil
}

// hang plans until the process ends.
func hang(ctx context.Context, _ domain.AskRequest) (domain.PlannerAnswer, error) {
	<-ctx.Done()
	return domain.PlannerAnswer{}, ctx.Err()
}

func open(t *testing.T, w *apptest.World, d *fakePlanner) apptest.Drafts {
	t.Helper()
	d.announced = make(chan struct{}, 1)
	service := draft.New(draft.Config{Store: w.Store, Planner: d, Engine: d})
	if err := service.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	return apptest.DraftsOn(w.Config, service)
}

func begin(t *testing.T, s apptest.Drafts, r domain.DraftRequest) domain.Draft {
	t.Helper()
	d, err := s.Start(t.Context(), marta, r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func read(t *testing.T, w *apptest.World, id string) domain.Draft {
	t.Helper()
	d, err := w.Store.Draft(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func phases(d domain.Draft) []domain.DraftPhase {
	var out []domain.DraftPhase
	for _, n := range d.Progress {
		out = append(out, n.Phase)
	}
	return out
}

// The process may end three times during planning. The next one continues, and reports that. Then
// the draft fails.
func TestADraftContinuesAfterARestart(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	hung := &fakePlanner{answer: hang}
	first := open(t, w, hung)
	d := begin(t, first, domain.DraftRequest{Query: " collect the figures "})
	<-hung.announced // planning has started
	first.Close()
	if got := read(t, w, d.ID); got.State != domain.DraftPlanning || got.Begun != 1 || got.Query != "collect the figures" {
		t.Fatalf("after the first process: %+v", got)
	}
	second := open(t, w, &fakePlanner{answer: planned})
	second.Finish(t)
	got := read(t, w, d.ID)
	if got.State != domain.DraftReady || got.Begun != 2 || got.Plan.Key != "p" ||
		!slices.Equal(phases(got), []domain.DraftPhase{domain.PhaseUnderstanding, domain.PhaseInterrupted, domain.PhaseUnderstanding}) {
		t.Errorf("after the second process: %+v", got)
	}
	hung = &fakePlanner{answer: hang}
	third := open(t, w, hung)
	d = begin(t, third, domain.DraftRequest{Query: "collect"})
	for range domain.MaxDraftBegun {
		<-hung.announced
		third.Close()
		hung = &fakePlanner{answer: hang}
		third = open(t, w, hung)
	}
	third.Finish(t)
	if got = read(t, w, d.ID); got.State != domain.DraftFailed || got.Error == nil || got.Error.Code != "interrupted" ||
		len(hung.requests) != 0 {
		t.Errorf("after too many processes: %+v", got)
	}
}

// A discarded draft is not planned any further, and cannot be accepted. Refining it creates
// another draft.
func TestADraftIsDiscarded(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	hung := &fakePlanner{answer: hang}
	service := open(t, w, hung)
	d := begin(t, service, domain.DraftRequest{Query: "collect"})
	<-hung.announced
	if _, err := service.Refine(t.Context(), marta, d.ID, domain.DraftRequest{Change: "more"}); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("refining what is being planned: %v", err)
	}
	if _, err := service.Accept(t.Context(), marta, d.ID, domain.DraftAcceptance{}); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("accepting what is being planned: %v", err)
	}
	if got, err := service.Discard(t.Context(), marta, d.ID, "changed my mind"); err != nil || got.State != domain.DraftDiscarded {
		t.Fatalf("%+v %v", got, err)
	}
	service.Finish(t) // planning ends with it
	if got := read(t, w, d.ID); got.State != domain.DraftDiscarded {
		t.Errorf("%+v", got)
	}
}

// A refinement keeps the request, and adds what should be different.
func TestADraftIsRefined(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	no := &fakePlanner{answer: func(context.Context, domain.AskRequest) (domain.PlannerAnswer, error) {
		return domain.PlannerAnswer{
				Model: "a/m",
			}, &domain.Error{
				Code:    domain.CodeInvalid,
				Message: "no",
				Cause:   &domain.PlanError{Code: "NO_VALID_PLAN", Message: "no plan", Answer: "{"},
			}
	}}
	service := open(t, w, no)
	d := begin(t, service, domain.DraftRequest{Query: "collect", Provider: "a", Constraints: domain.Constraints{MaxSteps: 2}})
	service.Finish(t)
	if got := read(t, w, d.ID); got.State != domain.DraftFailed || got.Error.Answer != "{" || got.Model != "a/m" {
		t.Fatalf("%+v", got)
	}
	service = open(t, w, no)
	for i, r := range []domain.DraftRequest{{Change: "first"}, {Provider: "b", Change: "second"}} {
		next, err := service.Refine(t.Context(), marta, d.ID, r)
		if err != nil {
			t.Fatal(err)
		}
		if next.Revision != i+2 || next.Parent != d.ID || next.Provider != r.Provider || !next.Fresh || next.Constraints.MaxSteps != 2 {
			t.Errorf("%+v", next)
		}
		service.Finish(t)
		service = open(t, w, no)
		d = next
	}
	if d.Change != "first\nsecond" || d.Query != "collect" {
		t.Errorf("%+v", d)
	}
	if _, err := service.Refine(t.Context(), marta, d.ID, domain.DraftRequest{Provider: "c"}); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("an unknown provider: %v", err)
	}
	for _, r := range []domain.DraftRequest{{}, {Query: "x", Provider: "c"}} {
		if _, err := service.Start(t.Context(), marta, r); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, err := service.Start(t.Context(), domain.Actor{Role: domain.RoleViewer}, domain.DraftRequest{Query: "x"}); domain.CodeOf(
		err,
	) != domain.CodeForbidden {
		t.Errorf("a viewer: %v", err)
	}
}
