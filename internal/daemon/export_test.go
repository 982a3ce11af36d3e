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

// DuringRetention creates a backup of a person, and a scheduled one, while retention is in progress.
// It ends the retention when the person's backup has returned.
func DuringRetention(t *testing.T, s *store.Store, dir string, person domain.Actor) (manual, scheduled error) {
	t.Helper()
	sys := &system{store: s, Logger: slog.New(slog.DiscardHandler)}
	sys.reconfigure(&upkeep{backups: dir})
	end, err := sys.alone(domain.System)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := sys.BackUp(t.Context(), domain.System)
		done <- err
	}()
	_, manual = sys.BackUp(t.Context(), person)
	end()
	return manual, <-done
}

// RestoreTest runs a restore test of the newest backup.
func RestoreTest(ctx context.Context, s *store.Store, dir string) (*domain.RestoreTest, error) {
	sys := &system{store: s}
	sys.reconfigure(&upkeep{backups: dir})
	err := sys.testRestore(ctx)
	return sys.checks.restoreTest, err
}
