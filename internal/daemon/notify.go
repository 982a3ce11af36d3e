package daemon

import (
	"context"
	"strings"
	"time"
)

// wakeOnRuns gives something to wake whenever a run has changed, until the
// context ends.
func (s *server) wakeOnRuns(ctx context.Context, wake chan<- struct{}) {
	for ctx.Err() == nil {
		last, err := s.store.LastEvent(ctx)
		if err == nil {
			events, err := s.engine.Subscribe(ctx, last, "")
			if err == nil {
				for e := range events {
					if strings.HasPrefix(e.Type, "run_") {
						select {
						case wake <- struct{}{}:
						default:
						}
					}
				}
			}
		}
		// Cut off for being slow, or storage is in trouble: what was missed is found
		// in the audit log.
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}
