package engine

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
)

// Forecast predicts for each answer that an open approval allows where it leads; see
// preview.Forecasts.
func (e *Engine) Forecast(ctx context.Context, approval string) ([]domain.Forecast, error) {
	p, err := e.store.Approval(ctx, approval)
	if err != nil || p.Status != "open" {
		return nil, err
	}
	return preview.Forecasts(p, func() (*preview.View, error) { return e.view(ctx, p.Run) })
}
