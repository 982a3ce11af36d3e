// Package recovery protects and restores a database: backups and restores, schema upgrades,
// salvage of damaged files, and integrity checks.
package recovery

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// Options of Open.
type Options struct {
	store.Options
	// KeepSchema refuses an older schema instead of upgrading it.
	KeepSchema bool
	// Recipients are age public keys that encrypt the backup of the old schema during an upgrade.
	// Empty: it is not encrypted. nil, for a caller without a configuration: the recipients stored
	// by KeepRecipients.
	Recipients []string
	// Progress is called while an upgrade runs, which may take minutes. It must not
	// block; nil: it is not called.
	Progress func(domain.Startup)
}

// Open finishes an interrupted restore, upgrades an older schema, and opens the
// database at path. The lock is held throughout.
func Open(ctx context.Context, path string, o Options) (*store.Store, error) {
	if o.ReadOnly {
		return store.Open(ctx, path, o.Options)
	}
	if err := core.DriverSetup(); err != nil {
		return nil, err
	}
	locked, err := o.Lock(path)
	if err != nil {
		return nil, err
	}
	if err := prepare(ctx, path, o); err != nil {
		return nil, errors.Join(err, store.KeepOwner(filepath.Dir(path), path+".lock"), locked.Unlock())
	}
	return store.Open(ctx, path, locked)
}

// prepare makes the files of a locked database ready to be opened.
func prepare(ctx context.Context, path string, o Options) error {
	if err := errors.Join(finishRestore(path, os.Rename), removeDecrypted(path)); err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil // a new database is created, or the rest of an old one is refused
	}
	for _, suffix := range []string{"", "-wal", "-shm", ".key", ".anchor"} {
		if err := core.KeepPrivate(path+suffix, 0o600); err != nil {
			return err
		}
	}
	return newUpgrade(path, o).run(ctx, !o.KeepSchema)
}

// database is an open database with the reader that its checks use.
type database struct {
	*store.Store
	db *core.DB
}

func of(s *store.Store) *database { return &database{s, s.Core()} }
