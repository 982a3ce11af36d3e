package daemon

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"

	"github.com/kairosd/kairosd/internal/store/recovery"
)

// restoreTestEvery is the interval of restore tests. A verified backup may have been damaged later,
// or truncated by the program that copies backups.
const restoreTestEvery = 7 * 24 * time.Hour

// ActionRestoreTested is the audit action of a restore test.
const ActionRestoreTested = "store.restore_tested"

// untilRestoreTest returns the time until the next restore test is due, from the record of the last
// one.
func (s *system) untilRestoreTest(ctx context.Context) time.Duration {
	list, err := s.store.AuditEvents(ctx, domain.AuditFilter{Action: ActionRestoreTested, Page: domain.Page{Limit: 1}})
	if err != nil || len(list.Items) == 0 {
		return time.Hour // the first backup may exist by then
	}
	last := list.Items[0]
	t := domain.RestoreTest{At: last.At, Backup: strings.TrimPrefix(last.Object, "backup:")}
	t.Encrypted = strings.HasSuffix(t.Backup, recovery.EncryptedSuffix)
	if last.Result != "ok" {
		t.Problem = last.Reason
	}
	s.mu.Lock()
	s.checks.restoreTest = &t
	s.mu.Unlock()
	return max(time.Minute, restoreTestEvery-time.Since(last.At))
}

// testRestore verifies the newest backup of this server as a restore would. Without the key of an
// encrypted backup, it verifies only the file.
func (s *system) testRestore(ctx context.Context) error {
	var b domain.Backup
	var problem error
	for range 2 { // rotation may have removed this backup after a newer one
		list, err := ListBackups(s.up.Load().backups)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(b domain.Backup) bool { return b.Instance == s.store.Instance() })
		if i < 0 {
			return nil
		}
		b = list[i]
		if b.Encryption != nil { // its key should not be on this server
			if problem = recovery.CheckManifest(s.store, b.Path); problem == nil {
				problem = recovery.VerifyIntact(b)
			}
		} else {
			_, problem = recovery.VerifyBackupFile(ctx, b.Path, s.store.Path(), recovery.RestoreOptions{})
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if problem == nil || datadir.Exists(b.Path) {
			break
		}
	}
	t := domain.RestoreTest{At: time.Now().UTC(), Backup: filepath.Base(b.Path), Encrypted: b.Encryption != nil}
	record := domain.AuditRecord{
		Action: ActionRestoreTested,
		Actor:  domain.System.Name,
		Source: domain.System.Source,
		Object: "backup:" + t.Backup,
		Reason: "the backup can be restored",
	}
	if t.Encrypted {
		record.Reason = "the file is unchanged; only the owner of the key can verify its content"
	}
	if problem != nil {
		t.Problem = problem.Error()
		record.Result, record.Reason = "failed", t.Problem
	}
	s.mu.Lock()
	s.checks.restoreTest = &t
	s.mu.Unlock()
	if err := s.store.Audit(ctx, record); err != nil {
		return err
	}
	return problem
}
