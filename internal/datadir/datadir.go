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

// Database returns the path of the database file.
func (d Dir) Database() string { return d.file("kairos.db") }

// KeyFile returns the path of the file with the server's secret key.
func (d Dir) KeyFile() string { return d.Database() + ".key" }

// SetupFile returns the path of the file with the secret of the setup link. It exists until there
// is a user.
func (d Dir) SetupFile() string { return d.file("setup.token") }

// HealthMetrics returns the path of the file that keeps the health metrics across a restart.
func (d Dir) HealthMetrics() string { return d.file("vitals.json") }

// Socket returns the path of the socket on which the daemon of this directory listens for local
// commands.
func (d Dir) Socket() string { return SocketOf(d.Database()) }

// KeyNotice returns the notice that names the key file and the reason to copy it.
func (d Dir) KeyNotice() string {
	return "The key file is " + d.KeyFile() + ". Backups do not contain it, and a full restore requires it: keep a copy in another place."
}

// Backups returns the directory of backups: backup.dir, or backups in the data directory.
func (d Dir) Backups(cfg config.Config) string {
	if cfg.Backup.Dir != "" {
		return cfg.Backup.Dir
	}
	return d.file("backups")
}

// SocketOf returns the path of the socket of the process that holds a database file.
func SocketOf(database string) string {
	return filepath.Join(filepath.Dir(database), "kairosd.sock")
}

// IsSocket reports whether path is a Unix socket.
func IsSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeSocket != 0
}

// Exists reports whether a file or directory exists at path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// BackupPrefix is the prefix of backups' names. Rotation only removes scheduled backups, and none
// that a person has renamed.
type BackupPrefix string

// Prefixes of manual and scheduled backups.
const (
	Manual    BackupPrefix = "kairos-"
	Scheduled BackupPrefix = "kairos-auto-"
)

// BackupName returns the name of a backup. Encrypted backups have a suffix.
func BackupName(path string, recipients []string) string {
	if len(recipients) > 0 && !strings.HasSuffix(path, recovery.EncryptedSuffix) {
		return path + recovery.EncryptedSuffix
	}
	return path
}

// NewBackup returns the path of a new backup in a directory, and creates the directory.
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
