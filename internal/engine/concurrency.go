package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// applyPlan adds what the plan sets for its runs: labels that the request does not have, and the
// concurrency rule.
func (s *starter) applyPlan(ctx context.Context, p *runstate.Compiled, n *domain.NewRun) error {
	input, err := runstate.Decode(n.Input)
	if err != nil {
		return domain.Errorf(domain.CodeInvalid, "input: %w", err)
	}
	if n.Labels, err = LabelsOf(p, input, n.Labels); err != nil {
		return err
	}
	rule, err := ruleOf(p, input)
	if err != nil {
		return err
	}
	switch {
	case rule == nil || n.Origin == domain.OriginDry:
	case n.Claim != nil: // of a schedule: the rule of the plan replaces overlap
		if n.Claim.From.IsZero() {
			rule.OnConflict = string(walk.ConflictQueue) // runs of a backfill wait for each other
		}
		n.Concurrency = rule
	case n.Concurrency == nil:
		n.Concurrency = rule
	}
	if n.Concurrency == nil || n.Concurrency.Key == "" {
		return nil
	}
	if n.Concurrency, err = checkConcurrency(*n.Concurrency); err != nil || n.Parent == nil {
		return err
	}
	shared, err := s.sharesKey(ctx, *n.Parent, n.Concurrency.Key)
	if shared {
		n.Concurrency = nil
	}
	return err
}

// LabelsOf returns the labels of a new run: those of its plan, and the given ones.
func LabelsOf(p *runstate.Compiled, input any, given map[string]string) (map[string]string, error) {
	labels, failure := p.RunLabels(input)
	if failure != nil {
		return given, startError("labels", failure)
	}
	if len(labels) == 0 {
		return given, nil
	}
	maps.Copy(labels, given)
	return labels, domain.CheckLabels(labels)
}

// startError is the error of a setting of the plan that refers to something that the input does not have.
func startError(setting string, f *walk.Failure) error {
	return domain.Errorf(domain.CodeInvalid, "%s of the plan: %w", setting, f).
		Suggest("give the input this value, or add a default with ?? to the reference")
}

// ruleOf returns the concurrency rule of a plan for an input, or nil.
func ruleOf(p *runstate.Compiled, input any) (*domain.Concurrency, error) {
	c := p.Start.Concurrency
	if c == nil {
		return nil, nil
	}
	key, failure := p.ConcurrencyKey(input)
	if failure != nil {
		return nil, startError("concurrency", failure)
	}
	if key == "" {
		return nil, domain.Errorf(domain.CodeInvalid, "the concurrency key of the plan is empty for this input")
	}
	return &domain.Concurrency{Key: key, Limit: c.Limit, OnConflict: string(c.OnConflict)}, nil
}

// ChildConcurrency returns the concurrency rule of a child run, or nil. A child run with the key of an ancestor has none, because it would
// wait for its own parent.
func ChildConcurrency(p *runstate.Compiled, input any, origin string, ancestors []string) (*domain.Concurrency, error) {
	rule, err := ruleOf(p, input)
	if err != nil || rule == nil || origin == domain.OriginDry {
		return nil, err
	}
	if rule, err = checkConcurrency(*rule); err != nil || slices.Contains(ancestors, rule.Key) {
		return nil, err
	}
	return rule, nil
}

// maxConcurrencyKey is the maximum length of a concurrency key in bytes.
const maxConcurrencyKey = 256

func checkConcurrency(c domain.Concurrency) (*domain.Concurrency, error) {
	c.OnConflict = cmp.Or(c.OnConflict, string(walk.ConflictQueue))
	switch {
	case !walk.OnConflict(c.OnConflict).Valid():
		return nil, domain.Errorf(domain.CodeInvalid, "unknown onConflict %q: use queue, skip, or cancel_oldest", c.OnConflict)
	case len(c.Key) > maxConcurrencyKey:
		return nil, domain.Errorf(domain.CodeInvalid, "the concurrency key has more than %d bytes", maxConcurrencyKey)
	}
	c.Limit, c.Cancels = max(c.Limit, 1), nil
	return &c, nil
}

// sharesKey reports whether a run or one of its ancestors has a concurrency key. A child run with the
// same key would wait for its own parent.
func (s *starter) sharesKey(ctx context.Context, parent domain.ParentRef, key string) (bool, error) {
	for range maxRecursion + 1 {
		r, err := s.e.store.Run(ctx, parent.Run)
		if err != nil || concurrencyKey(&r) == key {
			return err == nil, err
		}
		if r.Parent == nil {
			return false, nil
		}
		parent = *r.Parent
	}
	return false, nil
}

// cancelReplaced cancels the runs that a new run replaces. The new run, which waits for them, names
// them, so that a restart continues here.
func (s *starter) cancelReplaced(ctx context.Context, run *domain.Run) {
	if run.Concurrency == nil {
		return
	}
	for _, id := range run.Concurrency.Cancels {
		req := domain.ActionRequest{Run: id, Action: domain.ActionCancel,
			Reason: "a newer run with concurrency key " + run.Concurrency.Key + " was started"}
		if s.remote.Remote != nil {
			s.e.background(func() { s.replaced(run.ID, id, s.remote.cancelFor(s.e.base, req)) })
			continue
		}
		m := actionMsg{domain.System, req, newReply[done]()}
		_, err := askRun(ctx, s.e, id, m, m.reply)
		s.replaced(run.ID, id, err)
	}
}

// replaced handles the result of the cancel of a run that another one replaces.
func (s *starter) replaced(by, id string, err error) {
	{
		switch domain.CodeOf(err) {
		case "", domain.CodeConflict, domain.CodeUnavailable:
		default:
			s.e.log.Warn("a run that another one replaces cannot be cancelled", "run_id", id, "by", by, "err", err)
		}
	}
}
