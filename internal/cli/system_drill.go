package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store"
)

// drillEvery is how often the newest backup is read back: what was verified when it
// was written may have rotted since, or been cut short by whatever copies backups
// (RELIABILITY 5).
const drillEvery = 7 * 24 * time.Hour

// actionDrilled is the record of a restore test.
const actionDrilled = "store.drilled"

// untilDrill is when the next restore test is due, by the record of the last one.
func (s *system) untilDrill(ctx context.Context) time.Duration {
	list, err := s.store.AuditEvents(ctx, kairos.AuditFilter{Action: actionDrilled, Page: kairos.Page{Limit: 1}})
	if err != nil || len(list.Items) == 0 {
		return time.Hour // the first backup may be made meanwhile
	}
	last := list.Items[0]
	t := kairos.RestoreTest{At: last.At, Backup: strings.TrimPrefix(last.Object, "backup:")}
	t.Encrypted = strings.HasSuffix(t.Backup, store.EncryptedSuffix)
	if last.Result != "ok" {
		t.Problem = last.Reason
	}
	s.mu.Lock()
	s.drilled = &t
	s.mu.Unlock()
	return max(time.Minute, drillEvery-time.Since(last.At))
}

// drill examines the newest backup of this installation as a restore would, or as
// far as that goes without the key of an encrypted one.
func (s *system) drill(ctx context.Context) error {
	var b kairos.Backup
	var problem error
	for range 2 { // a backup that is newer may have been made, and rotation taken this one
		list, err := listBackups(s.up.Load().backups)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(b kairos.Backup) bool { return b.Instance == s.store.Instance() })
		if i < 0 {
			return nil
		}
		b = list[i]
		if b.Encryption != nil { // whose key is not here, and should not be
			problem = store.VerifyIntact(b)
		} else {
			_, problem = store.VerifyBackupFile(ctx, b.Path, s.store.Path(), store.RestoreOptions{})
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if problem == nil || exists(b.Path) {
			break
		}
	}
	t := kairos.RestoreTest{At: time.Now().UTC(), Backup: filepath.Base(b.Path), Encrypted: b.Encryption != nil}
	record := kairos.AuditRecord{Action: actionDrilled, Actor: kairos.System.Name, Surface: kairos.System.Surface, Object: "backup:" + t.Backup, Reason: "it can be restored"}
	if t.Encrypted {
		record.Reason = "it is the file that was made; only who has the key can say more"
	}
	if problem != nil {
		t.Problem = problem.Error()
		record.Result, record.Reason = "failed", t.Problem
	}
	s.mu.Lock()
	s.drilled = &t
	s.mu.Unlock()
	if err := s.store.Audit(ctx, record); err != nil {
		return err
	}
	return problem
}
