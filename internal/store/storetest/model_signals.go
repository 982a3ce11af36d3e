package storetest

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
)

// The model has no signals, because no plan of its tests waits for one.

func (m *Model) Signal(_ context.Context, id string) (domain.Signal, error) {
	return domain.Signal{}, domain.Errorf(domain.CodeNotFound, "signal %q not found", id)
}

func (m *Model) Matchable(context.Context, string, string, int) ([]domain.Signal, []domain.SignalWait, error) {
	return nil, nil, nil
}

func (m *Model) MatchableNames(context.Context) ([]domain.Signal, error) { return nil, nil }

func (m *Model) Delivered(context.Context, string, domain.SignalWait) (bool, error) {
	return false, nil
}

func (m *Model) DropWait(context.Context, string) error { return nil }
