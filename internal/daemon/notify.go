package daemon

import (
	"context"
	"strings"
	"time"
)

// wakeOnRuns sends on wake whenever a run has changed, until the context ends.
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
		// The subscription ended because it was slow or storage failed. The audit log has the
		// missed changes.
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}
