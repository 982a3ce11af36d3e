package kairosd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/daemon"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
)

// backupCheck compares the backups of a server with its configuration.
type backupCheck struct {
	domain.Check
	cfg    config.Config
	known  bool // true if --config is set
	now    time.Time
	dir    string
	advice []string
}

func (d *program) checkBackups(ctx context.Context, s *store.Store, now time.Time) (domain.Check, error) {
	c := backupCheck{Check: domain.Check{Name: "backups", Problems: []string{}}, known: d.config != "", now: now}
	var err error
	if c.cfg, err = config.Load(d.config); err != nil {
		return c.Check, err
	}
	c.dir = d.dir().Backups(c.cfg)
	if !c.known { // the database contains the recipients
		if c.cfg.Backup.Recipients, err = recovery.Recipients(ctx, s); err != nil {
			return c.Check, err
		}
		c.report("no --config: the schedule is unknown; the directory is %s", c.dir)
		c.advise("pass the configuration of the server with --config")
	}
	list, err := daemon.ListBackups(c.dir)
	if err != nil {
		return c.Check, err
	}
	list = slices.DeleteFunc(list, func(b domain.Backup) bool { return b.Instance != s.Instance() })
	c.Checked = int64(len(list))
	good := c.lastGood(s, list)
	c.age(good)
	if err := c.attempts(ctx, s, good); err != nil {
		return c.Check, err
	}
	before, err := keptByUpgrades(d.data)
	if err != nil {
		return c.Check, err
	}
	c.plain(append(list, before...))
	c.Advice = strings.Join(c.advice, "; ")
	return c.Check, nil
}

func (c *backupCheck) report(format string, args ...any) {
	c.Found = append(c.Found, fmt.Sprintf(format, args...))
}

func (c *backupCheck) problem(format string, args ...any) {
	c.Problems = append(c.Problems, fmt.Sprintf(format, args...))
}

// advise prints a piece of advice once.
func (c *backupCheck) advise(text string) {
	if !slices.Contains(c.advice, text) {
		c.advice = append(c.advice, text)
	}
}

// lastGood returns the newest intact backup of this server, or nil.
func (c *backupCheck) lastGood(s *store.Store, list []domain.Backup) *domain.Backup {
	for i, b := range list {
		if err := errors.Join(recovery.CheckManifest(s, b.Path), recovery.VerifyIntact(b)); err != nil {
			c.problem("%s", err)
			c.advise("check the disk and its permissions, then create a backup: kairosd backup")
			continue
		}
		return &list[i]
	}
	return nil
}

// age compares the age of the last good backup with the schedule. It tolerates a quarter more,
// because a backup takes time and the daemon may have started recently.
func (c *backupCheck) age(good *domain.Backup) {
	every, asked := c.cfg.Backup.Interval(), cmp.Or(c.cfg.Backup.Every, "1d")
	if !c.known {
		every = 0
	}
	late := "create a backup: kairosd backup; find the cause in the log of kairosd serve or on the page System"
	switch {
	case good == nil && every > 0:
		c.problem("no intact backup in %s; the configuration requires one every %s", c.dir, asked)
		c.advise(late)
	case good == nil:
		c.report("no backup in %s", c.dir)
		c.advise("create a backup: kairosd backup")
	default:
		how := "not encrypted"
		if good.Encryption != nil {
			how = "encrypted to " + strings.Join(good.Encryption.Recipients, ", ")
		}
		age := c.now.Sub(good.Created).Round(time.Minute)
		c.report("the last intact backup is of %s, %s ago: %s, %s", stampUTC(good.Created), age, good.Path, how)
		if every > 0 && age > every+every/4 {
			c.problem("the last intact backup is too old; the configuration requires one every %s", asked)
			c.advise(late)
		}
		c.recipients(good)
	}
	if c.known && every == 0 {
		c.report("scheduled backups are disabled (backup.every: never)")
		c.advise("set backup.every in the configuration, or run kairosd backup regularly")
	}
}

// recipients compares the recipients of a backup with the configured ones. plain reports a backup
// that should be encrypted and is not.
func (c *backupCheck) recipients(b *domain.Backup) {
	want := c.cfg.Backup.Recipients
	switch {
	case b.Encryption == nil:
	case len(want) == 0:
		c.report("no recipients are configured; new backups are not encrypted")
	case !slices.Equal(trimmed(want), trimmed(b.Encryption.Recipients)):
		c.problem("the last intact backup is not encrypted to the configured recipients: %s", strings.Join(want, ", "))
		c.advise("create a backup that they can decrypt: kairosd backup")
	}
}

// trimmed returns keys without surrounding space, for comparison.
func trimmed(keys []string) []string {
	out := make([]string, 0, len(keys))
	for _, k := range keys {
		out = append(out, strings.TrimSpace(k))
	}
	slices.Sort(out)
	return out
}

// attempts reports the last backup of the daemon and the last restore test, if they failed and no
// newer backup exists.
func (c *backupCheck) attempts(ctx context.Context, s *store.Store, good *domain.Backup) error {
	for _, tried := range []struct{ action, message string }{
		{daemon.ActionBackup, "the backup of %s failed: %s"},
		{daemon.ActionRestoreTested, "the restore test of %s failed: %s"},
	} {
		list, err := s.AuditEvents(ctx, domain.AuditFilter{Action: tried.action, Page: domain.Page{Limit: 1}})
		if err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Result == "failed" && (good == nil || e.At.After(good.Created)) {
				c.problem(tried.message, stampUTC(e.At), e.Reason)
				c.advise("fix the cause, then create a backup: kairosd backup")
			}
		}
	}
	return nil
}

// keptByUpgrades returns the databases that upgrades kept, each as a backup with its manifest.
func keptByUpgrades(data string) ([]domain.Backup, error) {
	dirs, err := filepath.Glob(filepath.Join(data, "pre-schema-*"))
	var out []domain.Backup
	for _, dir := range dirs {
		list, err := daemon.ListBackups(dir)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, err
}

// plain reports backups that are not encrypted although recipients are configured.
func (c *backupCheck) plain(list []domain.Backup) {
	if len(c.cfg.Backup.Recipients) == 0 {
		return
	}
	var paths []string
	for _, b := range list {
		if b.Encryption == nil {
			paths = append(paths, b.Path)
		}
	}
	const named = 5
	switch n := len(paths); {
	case n == 0:
		return
	case n > named:
		paths = append(paths[:named:named], fmt.Sprintf("and %d more", n-named))
	}
	c.problem("backups that are not encrypted, although recipients are configured: %s", strings.Join(paths, ", "))
	c.advise("create an encrypted backup (kairosd backup --config FILE), then delete those files and their .json files")
}

func stampUTC(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
