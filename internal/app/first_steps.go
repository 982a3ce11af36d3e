package app

import (
	"context"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
)

// FirstSteps contains the operations on the checklist of a new server. The list completes
// automatically.
type FirstSteps struct{ *kernel }

// FirstStep identifies an entry of the list.
type FirstStep string

// First steps, in order.
const (
	FirstRun      FirstStep = "run"      // a run has completed
	FirstDecision FirstStep = "decision" // a person has decided an approval request
	FirstResume   FirstStep = "resume"   // a person has resumed a run
	FirstDemo     FirstStep = "demo"     // a demonstration has completed
	FirstModel    FirstStep = "model"    // a provider other than offline is configured
)

// StepState is an entry of the list, and whether it is done.
type StepState struct {
	Step FirstStep
	Done bool
}

// dismissed is the preference that hides the list.
const dismissed = "first-steps"

// Get returns the list for a principal. It returns nil if every step is done, or if the principal
// dismissed the list. The list is not stored: each entry is derived from runs, the audit log, and
// the configuration.
//
// Errors: forbidden.
func (f *FirstSteps) Get(ctx context.Context, by domain.Actor) ([]StepState, error) {
	if err := f.allow(ctx, GetMe, by, ""); err != nil {
		return nil, err
	}
	if v, err := f.store.Preference(ctx, by.Name, dismissed); err != nil || v != "" {
		return nil, err
	}
	var list []StepState
	for _, s := range []struct {
		step FirstStep
		done func(context.Context) (bool, error)
	}{
		{FirstRun, f.completedRun}, {FirstDecision, f.recorded("approval.decide")}, {FirstResume, f.recorded("run.resume")},
		{FirstDemo, f.recorded("demo.completed")}, {FirstModel, f.model},
	} {
		done, err := s.done(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, StepState{s.step, done})
	}
	if !slices.ContainsFunc(list, func(s StepState) bool { return !s.Done }) {
		return nil, nil
	}
	return list, nil
}

func (f *FirstSteps) completedRun(ctx context.Context) (bool, error) {
	runs, err := f.store.Runs(ctx, domain.RunFilter{Statuses: []domain.RunStatus{domain.RunCompleted}, Page: domain.Page{Limit: 1}})
	return len(runs.Items) > 0, err
}

// recorded searches the audit log for an action.
func (f *FirstSteps) recorded(action string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		events, err := f.store.AuditEvents(ctx, domain.AuditFilter{Action: action, Result: "ok", Page: domain.Page{Limit: 1}})
		return len(events.Items) > 0, err
	}
}

func (f *FirstSteps) model(ctx context.Context) (bool, error) {
	list, err := f.tools().Providers(ctx)
	return slices.ContainsFunc(list, func(p domain.ProviderInfo) bool { return p.Type != "offline" }), err
}

// Dismiss hides the list from the principal.
//
// Errors: forbidden.
func (f *FirstSteps) Dismiss(ctx context.Context, m Meta) error {
	return (&Preferences{f.kernel}).Set(ctx, Preference{Meta: m, Key: dismissed, Value: "dismissed"})
}
