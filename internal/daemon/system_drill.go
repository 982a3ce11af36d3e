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

// drillEvery is how often the newest backup is read back: what was verified when it
// was written may have rotted since, or been cut short by whatever copies backups.
const drillEvery = 7 * 24 * time.Hour

// ActionDrilled is the record of a restore test.
const ActionDrilled = "store.drilled"

// untilDrill is when the next restore test is due, by the record of the last one.
func (s *system) untilDrill(ctx context.Context) time.Duration {
	list, err := s.store.AuditEvents(ctx, domain.AuditFilter{Action: ActionDrilled, Page: domain.Page{Limit: 1}})
	if err != nil || len(list.Items) == 0 {
		return time.Hour // the first backup may be made meanwhile
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
	return max(time.Minute, drillEvery-time.Since(last.At))
}

// drill examines the newest backup of this installation as a restore would, or as
// far as that goes without the key of an encrypted one.
func (s *system) drill(ctx context.Context) error {
	var b domain.Backup
	var problem error
	for range 2 { // a backup that is newer may have been made, and rotation taken this one
		list, err := ListBackups(s.up.Load().backups)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(b domain.Backup) bool { return b.Instance == s.store.Instance() })
		if i < 0 {
			return nil
		}
		b = list[i]
		if b.Encryption != nil { // whose key is not here, and should not be
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
		Action:  ActionDrilled,
		Actor:   domain.System.Name,
		Surface: domain.System.Surface,
		Object:  "backup:" + t.Backup,
		Reason:  "it can be restored",
	}
	if t.Encrypted {
		record.Reason = "it is the file that was made; only who has the key can say more"
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
