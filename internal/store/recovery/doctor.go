package recovery

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// Doctor checks the database and its environment without changing anything: audit chain and
// anchor, permissions, free space, and the write-ahead log.
func Doctor(ctx context.Context, opened *store.Store) ([]domain.Check, error) {
	s := of(opened)
	out, err := Verify(ctx, opened)
	if err != nil {
		return out, err
	}
	for _, check := range []func(context.Context, *domain.Check) error{s.checkAnchor, s.checkHold, s.checkFiles, s.checkSpace} {
		c := domain.Check{Problems: []string{}}
		if err := check(ctx, &c); err != nil {
			return out, err
		}
		if len(c.Problems) == 0 {
			c.Advice = ""
		}
		out = append(out, c)
	}
	return out, nil
}

func (s *database) checkAnchor(ctx context.Context, c *domain.Check) error {
	c.Name, c.Advice = "audit anchor", "the database is older than the audit anchor. On the next start kairosd holds all "+
		"runs. Restore the newest backup, or check the runs and release them"
	at, err := core.ReadAnchor(s.db.Path + ".anchor")
	if err != nil {
		return err
	}
	if at.Seq == 0 {
		last, err := s.db.Q.AuditLast(ctx)
		if err != nil {
			return core.Translate(err, c.Name)
		}
		if last > 0 {
			c.Advice = "without the anchor, kairosd cannot detect a database that was replaced by an older copy. The next " +
				"start writes it again"
			core.Find(c, "no audit anchor next to the database")
		}
		return nil
	}
	c.Checked = 1
	behind, err := s.db.OlderThan(ctx, s.db.Q, at)
	if err == nil && behind {
		core.Find(c, "the anchor recorded event %d, which is missing or different in the database", at.Seq)
	}
	return err
}

func (s *database) checkHold(ctx context.Context, c *domain.Check) error {
	c.Name, c.Advice = "hold", "check the held runs, then release each one, or all with: kairos server release"
	h, err := s.Hold(ctx)
	if err == nil && h != nil {
		core.Find(
			c,
			"execution has been on hold since %s (%s); %d runs were unfinished",
			h.Since.Format("2006-01-02 15:04:05Z"),
			h.Reason,
			h.Held,
		)
	}
	return err
}

// checkFiles finds files that other users can access.
func (s *database) checkFiles(_ context.Context, c *domain.Check) error {
	c.Name, c.Advice = "permissions", "set mode 600 on the files and 700 on the directory, and make the user that runs kairosd their owner"
	for _, p := range append(s.Files(), filepath.Dir(s.db.Path)) {
		info, err := os.Stat(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			core.Find(c, "%s: %s", p, err)
			continue
		}
		c.Checked++
		if info.Mode().Perm()&0o007 != 0 && info.Mode()&fs.ModeSticky == 0 || !info.IsDir() && info.Mode().Perm()&0o077 != 0 {
			core.Find(c, "%s is accessible to other users (%s)", p, info.Mode().Perm())
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() != 0 && int(st.Uid) != os.Geteuid() {
			core.Find(c, "%s belongs to user %d", p, st.Uid)
		}
	}
	return nil
}

func (s *database) checkSpace(ctx context.Context, c *domain.Check) error {
	c.Name, c.Advice = "space", "free space on the disk of the data directory, shorten retention (kairosd retention "+
		"--dry-run), or move the data to a larger disk"
	u, err := s.Usage(ctx)
	if err != nil {
		return err
	}
	c.Checked = u.Database + u.WAL
	if u.NearlyFull() {
		core.Find(c, "the disk has %d MiB free; the database has %d MiB", u.Free>>20, u.Database>>20)
	}
	if u.WAL > 4*core.WALAlarm*4096 {
		core.Find(c, "the write-ahead log has grown to %d MiB: a reader holds an old snapshot", u.WAL>>20)
	}
	return nil
}
