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

// mostFailureGroups limits the groups of failures that are kept.
const mostFailureGroups = 200

// failureRows caches how failed runs are grouped. Counting takes longer than all other queries of
// the home page, and pages read the groups far more often than runs fail.
type failureRows struct {
	moves atomic.Int64 // number of transactions that changed whether a run is failed
	kept  atomic.Pointer[failureCount]
}

// failureCount are the groups after a number of moves.
type failureCount struct {
	moves int64
	rows  []dbsqlc.FailureGroupsRow
}

// moved is called when a transaction that changed failed runs is committed, before its callers
// return. A caller thus never reads an older count.
func (f *failureRows) moved() { f.moves.Add(1) }

// read returns the groups. It counts them if a run has changed since the last count.
func (f *failureRows) read(ctx context.Context, q *dbsqlc.Queries) ([]dbsqlc.FailureGroupsRow, error) {
	moves := f.moves.Load() // read first: the count may include later changes
	if kept := f.kept.Load(); kept != nil && kept.moves == moves {
		return kept.rows, nil
	}
	rows, err := q.FailureGroups(ctx, mostFailureGroups)
	if err == nil {
		f.kept.Store(&failureCount{moves: moves, rows: rows})
	}
	return rows, err
}

// FailureGroups groups failed runs that are not resolved or acknowledged by plan, step, error code,
// and fingerprint. It returns the groups with the newest failure first, at most limit and at most
// 200.
func (s attention) FailureGroups(ctx context.Context, limit int) ([]domain.FailureGroup, error) {
	if s.store.writer == nil { // another process may change the runs
		s.store.failures.moved()
	}
	rows, err := s.store.failures.read(ctx, s.store.q)
	if err != nil {
		return nil, core.Translate(err, "group failures")
	}
	var out []domain.FailureGroup
	for _, r := range rows[:min(max(limit, 0), len(rows))] {
		newest, err := s.store.q.FailureGroupNewest(
			ctx,
			dbsqlc.FailureGroupNewestParams{PlanID: r.PlanID, Node: r.Node, ErrorCode: r.ErrorCode, Fingerprint: r.Fingerprint},
		)
		if errors.Is(err, sql.ErrNoRows) {
			continue // resolved in the meantime
		} else if err != nil {
			return nil, core.Translate(err, "group failures")
		}
		g := domain.FailureGroup{
			Plan:        domain.PlanRef{ID: newest.PlanPublicID, Key: newest.Key, Version: int(newest.Number)},
			Node:        r.Node,
			Code:        r.ErrorCode,
			Fingerprint: r.Fingerprint,
			Runs:        r.Runs,
			First:       core.FromMicros(r.FirstAt),
			Last:        core.FromMicros(r.LastAt),
			Newest:      newest.PublicID,
			Headline:    newest.Headline,
			Message:     domain.DecodeMessage(newest.Message, newest.Headline),
		}
		acks, err := s.store.q.FailureAcks(
			ctx,
			dbsqlc.FailureAcksParams{PlanID: r.PlanID, Node: r.Node, ErrorCode: r.ErrorCode, Fingerprint: r.Fingerprint},
		)
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

// lastFingerprint is the end of the range of fingerprints that a reference matches.
func lastFingerprint(ref domain.FailureRef) string {
	return cmp.Or(ref.Fingerprint, "g") // greater than every hexadecimal text
}

// newestOf returns the status message of the newest failed run of a group. It is empty if no run of
// the group needs attention, or if the reference has no fingerprint.
func (s attention) newestOf(ctx context.Context, planID int64, ref domain.FailureRef) (headline string, message *string, err error) {
	if ref.Fingerprint == "" {
		return "", nil, nil
	}
	r, err := s.store.q.FailureGroupNewest(
		ctx,
		dbsqlc.FailureGroupNewestParams{PlanID: planID, Node: ref.Node, ErrorCode: ref.Code, Fingerprint: ref.Fingerprint},
	)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil, nil
	}
	return r.Headline, r.Message, core.Translate(err, "find the newest failure")
}

// ackBatch is the number of runs that one write acknowledges, so that other writes can come
// between.
const ackBatch = 2000

// FailedRuns are the runs of a failure group when it was listed.
type FailedRuns struct {
	planID   int64
	headline string // of the newest that needs attention
	message  *string
	runs     []dbsqlc.FailureAckRunsRow
}

// FailedRuns lists the runs of a group that need attention or, with acknowledged, those that do
// not. It returns CodeNotFound if the plan does not exist.
func (s attention) FailedRuns(ctx context.Context, ref domain.FailureRef, acknowledged bool) (FailedRuns, error) {
	p, err := s.store.db.PlanRow(ctx, ref.PlanKey)
	if err != nil {
		return FailedRuns{}, err
	}
	f := FailedRuns{planID: p.ID}
	if !acknowledged {
		if f.headline, f.message, err = s.store.newestOf(ctx, p.ID, ref); err != nil {
			return f, err
		}
	}
	f.runs, err = s.store.groupRuns(ctx, p.ID, ref, acknowledged)
	return f, core.Translate(err, "list failures")
}

// Len is the number of runs.
func (f FailedRuns) Len() int { return len(f.runs) }

// Split returns the runs that one transaction may mark, and the rest.
func (f FailedRuns) Split() (batch, rest FailedRuns) {
	batch, rest = f, f
	n := min(ackBatch, len(f.runs))
	batch.runs, rest.runs = f.runs[:n], f.runs[n:]
	return batch, rest
}

// groupRuns lists the runs of a group that need attention or, with acknowledged,
// those that do not, and when each failed.
func (s attention) groupRuns(
	ctx context.Context,
	planID int64,
	ref domain.FailureRef,
	acknowledged bool,
) ([]dbsqlc.FailureAckRunsRow, error) {
	p := dbsqlc.FailureAckRunsParams{
		PlanID:          planID,
		Node:            ref.Node,
		ErrorCode:       ref.Code,
		Fingerprint:     ref.Fingerprint,
		FingerprintLast: lastFingerprint(ref),
	}
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
