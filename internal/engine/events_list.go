package engine

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
)

// Events gives the stored events after a position, in order: what Subscribe
// would replay. It reads at most limit rows of the audit log and returns the
// position up to which it has read; run restricts to one run.
func (e *Engine) Events(ctx context.Context, after int64, run string, limit int) ([]domain.Event, int64, error) {
	rows, err := e.store.EventsAfter(ctx, after, run, limit)
	if err != nil {
		return nil, after, err
	}
	var events []domain.Event
	for i := range rows {
		derived, err := e.derive(ctx, rows[i])
		if err != nil {
			return events, after, err
		}
		events = append(events, derived...)
		after = rows[i].Seq
	}
	return events, after, nil
}
