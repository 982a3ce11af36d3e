package storetest

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
)

// noSignals has no signals, because no plan of the model's tests waits for one.
type noSignals struct{}

func (noSignals) Signal(_ context.Context, id string) (domain.Signal, error) {
	return domain.Signal{}, domain.Errorf(domain.CodeNotFound, "signal %q not found", id)
}

func (noSignals) Matchable(context.Context, string, string, int) ([]domain.Signal, []domain.SignalWait, error) {
	return nil, nil, nil
}

func (noSignals) MatchableNames(context.Context) ([]domain.Signal, error) { return nil, nil }

func (noSignals) Delivered(context.Context, string, domain.SignalWait) (bool, error) {
	return false, nil
}

func (noSignals) Matched(context.Context) ([]domain.SignalWait, error) { return nil, nil }

func (noSignals) MatchWait(context.Context, string, string) error { return nil }

func (noSignals) DropWait(context.Context, string) error { return nil }
