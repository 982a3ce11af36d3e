package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

const (
	// purgeTime is the longest duration of a retention transaction, so that no checkpoint waits
	// longer for it.
	purgeTime = 2 * time.Millisecond
	// purgeStep is the number of journal rows that one statement deletes.
	purgeStep = 100
	// purgeRuns is the number of runs that are marked as purged at once.
	purgeRuns = 50
	// orphanAge is how long a payload is kept without a checkpoint.
	orphanAge = time.Hour
	// vacuumSQL frees as many pages as one transaction may.
	vacuumSQL = "PRAGMA incremental_vacuum(128)"
	// keptFree is the number of free pages that stay in the file for new data.
	keptFree = 1024
)

// purgeable is a run whose journal may be deleted.
type purgeable struct {
	row, plan, end, steps int64
	id                    string
	reason                string
}

// Retain deletes the journals and values of finished runs that the rules do not keep, and returns
// their space to the disk. It works in transactions of about two milliseconds with pauses between
// them. The runs stay in lists, and the audit log keeps a record of each purge with the digests of
// the deleted data. With dryRun, it only reports what it would delete, except for the limit on
// size, which depends on the space that the other rules free. The context can end it at any time.
func (s retention) Retain(ctx context.Context, policy domain.Retention, actor domain.Actor, dryRun bool) (domain.RetentionResult, error) {
	began := time.Now()
	r := &retaining{s: s.store, actor: actor, dryRun: dryRun, total: map[[2]string]*domain.RetentionPlan{}}
	before, err := s.store.size(ctx)
	if err != nil {
		return domain.RetentionResult{}, err
	}
	names, err := s.store.q.PlanNames(ctx)
	if err != nil {
		return domain.RetentionResult{}, core.Translate(err, "list plans")
	}
	r.names = make(map[int64]string, len(names))
	for _, p := range names {
		r.names[p.ID] = p.Key
	}
	for _, p := range names {
		rule, own := policy.Plans[p.Key]
		if !own {
			rule = policy.Default
		}
		if err = r.plan(ctx, p.ID, rule); err != nil {
			break
		}
	}
	if err == nil && policy.MaxSize > 0 {
		err = r.size(ctx, policy.MaxSize)
	}
	out := domain.RetentionResult{DryRun: dryRun, Plans: []domain.RetentionPlan{}}
	for _, key := range slices.SortedFunc(maps.Keys(r.total), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		p := r.total[key]
		out.Plans = append(out.Plans, *p)
		out.Runs += p.Runs
		out.Rows += p.Rows
	}
	if err == nil && !dryRun && policy.Audit > 0 {
		out.Events, err = s.store.CutAudit(ctx, s.store.now().Add(-policy.Audit), actor)
	}
	if err == nil && !dryRun {
		if _, err = s.store.CollectPayloads(ctx); err == nil {
			err = s.store.GiveBack(ctx)
		}
		if after, sizeErr := s.store.size(ctx); err == nil && sizeErr == nil {
			out.Bytes = max(0, before-after)
		}
	}
	out.Took = time.Since(began).Milliseconds()
	return out, err
}

// retaining is one pass of retention.
type retaining struct {
	s      *Store
	actor  domain.Actor
	dryRun bool
	names  map[int64]string
	total  map[[2]string]*domain.RetentionPlan
}

// plan applies a rule to the runs of one plan.
func (r *retaining) plan(ctx context.Context, plan int64, rule domain.RetentionRule) error {
	if rule.Empty() {
		return nil
	}
	now := r.s.now()
	beyond, err := r.beyond(ctx, plan, rule.Keep)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		status domain.RunStatus
		age    time.Duration
	}{{domain.RunCompleted, rule.Completed}, {domain.RunFailed, rule.Failed}, {domain.RunCancelled, rule.Cancelled}} {
		old := int64(0)
		if part.age > 0 {
			old = now.Add(-part.age).UnixMicro()
		}
		p := dbsqlc.RunEndedOfPlanParams{PlanID: plan, Status: string(part.status), Before: max(old, beyond), Max: purgeRuns}
		for p.Before > 0 {
			rows, err := r.s.q.RunEndedOfPlan(ctx, p)
			if err != nil {
				return core.Translate(err, "find old runs")
			}
			batch := make([]purgeable, 0, len(rows))
			for _, row := range rows {
				reason := "age"
				if row.EndedAt >= old {
					reason = "count"
				}
				batch = append(batch, purgeable{row.ID, row.PlanID, row.EndedAt, row.LastSeq, row.PublicID, reason})
				p.AfterEnd, p.AfterID = row.EndedAt, row.ID
			}
			if _, err := r.remove(ctx, batch); err != nil {
				return err
			}
			if len(rows) < purgeRuns {
				break
			}
		}
	}
	return nil
}

// beyond returns the end time before which a plan has more runs than it may keep, or 0.
func (r *retaining) beyond(ctx context.Context, plan, keep int64) (int64, error) {
	if keep <= 0 {
		return 0, nil
	}
	var ends []int64
	for _, status := range []domain.RunStatus{domain.RunCompleted, domain.RunFailed, domain.RunCancelled} {
		list, err := r.s.q.RunNewestEnds(ctx, plan, string(status), keep+1)
		if err != nil {
			return 0, core.Translate(err, "count runs")
		}
		ends = append(ends, list...)
	}
	if int64(len(ends)) <= keep {
		return 0, nil
	}
	slices.SortFunc(ends, func(a, b int64) int { return cmp.Compare(b, a) })
	return ends[keep-1], nil
}

// size deletes the oldest runs until the database is within its limit.
func (r *retaining) size(ctx context.Context, most int64) error {
	var end, id int64
	for {
		u, err := r.s.Usage(ctx)
		if err != nil || u.Database-u.Unused <= most || r.dryRun {
			return err
		}
		var batch []purgeable
		for _, status := range []domain.RunStatus{domain.RunCompleted, domain.RunFailed, domain.RunCancelled} {
			rows, err := r.s.q.RunEnded(ctx, dbsqlc.RunEndedParams{Status: string(status), AfterEnd: end, AfterID: id, Max: purgeRuns})
			if err != nil {
				return core.Translate(err, "find old runs")
			}
			for _, row := range rows {
				batch = append(batch, purgeable{row.ID, row.PlanID, row.EndedAt, row.LastSeq, row.PublicID, "size"})
			}
		}
		slices.SortFunc(batch, func(a, b purgeable) int { return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.row, b.row)) })
		batch = batch[:min(len(batch), purgeRuns)]
		last := len(batch) < purgeRuns
		if n := len(batch); n > 0 {
			end, id = batch[n-1].end, batch[n-1].row
		}
		if _, err := r.remove(ctx, batch); err != nil || last {
			return err
		}
	}
}

// remove purges the runs of a batch that no rule keeps.
func (r *retaining) remove(ctx context.Context, batch []purgeable) (int, error) {
	free := batch[:0]
	for _, p := range batch {
		kept, err := r.s.q.RunKept(ctx, p.row)
		if err != nil {
			return 0, core.Translate(err, "read a run")
		}
		if kept == 0 {
			free = append(free, p)
		}
	}
	if len(free) == 0 {
		return 0, ctx.Err()
	}
	if !r.dryRun {
		if err := r.s.purge(ctx, free, r.actor); err != nil {
			return 0, err
		}
	}
	for _, p := range free {
		key := [2]string{r.names[p.plan], p.reason}
		if r.total[key] == nil {
			r.total[key] = &domain.RetentionPlan{Plan: domain.PlanRef{Key: key[0]}, Reason: key[1]}
		}
		r.total[key].Runs++
		r.total[key].Rows += p.steps
	}
	return len(free), nil
}

// PurgeRun permanently deletes a final run's journal, values, handoffs, messages, and memory. The
// run stays in lists, and the audit log keeps its records with their digests. A run that is not
// final is CodeConflict.
func (s retention) PurgeRun(ctx context.Context, id string, actor domain.Actor, reason string) error {
	rowID, err := s.store.db.RowID(ctx, id)
	if err != nil {
		return err
	}
	return s.store.purge(ctx, []purgeable{{row: rowID, id: id, reason: reason}}, actor)
}

// purge marks runs as purged in one transaction, and deletes their data in as many transactions as
// needed.
func (s retention) purge(ctx context.Context, batch []purgeable, actor domain.Actor) error {
	var values [][]byte
	err := s.store.writer.performEvenFull(func(w *writer) ([]auditRow, error) {
		var rows []auditRow
		values = values[:0]
		for _, p := range batch {
			// Check before writing: a rejected operation must change nothing.
			st, err := w.state(p.row, p.id)
			if err != nil {
				return nil, err
			}
			purged, err := w.q.RunPurgedAt(w.ctx, p.row)
			if err != nil {
				return nil, err
			}
			if !domain.RunStatus(st.Status).Final() || purged != 0 {
				if len(batch) > 1 {
					continue // resumed in the meantime
				}
				return nil, domain.Errorf(domain.CodeConflict, "run %s is not finished, or was purged already", domain.ShortID(p.id))
			}
			if n, err := w.q.RunPurge(w.ctx, w.s.now().UnixMicro(), p.row); err != nil {
				return nil, err
			} else if n == 0 {
				return nil, fmt.Errorf("store: run %s cannot be purged", p.id)
			}
			only, err := w.q.PayloadOnlyOf(w.ctx, p.row)
			if err != nil {
				return nil, err
			}
			values = append(values, only...)
			if err := w.q.RunDetailPurge(w.ctx, p.row); err != nil {
				return nil, err
			}
			for _, remove := range []func(context.Context, int64) error{w.q.HandoffDelete, w.q.MessageDelete, w.q.MemoryDelete} {
				if err := remove(w.ctx, p.row); err != nil {
					return nil, err
				}
			}
			if err := w.q.ApprovalPurge(w.ctx, p.row); err != nil {
				return nil, err
			}
			delete(w.hot, p.row)
			rows = append(
				rows,
				auditRow{
					rowID: p.row,
					record: domain.AuditRecord{Action: "run.purge", Actor: actor.Name, Source: actor.Source, Request: actor.Request,
						Run: p.id, Reason: p.reason},
				},
			)
		}
		return rows, nil
	})
	if err != nil {
		return err
	}
	failpoint.Hit("purge.durable")
	for i := 0; i < len(batch); {
		at := i
		if err := s.store.inSteps(ctx, func() { at = i }, func(w *writer) (bool, error) {
			p := batch[at]
			if purged, err := w.q.RunPurgedAt(w.ctx, p.row); err != nil {
				return false, err
			} else if purged == 0 { // resumed in the meantime
				at++
				return at < len(batch), nil
			}
			n, err := w.q.StepDelete(w.ctx, p.row, purgeStep)
			if err == nil && n < purgeStep {
				at++
				err = w.q.PayloadRefDelete(w.ctx, p.row)
			}
			return at < len(batch), err
		}); err != nil {
			return err
		}
		i = at
	}
	before := s.store.now().Add(-orphanAge).UnixMicro()
	for len(values) > 0 {
		left := values
		if err := s.store.inSteps(ctx, func() { left = values }, func(w *writer) (bool, error) {
			// Another run may use the payload by now. Then it stays.
			_, err := w.q.PayloadDelete(w.ctx, left[0], before)
			left = left[1:]
			return len(left) > 0, err
		}); err != nil {
			return err
		}
		values = left
	}
	return nil
}

// inSteps calls step in one transaction until it reports that there is no more, or the time is up.
// It then pauses as long as that took, because active runs have priority. If the transaction is
// rolled back, it starts again with reset.
func (s retention) inSteps(ctx context.Context, reset func(), step func(w *writer) (more bool, err error)) error {
	var took time.Duration
	err := s.store.writer.performEvenFull(func(w *writer) ([]auditRow, error) {
		began := time.Now()
		defer func() { took = time.Since(began) }()
		reset()
		for {
			if more, err := step(w); err != nil || !more || time.Since(began) > purgeTime {
				return nil, err
			}
		}
	})
	if err != nil {
		return err
	}
	return rest(ctx, took)
}

// rest waits for d, or until the context ends.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
