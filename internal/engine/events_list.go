package engine

import (
	"context"

	"github.com/kairosd/kairosd/internal/kairos"
)

// Events gives the stored events after a position, in order: what Subscribe
// would replay. It reads at most limit rows of the audit log and returns the
// position up to which it has read; run restricts to one run.
func (e *Engine) Events(ctx context.Context, after int64, run string, limit int) ([]kairos.Event, int64, error) {
	rows, err := e.store.EventsAfter(ctx, after, run, limit)
	if err != nil {
		return nil, after, err
	}
	incarnation := e.store.Incarnation()
	var events []kairos.Event
	for i := range rows {
		events = append(events, e.derive(ctx, rows[i], incarnation)...)
		after = rows[i].Seq
	}
	return events, after, nil
}
