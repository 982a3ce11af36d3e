package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"sync/atomic"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// mostFailureGroups bounds what is kept of failures that are alike.
const mostFailureGroups = 200

// failureRows keeps how failed runs group: to count them anew takes longer than
// everything else that home asks, and pages ask far more often than runs fail.
type failureRows struct {
	moves atomic.Int64 // transactions in which a run came to be failed, or stopped being it
	kept  atomic.Pointer[failureCount]
}

// failureCount is how failed runs grouped after so many moves.
type failureCount struct {
	moves int64
	rows  []dbsqlc.FailureGroupsRow
}

// moved is called when a transaction that moved failed runs is committed, before
// anybody is told of it: so nobody who was told reads what was before.
func (f *failureRows) moved() { f.moves.Add(1) }

// read gives the groups, counted if anything moved since they were.
func (f *failureRows) read(ctx context.Context, q *dbsqlc.Queries) ([]dbsqlc.FailureGroupsRow, error) {
	moves := f.moves.Load() // before the count, which may see more than these
	if kept := f.kept.Load(); kept != nil && kept.moves == moves {
		return kept.rows, nil
	}
	rows, err := q.FailureGroups(ctx, mostFailureGroups)
	if err == nil {
		f.kept.Store(&failureCount{moves: moves, rows: rows})
	}
	return rows, err
}

// FailureGroups lists failed runs that nobody has dealt with or taken note of by
// what failed: plan, node, error code and what the error says, the newest failure
// first, at most limit groups, and at most 200.
func (s attention) FailureGroups(ctx context.Context, limit int) ([]domain.FailureGroup, error) {
	if s.store.writer == nil { // another process may move them
		s.store.failures.moved()
	}
	rows, err := s.store.failures.read(ctx, s.store.q)
	if err != nil {
		return nil, core.Translate(err, "group failures")
	}
	var out []domain.FailureGroup
	for _, r := range rows[:min(max(limit, 0), len(rows))] {
		newest, err := s.store.q.FailureGroupNewest(ctx, dbsqlc.FailureGroupNewestParams{PlanID: r.PlanID, Node: r.Node, ErrorCode: r.ErrorCode, Fingerprint: r.Fingerprint})
		if errors.Is(err, sql.ErrNoRows) {
			continue // dealt with in between
		} else if err != nil {
			return nil, core.Translate(err, "group failures")
		}
		g := domain.FailureGroup{PlanID: newest.PlanPublicID, PlanKey: newest.Key, Node: r.Node, Code: r.ErrorCode, Alike: r.Fingerprint, Runs: r.Runs,
			First: core.FromMicros(r.FirstAt), Last: core.FromMicros(r.LastAt), Newest: newest.PublicID, Headline: newest.Headline, Version: int(newest.Number)}
		acks, err := s.store.q.FailureAcks(ctx, dbsqlc.FailureAcksParams{PlanID: r.PlanID, Node: r.Node, ErrorCode: r.ErrorCode, Fingerprint: r.Fingerprint})
		if err != nil {
			return nil, core.Translate(err, "group failures")
		}
		for _, ack := range acks {
			if a := core.FailureAck(ack, newest.Key); g.Ack == nil || a.At.After(g.Ack.At) {
				g.Ack = &a
			}
		}
		out = append(out, g)
	}
	return out, nil
}

// ackBatch is how many runs one write acknowledges: others write in between.
const ackBatch = 2000

// AckFailures takes note of a group: its runs need no attention until they, or
// others like them, fail anew. It says how many runs that were; CodeConflict: none.
func (s attention) AckFailures(ctx context.Context, actor domain.Actor, ref domain.FailureRef, note string) (int64, error) {
	headline, err := s.store.newestOf(ctx, ref)
	if err != nil {
		return 0, err
	}
	n, err := s.store.setAttention(ctx, ref, false, func(w *writer, planID, n int64) (auditRow, error) {
		err := w.q.FailureAckPut(w.ctx, dbsqlc.FailureAckPutParams{PlanID: planID, Node: ref.Node, ErrorCode: ref.Code, Fingerprint: ref.Alike, Headline: headline, Actor: actor.Name, Note: note, Runs: n, At: w.s.now().UnixMicro()})
		return failureRecord("failure.ack", actor, ref, note, n), err
	})
	if err == nil && n == 0 {
		err = domain.Errorf(domain.CodeConflict, "no failure of %s at %s with %s needs attention any more", ref.PlanKey, ref.Node, ref.Code).
			Suggest("somebody else took note of it, or the runs were resumed")
	}
	return n, err
}

// UnackFailures takes an acknowledgement back.
func (s attention) UnackFailures(ctx context.Context, actor domain.Actor, ref domain.FailureRef) (int64, error) {
	return s.store.setAttention(ctx, ref, true, func(w *writer, planID, n int64) (auditRow, error) {
		return failureRecord("failure.unack", actor, ref, "", n), w.q.FailureAckDelete(w.ctx, dbsqlc.FailureAckDeleteParams{PlanID: planID, Node: ref.Node, ErrorCode: ref.Code, Fingerprint: ref.Alike, FingerprintLast: lastAlike(ref)})
	})
}

// lastAlike is, with what a name says of messages, the range of those it means.
func lastAlike(ref domain.FailureRef) string {
	return cmp.Or(ref.Alike, "g") // beyond all that are hexadecimal
}

// newestOf is the headline of the run of a group that failed last; empty: none
// of it needs attention any more, or what they say is left open.
func (s attention) newestOf(ctx context.Context, ref domain.FailureRef) (string, error) {
	p, err := s.store.db.PlanRow(ctx, ref.PlanKey)
	if err != nil || ref.Alike == "" {
		return "", err
	}
	r, err := s.store.q.FailureGroupNewest(ctx, dbsqlc.FailureGroupNewestParams{PlanID: p.ID, Node: ref.Node, ErrorCode: ref.Code, Fingerprint: ref.Alike})
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return r.Headline, core.Translate(err, "find the newest failure")
}

func failureRecord(action string, actor domain.Actor, ref domain.FailureRef, note string, n int64) auditRow {
	return auditRow{record: domain.AuditRecord{Action: action, Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Object: "plan:" + ref.PlanKey, Reason: note,
		Detail: domain.RawJSON(core.EncodeJSON(map[string]any{"node": ref.Node, "code": ref.Code, "alike": ref.Alike, "runs": n}))}}
}

// setAttention marks the runs of a group as they are listed now. The first
// transaction writes what record returns: a crash between two of them leaves runs
// unmarked, but none marked without a record.
func (s attention) setAttention(ctx context.Context, ref domain.FailureRef, on bool, record func(w *writer, planID, n int64) (auditRow, error)) (total int64, err error) {
	if s.store.writer == nil {
		return 0, errReadOnly()
	}
	p, err := s.store.db.PlanRow(ctx, ref.PlanKey)
	if err != nil {
		return 0, err
	}
	group, err := s.store.groupRuns(ctx, p.ID, ref, on)
	if err != nil {
		return 0, core.Translate(err, "list failures")
	}
	for first := true; len(group) > 0; first = false {
		batch := group[:min(ackBatch, len(group))]
		group = group[len(batch):]
		var marked int64
		err := s.store.writer.perform(func(w *writer) ([]auditRow, error) {
			marked = 0
			for _, run := range batch {
				n, err := w.q.RunAttention(w.ctx, core.Flag(on), run.ID, run.EndedAt)
				if err != nil {
					return nil, err
				}
				delete(w.hot, run.ID)
				marked += n
			}
			from, to := countKey{string(domain.RunFailed), ""}, countKey{string(domain.RunFailed), core.Acknowledged}
			if on {
				from, to = to, from
			}
			w.counts[from] -= marked
			w.counts[to] += marked
			if !first || marked == 0 && len(group) == 0 {
				return nil, nil
			}
			row, err := record(w, p.ID, marked+int64(len(group)))
			return []auditRow{row}, err
		})
		if err != nil {
			return total, core.Translate(err, "acknowledge failures")
		}
		total += marked
	}
	return total, nil
}

// groupRuns lists the runs of a group that need attention or, with acknowledged,
// those that do not, and when each failed.
func (s attention) groupRuns(ctx context.Context, planID int64, ref domain.FailureRef, acknowledged bool) ([]dbsqlc.FailureAckRunsRow, error) {
	p := dbsqlc.FailureAckRunsParams{PlanID: planID, Node: ref.Node, ErrorCode: ref.Code, Fingerprint: ref.Alike, FingerprintLast: lastAlike(ref)}
	if !acknowledged {
		return s.store.q.FailureAckRuns(ctx, p)
	}
	rows, err := s.store.q.FailureUnackRuns(ctx, dbsqlc.FailureUnackRunsParams(p))
	out := make([]dbsqlc.FailureAckRunsRow, len(rows))
	for i, r := range rows {
		out[i] = dbsqlc.FailureAckRunsRow(r)
	}
	return out, err
}

// SetPreference keeps what a person chose.
func (s attention) SetPreference(_ context.Context, owner, key, value string) error {
	return s.store.exec("keep preference "+key, func(ctx context.Context, q *dbsqlc.Queries) error {
		return q.PreferencePut(ctx, owner, key, value)
	})
}
