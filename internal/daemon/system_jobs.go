package daemon

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/recovery"

	"github.com/kairosd/kairosd/internal/config"
)

// upkeep is the part of a configuration about retention and backups.
type upkeep struct {
	policy  domain.Retention
	words   []string // description of the policy
	backups string   // directory
	keep    config.Backup
	// retain and backup are the intervals of retention and backups; 0 means never.
	retain, backup time.Duration
	over           chan struct{} // closed when another configuration is active
}

func upkeepOf(dir datadir.Dir, cfg config.Config) (*upkeep, error) {
	policy, err := cfg.Retention.Policy()
	if err != nil {
		return nil, err
	}
	return &upkeep{policy: policy, words: describeRetention(cfg.Retention), backups: dir.Backups(cfg), keep: cfg.Backup,
		retain: cmp.Or(mustAge(cfg.Retention.Every), time.Hour), backup: cfg.Backup.Interval(), over: make(chan struct{})}, nil
}

// reconfigure changes retention and backups from now on.
func (s *system) reconfigure(u *upkeep) {
	if before := s.up.Swap(u); before != nil {
		close(before.over)
	}
	// Stored for an upgrade of the database without this configuration.
	if err := recovery.KeepRecipients(context.Background(), s.store, u.keep.Recipients); err != nil {
		s.Logger.Error("store the recipients of encrypted backups", "err", err)
	}
}

// schedule starts the jobs in goroutines of wg, which end with the context. When it returns, Server
// lists them all.
func (s *system) schedule(ctx context.Context, wg *sync.WaitGroup) {
	// A job runs for the first time after first, and then at the interval every. If a configuration
	// changes the interval, the job starts again.
	job := func(what string, first func() time.Duration, every func(*upkeep) time.Duration, f func() error) {
		j := &domain.Job{Name: what}
		var due time.Time
		plan := func(u *upkeep) {
			d := every(u)
			if d == j.Every.Duration() {
				return
			}
			due = time.Now().Add(first())
			s.mu.Lock()
			defer s.mu.Unlock()
			s.jobs = slices.DeleteFunc(s.jobs, func(other *domain.Job) bool { return other == j && d == 0 })
			if j.Every == 0 {
				s.jobs = append(s.jobs, j)
			}
			j.Every, j.NextAt = domain.Millis(d), due.UTC()
		}
		u := s.up.Load()
		plan(u)
		wg.Go(func() {
			for {
				var turn <-chan time.Time // nil means never
				if j.Every > 0 {
					turn = time.After(time.Until(due))
				}
				select {
				case <-ctx.Done():
					return
				case <-u.over:
					u = s.up.Load()
					plan(u)
					continue
				case <-turn:
				}
				s.mu.Lock()
				j.Running, j.LastAt = true, time.Now().UTC()
				s.mu.Unlock()
				err := f()
				if err != nil && ctx.Err() == nil {
					s.Logger.Error(what, "err", err)
				}
				due = time.Now().Add(j.Every.Duration())
				s.mu.Lock()
				j.Running, j.Took, j.Error, j.NextAt = false, domain.Millis(time.Since(j.LastAt)), "", due.UTC()
				if err != nil {
					j.Error = err.Error()
				}
				s.mu.Unlock()
			}
		})
	}
	after := func(d time.Duration) func() time.Duration { return func() time.Duration { return d } }
	always := func(d time.Duration) func(*upkeep) time.Duration { return func(*upkeep) time.Duration { return d } }
	job("measure storage", after(10*time.Second), always(10*time.Minute), func() error { return s.sumUp(ctx) })
	job("retention", after(time.Minute), func(u *upkeep) time.Duration { return u.retain }, func() error {
		r, err := s.Retain(ctx, domain.System, "", false)
		if r.Runs+r.Events > 0 {
			s.Logger.Info("retention", "runs", r.Runs, "rows", r.Rows, "events", r.Events, "bytes", r.Bytes, "ms", r.Took)
		}
		return err
	})
	job("delete expired records", after(time.Hour), always(time.Hour), func() error { return s.store.Expire(ctx) })
	job("test a restore", func() time.Duration { return s.untilRestoreTest(ctx) }, always(restoreTestEvery),
		func() error { return s.testRestore(ctx) })
	job("check the database", func() time.Duration { return s.untilCheck(ctx) }, always(checkEvery), func() error { return s.check(ctx) })
	job(
		"backup",
		func() time.Duration { return s.untilBackup(s.up.Load().backup) },
		func(u *upkeep) time.Duration { return u.backup },
		func() error {
			b, err := s.BackUp(ctx, domain.System)
			if err == nil {
				s.Logger.Info("backup", "file", b.Path, "bytes", b.Bytes, "event", b.AuditSeq)
			}
			return err
		},
	)
}

// mustAge parses a duration that the configuration has validated.
func mustAge(text string) time.Duration {
	d, err := config.Age(text)
	if err != nil {
		return 0
	}
	return d
}
