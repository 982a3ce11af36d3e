package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/daemon"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// Rotation removes scheduled backups and never manual ones.
func TestRotationKeepsManualBackups(t *testing.T) {
	t.Parallel()
	s, dir := storetest.Open(t), t.TempDir()
	person := domain.Actor{Name: "ada", Role: domain.RoleAdmin, Source: "cli"}
	daemon.MakeBackups(t, s, dir, config.Backup{}, domain.System, person, domain.System, person, person, domain.System)
	files, err := filepath.Glob(filepath.Join(dir, "*.db"))
	if err != nil {
		t.Fatal(err)
	}
	var scheduled int
	for _, f := range files {
		if strings.HasPrefix(filepath.Base(f), "kairos-auto-") {
			scheduled++
		}
	}
	if scheduled != 1 || len(files)-scheduled != 3 {
		t.Errorf("%d scheduled backups of one day and %d manual ones are left, want 1 and 3: %q", scheduled, len(files)-scheduled, files)
	}
}

// A scheduled backup waits while retention is in progress, and a person's is rejected.
func TestAScheduledBackupWaitsForRetention(t *testing.T) {
	t.Parallel()
	person := domain.Actor{Name: "ada", Role: domain.RoleAdmin, Source: "cli"}
	dir := t.TempDir()
	manual, scheduled := daemon.DuringRetention(t, storetest.Open(t), dir, person)
	if domain.CodeOf(manual) != domain.CodeConflict || scheduled != nil {
		t.Errorf("manual: %v, scheduled: %v", manual, scheduled)
	}
	if list, err := daemon.ListBackups(dir); err != nil || len(list) != 1 {
		t.Errorf("backups: %+v, %v", list, err)
	}
}

// A restore test reads the newest backup. Damage since its verification is found, reported, and
// recorded.
func TestTheNewestBackupIsVerified(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	dir := t.TempDir()
	if test, err := daemon.RestoreTest(t.Context(), s, dir); test != nil || err != nil {
		t.Errorf("without any backup: %+v, %v", test, err)
	}
	path := filepath.Join(dir, "kairos-1.db")
	if _, err := recovery.Backup(t.Context(), s, path, "test"); err != nil {
		t.Fatal(err)
	}
	test, err := daemon.RestoreTest(t.Context(), s, dir)
	if err != nil || test.Backup != "kairos-1.db" || test.Problem != "" || time.Since(test.At) > time.Hour {
		t.Errorf("of a whole one: %+v, %v", test, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("rot"), 5000); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if test, err = daemon.RestoreTest(t.Context(), s, dir); err == nil || !strings.Contains(test.Problem, "does not match its manifest") {
		t.Errorf("of a rotten one: %+v, %v", test, err)
	}
	list, err := s.AuditEvents(t.Context(), domain.AuditFilter{Action: "store.restore_tested"})
	if err != nil || len(list.Items) != 2 || list.Items[0].Result != "failed" || list.Items[1].Result != "ok" ||
		list.Items[0].Object != "backup:kairos-1.db" {
		t.Errorf("recorded: %+v, %v", list.Items, err)
	}
}

// The weekly check of an encrypted backup records what it verified without the key. It also detects
// damage.
func TestAnEncryptedBackupIsVerified(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "kairos-1.db.age")
	if _, err := recovery.EncryptedBackup(t.Context(), s, path, "test", []string{id.Recipient().String()}); err != nil {
		t.Fatal(err)
	}
	test, err := daemon.RestoreTest(t.Context(), s, dir)
	if err != nil || !test.Encrypted || test.Problem != "" || test.Backup != "kairos-1.db.age" {
		t.Errorf("of a whole one: %+v, %v", test, err)
	}
	list, err := s.AuditEvents(t.Context(), domain.AuditFilter{Action: "store.restore_tested"})
	if err != nil || len(list.Items) != 1 || !strings.Contains(list.Items[0].Reason, "only the owner of the key") {
		t.Errorf("recorded: %+v, %v", list.Items, err)
	}
	if err := os.Truncate(path, 5000); err != nil {
		t.Fatal(err)
	}
	if test, err = daemon.RestoreTest(t.Context(), s, dir); err == nil || !strings.Contains(test.Problem, "does not match its manifest") {
		t.Errorf("of one cut short: %+v, %v", test, err)
	}
}
