package daemon

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/recovery"
)

// checkEvery is the interval of integrity checks of the whole database.
const checkEvery = 7 * 24 * time.Hour

// actionChecked is the audit action of an integrity check.
const actionChecked = "store.checked"

// untilCheck returns the time until the next integrity check is due, from the record of the last
// one. It is due soon after an unclean shutdown.
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

// check runs an integrity check of the whole database.
func (s *system) check(ctx context.Context) error {
	began := time.Now()
	checks, err := recovery.Verify(ctx, s.store)
	if err != nil {
		return err
	}
	record := domain.AuditRecord{
		Action: actionChecked,
		Actor:  domain.System.Name,
		Source: domain.System.Source,
		Reason: "no problem found",
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
	for _, c := range checks { // a damaged run must not continue or wait for approval
		for _, run := range c.Runs {
			if err := s.engine.CheckDamage(ctx, run); err != nil {
				s.Logger.Error("a run that may be damaged cannot be quarantined", "run_id", run, "check", c.Name, "err", err)
			}
		}
	}
	s.Logger.Info("integrity check of the database completed", "result", record.Reason, "ms", time.Since(began).Milliseconds())
	s.mu.Lock()
	s.checks.checkedAt, s.checks.finding = time.Now().UTC(), ""
	if record.Result != "" {
		s.checks.finding = record.Reason
	}
	s.mu.Unlock()
	s.sumTables(ctx)
	return s.store.Audit(ctx, record)
}

// sumTables measures the size of tables. It reads every page, as an integrity check does.
func (s *system) sumTables(ctx context.Context) {
	tables, err := s.store.Tables(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.Logger.Warn("measure the tables", "err", err)
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usage.tables, s.usage.tablesAt = tables, time.Now().UTC()
}

// smallDatabase is the size, in bytes, up to which tables are measured often, because reading it is
// fast.
const smallDatabase = 64 << 20

// sumUp measures the size of plans.
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
