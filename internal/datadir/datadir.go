// Package datadir names the files of a data directory: the database, its key file, the setup
// secret, the local socket, and the backups.
package datadir

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
)

// Dir is the path of a data directory.
type Dir string

func (d Dir) file(name string) string { return filepath.Join(string(d), name) }

// Database is the path of the database file.
func (d Dir) Database() string { return d.file("kairos.db") }

// KeyFile holds the server's one secret key.
func (d Dir) KeyFile() string { return d.Database() + ".key" }

// SetupFile holds the secret of the setup link until the first user exists.
func (d Dir) SetupFile() string { return d.file("setup.token") }

// HealthMetrics is the file that keeps the health metrics across a restart.
func (d Dir) HealthMetrics() string { return d.file("vitals.json") }

// Socket is where the daemon that holds this directory listens for local commands.
func (d Dir) Socket() string { return SocketOf(d.Database()) }

// KeyNotice returns the notice that names the key file and the reason to copy it.
func (d Dir) KeyNotice() string {
	return "The key file is " + d.KeyFile() + ". Backups do not contain it, and a full restore requires it: keep a copy in another place."
}

// Backups is the directory of backups: backup.dir, else backups in the data directory.
func (d Dir) Backups(cfg config.Config) string {
	if cfg.Backup.Dir != "" {
		return cfg.Backup.Dir
	}
	return d.file("backups")
}

// SocketOf is where the holder of a database file listens.
func SocketOf(database string) string {
	return filepath.Join(filepath.Dir(database), "kairosd.sock")
}

// IsSocket reports whether path is a Unix socket.
func IsSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeSocket != 0
}

// Exists reports whether path can be found.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// BackupPrefix is how the name of a backup begins. Rotation removes scheduled
// backups only, and none that a person has renamed.
type BackupPrefix string

// The prefixes of backups that people and the schedule make.
const (
	Manual    BackupPrefix = "kairos-"
	Scheduled BackupPrefix = "kairos-auto-"
)

// BackupName adds the suffix of encrypted backups when there are recipients.
func BackupName(path string, recipients []string) string {
	if len(recipients) > 0 && !strings.HasSuffix(path, recovery.EncryptedSuffix) {
		return path + recovery.EncryptedSuffix
	}
	return path
}

// NewBackup names a new backup in a directory, and creates the directory.
func NewBackup(dir string, prefix BackupPrefix, recipients []string) (string, error) {
	made := !Exists(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", domain.Errorf(domain.CodeUnavailable, "cannot create the directory for backups: %w", err)
	}
	if made {
		if err := store.KeepOwner(filepath.Dir(dir), dir); err != nil {
			return "", err
		}
	}
	name := string(prefix) + time.Now().UTC().Format("20060102T150405.000Z") + ".db"
	return BackupName(filepath.Join(dir, name), recipients), nil
}
