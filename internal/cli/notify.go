package cli

import (
	"context"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/notify"
	"github.com/kairosd/kairosd/internal/tool"
)

// newNotifier tells people outside, as the configuration says. wake is given
// something when something may have happened.
func (s *server) newNotifier(wake <-chan struct{}) (*notify.Service, error) {
	channels, err := s.cfg.Notifications.Build()
	if err != nil {
		return nil, err
	}
	dialer, err := tool.NewDialer(s.guard, s.cfg.Notifications.AllowPrivate, s.cfg.Notifications.Ports()...)
	if err != nil {
		return nil, &exit{sysConfig, err}
	}
	return notify.New(notify.Config{Store: s.store, Channels: channels, Dialer: dialer, URL: s.cfg.Notifications.URL, Wake: wake, Log: s.log})
}

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
