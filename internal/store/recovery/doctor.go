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

// Doctor examines the database and what it stands on without changing anything:
// SQLite's pages and foreign keys, every journal row and value, the counters, the
// audit chain and its anchor, permissions, free space and the write-ahead log.
// Every finding comes with what to do.
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
	c.Name, c.Advice = "audit anchor", "the database is older than what was recorded: kairosd holds all runs at its next start. Restore the newest backup, or release the runs after looking at them"
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
			c.Advice = "without it a database that is taken back to an earlier state is not noticed; it is written again at the next start"
			core.Find(c, "there is no anchor beside the database")
		}
		return nil
	}
	c.Examined = 1
	behind, err := s.db.Behind(ctx, s.db.Q, at)
	if err == nil && behind {
		core.Find(c, "the anchor has seen event %d, which the database does not have, or has otherwise", at.Seq)
	}
	return err
}

func (s *database) checkHold(ctx context.Context, c *domain.Check) error {
	c.Name, c.Advice = "hold", "check the held runs, then release each one, or all with: kairos server release"
	h, err := s.Hold(ctx)
	if err == nil && h != nil {
		core.Find(c, "nothing is executed since %s (%s); %d runs were unfinished", h.Since.Format("2006-01-02 15:04:05Z"), h.Reason, h.Held)
	}
	return err
}

// checkFiles looks for files that others can read.
func (s *database) checkFiles(_ context.Context, c *domain.Check) error {
	c.Name, c.Advice = "permissions", "chmod 600 the files and 700 the directory, and make them belong to the user that runs kairosd"
	for _, p := range append(s.Files(), filepath.Dir(s.db.Path)) {
		info, err := os.Stat(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			core.Find(c, "%s: %s", p, err)
			continue
		}
		c.Examined++
		if info.Mode().Perm()&0o007 != 0 && info.Mode()&fs.ModeSticky == 0 || !info.IsDir() && info.Mode().Perm()&0o077 != 0 {
			core.Find(c, "%s can be used by others (%s)", p, info.Mode().Perm())
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() != 0 && int(st.Uid) != os.Geteuid() {
			core.Find(c, "%s belongs to user %d", p, st.Uid)
		}
	}
	return nil
}

// lowSpace is the share of a disk below which checkpoints are in danger.
const lowSpace = 0.05

func (s *database) checkSpace(ctx context.Context, c *domain.Check) error {
	c.Name, c.Advice = "space", "free space on the disk of the data directory, shorten retention (kairosd retention --dry-run), or move the data to a larger disk"
	u, err := s.Usage(ctx)
	if err != nil {
		return err
	}
	c.Examined = u.Database + u.WAL
	if u.Free < u.Database/5 || float64(u.Free) < lowSpace*float64(u.Disk) {
		core.Find(c, "%d MiB are free beside a database of %d MiB", u.Free>>20, u.Database>>20)
	}
	if u.WAL > 4*core.WALAlarm*4096 {
		core.Find(c, "the write-ahead log has grown to %d MiB: a reader holds an old snapshot", u.WAL>>20)
	}
	return nil
}
