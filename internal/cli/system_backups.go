package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store"
)

// actionBackup is the record of a backup that the daemon made or could not make.
const actionBackup = "store.backup"

// BackUp makes a verified backup in the configured directory and removes those
// that rotation does not keep.
func (s *system) BackUp(ctx context.Context, actor kairos.Actor) (kairos.Backup, error) {
	if err := s.admin(ctx, actor, actionBackup); err != nil {
		return kairos.Backup{}, err
	}
	done, err := s.alone()
	if err != nil {
		return kairos.Backup{}, err
	}
	defer done()
	up := s.up.Load()
	var b kairos.Backup
	record := kairos.AuditRecord{Action: actionBackup, Actor: actor.Name, Surface: actor.Surface, Request: actor.Request}
	path, err := newBackup(up.backups, up.keep.Recipients)
	if err == nil {
		record.Object = "backup:" + filepath.Base(path)
		b, err = s.store.EncryptedBackup(ctx, path, thisBuild().Version, up.keep.Recipients)
	}
	if err != nil {
		record.Result, record.Reason = "failed", err.Error()
	}
	if auditErr := s.store.Audit(context.WithoutCancel(ctx), record); err == nil {
		err = auditErr
	}
	if err == nil {
		s.rotate(up)
	}
	return b, err
}

// listBackups are the backups of a directory, newest first: the files that have
// a manifest. What cannot be read is none.
func listBackups(dir string) ([]kairos.Backup, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return []kairos.Backup{}, nil
	} else if err != nil {
		return nil, kairos.Errorf(kairos.CodeUnavailable, "list backups: %w", err)
	}
	out := []kairos.Backup{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), store.ManifestSuffix)
		if !ok {
			continue
		}
		if b, err := store.ReadManifest(filepath.Join(dir, name)); err == nil && exists(b.Path) {
			b.Verified = nil
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b kairos.Backup) int { return b.Created.Compare(a.Created) })
	return out, nil
}

// rotate removes backups that no hour, day or week keeps; never the newest, and
// none that another installation made.
func (s *system) rotate(up *upkeep) {
	list, err := listBackups(up.backups)
	if err != nil {
		s.log.Error("rotate backups", "err", err)
		return
	}
	list = slices.DeleteFunc(list, func(b kairos.Backup) bool {
		return b.Instance != s.store.Instance() || !strings.HasPrefix(filepath.Base(b.Path), "kairos-")
	})
	for _, b := range superfluous(list, up.keep) {
		// The manifest first: without it, what is left is no backup.
		for _, p := range []string{b.Path + store.ManifestSuffix, b.Path} {
			if err := os.Remove(p); err != nil {
				s.log.Error("rotate backups", "file", p, "err", err)
				break
			}
		}
		s.log.Info("backup removed by rotation", "file", b.Path)
	}
}

// superfluous lists those of the backups, given newest first, that rotation does
// not keep: it keeps the newest of each of the last hours, days and weeks that
// have one.
func superfluous(list []kairos.Backup, keep config.Backup) []kairos.Backup {
	if keep.Hourly == 0 && keep.Daily == 0 && keep.Weekly == 0 {
		keep.Hourly, keep.Daily, keep.Weekly = 24, 7, 5
	}
	kept := map[string]bool{}
	for _, span := range []struct {
		most int
		name func(time.Time) string
	}{
		{keep.Hourly, func(t time.Time) string { return t.Format("2006-01-02T15") }},
		{keep.Daily, func(t time.Time) string { return t.Format("2006-01-02") }},
		{keep.Weekly, func(t time.Time) string { y, w := t.ISOWeek(); return fmt.Sprint(y, "W", w) }},
	} {
		seen := map[string]bool{}
		for _, b := range list {
			if name := span.name(b.Created.UTC()); !seen[name] && len(seen) < span.most {
				seen[name], kept[b.Path] = true, true
			}
		}
	}
	var out []kairos.Backup
	for i, b := range list {
		if i > 0 && !kept[b.Path] {
			out = append(out, b)
		}
	}
	return out
}

// untilBackup is when the next backup is due: restarts do not put it off.
func (s *system) untilBackup(every time.Duration) time.Duration {
	list, err := listBackups(s.up.Load().backups)
	if err != nil || len(list) == 0 {
		return time.Minute
	}
	return max(time.Minute, every-time.Since(list[0].Created))
}
