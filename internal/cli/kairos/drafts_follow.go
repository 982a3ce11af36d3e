package kairos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

const (
	// draftGlance and draftGaze are the intervals of the first and of later reads of a draft. Rules
	// plan immediately, and models need time.
	draftGlance = 10 * time.Millisecond
	draftGaze   = 500 * time.Millisecond
)

// followDraft prints the progress of planning until it ends. If the command is
// interrupted, it prints how to continue.
func (c draftCommands) followDraft(ctx context.Context, b *client.Client, d domain.Draft) (domain.Draft, error) {
	shown, wait := 0, draftGlance
	for {
		for ; shown < len(d.Progress); shown++ {
			if !c.JSON {
				c.printNote(d.Progress[shown])
			}
		}
		if d.State != domain.DraftPlanning {
			return d, nil
		}
		select {
		case <-ctx.Done():
			return d, exit.With(exit.Unavailable, fmt.Errorf("interrupted\n  continue planning: %s", c.Command("drafts show %s", d.ID)))
		case <-time.After(wait):
		}
		wait = min(2*wait, draftGaze)
		next, err := b.Draft(ctx, d.ID)
		if err != nil && ctx.Err() != nil {
			continue
		}
		if err != nil {
			return d, err
		}
		d = next
	}
}

// printNote prints a progress note of planning on stderr.
func (c draftCommands) printNote(n domain.DraftNote) {
	what := map[domain.DraftPhase]string{domain.PhaseUnderstanding: "classifying the request", domain.PhaseChoosing: "choosing",
		domain.PhaseDrafting:   "drafting",
		domain.PhaseValidating: "validating", domain.PhaseStoring: "storing the plan",
		domain.PhaseInterrupted: "resumed after a crash"}[n.Phase]
	if n.Attempt > 1 {
		what += fmt.Sprintf(", attempt %d", n.Attempt)
	}
	for _, more := range []string{n.Who, n.Text} {
		if more != "" {
			what += ": " + cli.Fit(cli.FirstLine(more), 200)
		}
	}
	c.Errorf("%s\n", what)
	for _, p := range n.Problems {
		c.Errorf("  because %s\n", cli.Fit(cli.FirstLine(p.String()), 300))
	}
}

// planOf returns the plan of a draft.
func planOf(ctx context.Context, b *client.Client, d domain.Draft) (*domain.PlannerPlan, error) {
	p, err := b.Plan(ctx, d.Plan.Key)
	if err != nil {
		return nil, err
	}
	v, err := b.VersionByNumber(ctx, p.ID, d.Plan.Version)
	if err != nil {
		return nil, err
	}
	by, reason := d.By, v.Reason
	if d.Direct != "" { // this version belongs to every request that the agent answers
		reason = d.Reason
	}
	if by == "" {
		by = "direct"
	}
	return &domain.PlannerPlan{ID: p.ID, Key: p.Key, Version: v.Number, Hash: v.Hash, Name: p.Name, By: by, Found: d.Found,
		Proposed: d.Proposed, Reason: reason, Steps: d.Steps, Unsafe: d.Unsafe,
		Usage: d.Usage, Document: v.Canonical}, nil
}

// drafted is a draft, or the plan from a program's request, which has no draft.
type drafted struct {
	domain.Draft
	plan *domain.Plan // nil if there is no draft
}

// findDraft finds a draft by its id, by a unique prefix or suffix of it with at least four
// characters, or as the newest draft of a plan.
func findDraft(ctx context.Context, b *client.Client, name string) (drafted, error) {
	if len(name) == domain.IDLength {
		d, err := b.Draft(ctx, name)
		if domain.CodeOf(err) != domain.CodeNotFound {
			return drafted{Draft: d}, err
		}
	}
	list, err := b.Drafts(ctx, true, 1000)
	if err != nil {
		return drafted{}, err
	}
	var found []domain.Draft
	for _, d := range list {
		if len(name) >= 4 && (strings.HasPrefix(d.ID, name) || strings.HasSuffix(d.ID, name)) {
			found = append(found, d)
		}
	}
	if len(found) > 1 {
		return drafted{}, domain.Errorf(domain.CodeInvalid, "%d drafts match %q", len(found), name).
			Suggest("use more characters of the id; list drafts: kairos drafts")
	}
	p, planErr := b.Plan(ctx, name)
	if planErr == nil && len(found) == 0 {
		of := func(d domain.Draft) bool { return d.Plan.Key == p.Key }
		for _, is := range []func(d domain.Draft) bool{ // a draft that waits for a person comes first
			func(d domain.Draft) bool { return of(d) && d.State.Open() && d.Proposed },
			func(d domain.Draft) bool { return of(d) && d.State.Open() }, of,
		} {
			if i := slices.IndexFunc(list, is); i >= 0 && len(found) == 0 {
				found = append(found, list[i])
			}
		}
	}
	switch {
	case len(found) == 1:
		return drafted{Draft: found[0]}, nil
	case planErr == nil && p.Stage == domain.StageDraft:
		return drafted{plan: &p}, nil
	case planErr == nil:
		return drafted{}, domain.Errorf(domain.CodeConflict, "%s is not a draft: it was accepted", p.Key).
			Suggest("list drafts: kairos drafts; print this plan: kairos plans show %s", p.Key)
	case domain.CodeOf(planErr) != domain.CodeNotFound:
		return drafted{}, planErr
	}
	return drafted{}, domain.Errorf(domain.CodeNotFound, "draft %q not found", name).Suggest("list drafts: kairos drafts")
}
