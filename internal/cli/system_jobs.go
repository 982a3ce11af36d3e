package cli

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/kairos"
)

// run does what is due, until the context ends.
func (s *system) run(ctx context.Context, cfg config.Config) {
	retain := cmp.Or(mustAge(cfg.Retention.Every), time.Hour)
	backup := mustAge(cfg.Backup.Every)
	var wg sync.WaitGroup
	every := func(first, d time.Duration, what string, f func() error) {
		j := &kairos.Job{Name: what, Every: d, NextAt: time.Now().Add(first).UTC()}
		s.mu.Lock()
		s.jobs = append(s.jobs, j)
		s.mu.Unlock()
		wg.Go(func() {
			t := time.NewTimer(first)
			defer t.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-t.C:
				}
				s.mu.Lock()
				j.Running, j.LastAt = true, time.Now().UTC()
				s.mu.Unlock()
				err := f()
				if err != nil && ctx.Err() == nil {
					s.log.Error(what, "err", err)
				}
				s.mu.Lock()
				j.Running, j.Took, j.Error, j.NextAt = false, time.Since(j.LastAt), "", time.Now().Add(d).UTC()
				if err != nil {
					j.Error = err.Error()
				}
				s.mu.Unlock()
				t.Reset(d)
			}
		})
	}
	every(10*time.Second, 10*time.Minute, "sum up storage", func() error { return s.sumUp(ctx) })
	every(time.Minute, retain, "retention", func() error {
		r, err := s.Retain(ctx, kairos.System, "", false)
		if kairos.CodeOf(err) == kairos.CodeConflict {
			return nil // at the next turn
		}
		if r.Runs+r.Events > 0 {
			s.log.Info("retention", "runs", r.Runs, "rows", r.Rows, "events", r.Events, "bytes", r.Bytes, "ms", r.Took)
		}
		return err
	})
	every(s.untilDrill(ctx), drillEvery, "test a restore", func() error { return s.drill(ctx) })
	every(s.untilCheck(ctx), checkEvery, "examine the database", func() error { return s.check(ctx) })
	if backup > 0 {
		every(s.untilBackup(backup), backup, "backup", func() error {
			b, err := s.BackUp(ctx, kairos.System)
			if err == nil {
				s.log.Info("backup", "file", b.Path, "bytes", b.Bytes, "event", b.AuditSeq)
			}
			return err
		})
	}
	wg.Wait()
}

// mustAge reads an age that the configuration's check has read before.
func mustAge(text string) time.Duration {
	d, err := config.Age(text)
	if err != nil {
		return 0
	}
	return d
}
