package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/buildinfo"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/store/recovery"
)

// ActionBackup is the audit action of a backup that succeeded or failed.
const ActionBackup = "store.backup"

// BackUp creates a verified backup in the configured directory. After a scheduled one, it removes
// scheduled backups that rotation does not keep.
func (s *system) BackUp(ctx context.Context, actor domain.Actor) (domain.Backup, error) {
	done, err := s.alone(actor)
	if err != nil {
		return domain.Backup{}, err
	}
	defer done()
	up := s.up.Load()
	var b domain.Backup
	record := domain.AuditRecord{Action: ActionBackup, Actor: actor.Name, Source: actor.Source, Request: actor.Request}
	scheduled := actor == domain.System
	prefix := datadir.Manual
	if scheduled {
		prefix = datadir.Scheduled
	}
	path, err := datadir.NewBackup(up.backups, prefix, up.keep.Recipients)
	if err == nil {
		record.Object = "backup:" + filepath.Base(path)
		b, err = recovery.EncryptedBackup(ctx, s.store, path, buildinfo.Read().Version, up.keep.Recipients)
	}
	if err != nil {
		record.Result, record.Reason = "failed", err.Error()
	}
	if auditErr := s.store.Audit(context.WithoutCancel(ctx), record); err == nil {
		err = auditErr
	}
	if err == nil && scheduled {
		s.rotate(up)
	}
	return b, err
}

// ListBackups lists the backups in a directory, newest first: the files with a manifest. It leaves
// out files that cannot be read.
func ListBackups(dir string) ([]domain.Backup, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return []domain.Backup{}, nil
	} else if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "list backups: %w", err)
	}
	out := []domain.Backup{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), recovery.ManifestSuffix)
		if !ok {
			continue
		}
		if b, err := recovery.ReadManifest(filepath.Join(dir, name)); err == nil && datadir.Exists(b.Path) {
			b.Verified = nil
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b domain.Backup) int { return b.Created.Compare(a.Created) })
	return out, nil
}

// rotate removes scheduled backups that rotation does not keep. It never removes the newest one, or
// one of another server.
func (s *system) rotate(up *upkeep) {
	list, err := ListBackups(up.backups)
	if err != nil {
		s.Logger.Error("rotate backups", "err", err)
		return
	}
	list = slices.DeleteFunc(list, func(b domain.Backup) bool {
		return b.Instance != s.store.Instance() || !strings.HasPrefix(filepath.Base(b.Path), string(datadir.Scheduled))
	})
	for _, b := range superfluous(list, up.keep) {
		// The manifest is removed first, because a file without one does not count as a backup.
		for _, p := range []string{b.Path + recovery.ManifestSuffix, b.Path} {
			if err := os.Remove(p); err != nil {
				s.Logger.Error("rotate backups", "file", p, "err", err)
				break
			}
		}
		s.Logger.Info("backup removed by rotation", "file", b.Path)
	}
}

// superfluous lists the backups, given newest first, that rotation does not keep. Rotation keeps
// the newest backup of each of the last hours, days, and weeks that have one.
func superfluous(list []domain.Backup, keep config.Backup) []domain.Backup {
	hourly, daily, weekly := keep.Kept()
	kept := map[string]bool{}
	for _, span := range []struct {
		most int
		name func(time.Time) string
	}{
		{hourly, func(t time.Time) string { return t.Format("2006-01-02T15") }},
		{daily, func(t time.Time) string { return t.Format("2006-01-02") }},
		{weekly, func(t time.Time) string { y, w := t.ISOWeek(); return fmt.Sprint(y, "W", w) }},
	} {
		seen := map[string]bool{}
		for _, b := range list {
			if name := span.name(b.Created.UTC()); !seen[name] && len(seen) < span.most {
				seen[name], kept[b.Path] = true, true
			}
		}
	}
	var out []domain.Backup
	for i, b := range list {
		if i > 0 && !kept[b.Path] {
			out = append(out, b)
		}
	}
	return out
}

// untilBackup returns the time until the next backup is due. Restarts do not delay it.
func (s *system) untilBackup(every time.Duration) time.Duration {
	list, err := ListBackups(s.up.Load().backups)
	if err != nil || len(list) == 0 {
		return time.Minute
	}
	return max(time.Minute, every-time.Since(list[0].Created))
}
