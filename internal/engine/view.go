package engine

import (
	"context"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
)

// view is the run as its runner has it, which may be ahead of what is stored.
func (a *runner) view(ctx context.Context) (*preview.View, error) {
	journal, err := a.journal(ctx)
	if err != nil {
		return nil, err
	}
	input, err := runstate.Decode(a.run.Input)
	if err != nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "input of run %s: %w", a.id, err)
	}
	s, err := a.e.Fold(ctx, a.prog, a.run, input, journal, true)
	if err != nil {
		return nil, err
	}
	return &preview.View{Env: &a.e.env, Run: a.run, Program: a.prog, Journal: journal, State: s}, nil
}

// journal is the run's journal as its runner has it: what is stored, what is on its
// way there, and what is being put together.
func (a *runner) journal(ctx context.Context) ([]domain.Entry, error) {
	journal, err := a.e.store.Journal(ctx, a.id, 0)
	if err != nil {
		return nil, err
	}
	last := int64(len(journal))
	for _, c := range append(slices.Clone(a.pipe.inflight), a.pipe.next) {
		for _, e := range c.Entries {
			if e.Seq > last {
				journal, last = append(journal, e), e.Seq
			}
		}
	}
	return journal, nil
}
