package daemon

import (
	"context"
	"log/slog"
	"testing"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Parts of the daemon's server and log, for tests.
var (
	SiteServer = siteServer
	Bounded    = bounded
	NewLogSink = newLogSink
)

const LogRoom = logRoom

// MakeBackups creates backups in a directory. They count as scheduled ones, or with another actor
// as manual ones.
func MakeBackups(t *testing.T, s *store.Store, dir string, keep config.Backup, actors ...domain.Actor) {
	t.Helper()
	sys := &system{store: s, Logger: slog.New(slog.DiscardHandler)}
	sys.reconfigure(&upkeep{backups: dir, keep: keep})
	for _, actor := range actors {
		if _, err := sys.BackUp(t.Context(), actor); err != nil {
			t.Fatal(err)
		}
	}
}

// RestoreTest runs a restore test of the newest backup.
func RestoreTest(ctx context.Context, s *store.Store, dir string) (*domain.RestoreTest, error) {
	sys := &system{store: s}
	sys.reconfigure(&upkeep{backups: dir})
	err := sys.testRestore(ctx)
	return sys.checks.restoreTest, err
}
