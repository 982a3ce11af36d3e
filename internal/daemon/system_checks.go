package daemon

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/recovery"
)

// checkEvery is how often the whole database is examined.
const checkEvery = 7 * 24 * time.Hour

// actionChecked is the record of an examination.
const actionChecked = "store.checked"

// untilCheck is when the next examination is due, by the record of the last one;
// soon after an unclean stop.
func (s *system) untilCheck(ctx context.Context) time.Duration {
	list, err := s.store.AuditEvents(ctx, domain.AuditFilter{Action: actionChecked, Page: domain.Page{Limit: 1}})
	if err != nil || len(list.Items) == 0 {
		return time.Minute
	}
	last := list.Items[0]
	s.mu.Lock()
	s.checks.checkedAt = last.At
	if last.Result != "ok" {
		s.checks.finding = last.Reason
	}
	s.mu.Unlock()
	if s.unclean {
		return time.Minute
	}
	return max(time.Minute, checkEvery-time.Since(last.At))
}

// check examines the whole database.
func (s *system) check(ctx context.Context) error {
	began := time.Now()
	checks, err := recovery.Verify(ctx, s.store)
	if err != nil {
		return err
	}
	record := domain.AuditRecord{
		Action:  actionChecked,
		Actor:   domain.System.Name,
		Surface: domain.System.Surface,
		Reason:  "nothing was found",
	}
	for _, c := range checks {
		if len(c.Problems) > 0 {
			record.Result, record.Reason = "failed", c.Name+": "+c.Problems[0]
			s.Logger.Error(
				"the database has a problem",
				"check",
				c.Name,
				"problem",
				c.Problems[0],
				"problems",
				len(c.Problems),
				"advice",
				c.Advice,
			)
			break
		}
	}
	for _, c := range checks {
		if c.Name == recovery.CheckCounters && len(c.Problems) > 0 {
			if _, err := s.store.RecountRuns(ctx); err != nil {
				return err
			}
		}
	}
	for _, c := range checks { // what is damaged does not go on, nor asks anybody (RELIABILITY: bit rot)
		for _, run := range c.Runs {
			if err := s.engine.CheckDamage(ctx, run); err != nil {
				s.Logger.Error("a run that may be damaged cannot be looked at", "run_id", run, "check", c.Name, "err", err)
			}
		}
	}
	s.Logger.Info("the database was examined", "result", record.Reason, "ms", time.Since(began).Milliseconds())
	s.mu.Lock()
	s.checks.checkedAt, s.checks.finding = time.Now().UTC(), ""
	if record.Result != "" {
		s.checks.finding = record.Reason
	}
	s.mu.Unlock()
	s.sumTables(ctx)
	return s.store.Audit(ctx, record)
}

// sumTables refreshes what tables take. It reads every page, as an examination does.
func (s *system) sumTables(ctx context.Context) {
	tables, err := s.store.Tables(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.Logger.Warn("sum up the tables", "err", err)
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usage.tables, s.usage.tablesAt = tables, time.Now().UTC()
}

// smallDatabase is how large one may be for its tables to be summed up often: it is
// read within a blink.
const smallDatabase = 64 << 20

// sumUp refreshes what plans take.
func (s *system) sumUp(ctx context.Context) error {
	plans, err := s.store.PlanStorage(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.usage.plans, s.usage.plansAt = plans, time.Now().UTC()
	s.mu.Unlock()
	if u, err := s.store.Usage(ctx); err == nil && u.Database < smallDatabase {
		s.sumTables(ctx)
	}
	return nil
}
