package query

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// FailureOrigin returns what preceded the first failure of a group. It returns CodeNotFound if no
// run of the group needs attention.
func (s *SummaryReader) FailureOrigin(ctx context.Context, ref domain.FailureRef) (domain.FailureOrigin, error) {
	first, err := s.db.Q.FailureGroupFirst(
		ctx,
		dbsqlc.FailureGroupFirstParams{Plan: ref.PlanKey, Node: ref.Node, ErrorCode: ref.Code, Fingerprint: ref.Fingerprint},
	)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.FailureOrigin{}, domain.Errorf(
			domain.CodeNotFound,
			"no failure of %s at %s with %s needs attention",
			ref.PlanKey,
			ref.Node,
			ref.Code,
		)
	} else if err != nil {
		return domain.FailureOrigin{}, core.Translate(err, "find the first failure")
	}
	o := domain.FailureOrigin{Version: int(first.Number), FirstAt: core.FromMicros(first.CreatedAt)}
	good, err := s.db.Q.RunGoodBefore(ctx, first.PlanID, first.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return o, nil
	} else if err != nil {
		return o, core.Translate(err, "find the last success")
	}
	o.Good, o.GoodVersion, o.GoodAt = good.PublicID, int(good.Number), core.FromMicros(good.CreatedAt)
	return o, nil
}

// groupTimesMax is the maximum number of runs of a failure group whose times are read.
const groupTimesMax = 1000

// FailureTimes returns the times at which the newest runs of a failure group failed.
func (s *SummaryReader) FailureTimes(ctx context.Context, ref domain.FailureRef) ([]time.Time, error) {
	ends, err := s.db.Q.FailureGroupTimes(ctx, dbsqlc.FailureGroupTimesParams{
		Plan: ref.PlanKey, Node: ref.Node, ErrorCode: ref.Code, Fingerprint: ref.Fingerprint, Max: groupTimesMax,
	})
	if err != nil {
		return nil, core.Translate(err, "read the times of failures")
	}
	out := make([]time.Time, len(ends))
	for i, at := range ends {
		out[i] = core.FromMicros(at)
	}
	return out, nil
}

// FailureAcks lists failures acknowledged since a time, newest first.
func (s *SummaryReader) FailureAcks(ctx context.Context, since time.Time, limit int) ([]domain.FailureAck, error) {
	rows, err := s.db.Q.FailureAckList(ctx, core.Micros(since), int64(limit))
	if err != nil {
		return nil, core.Translate(err, "list acknowledged failures")
	}
	out := make([]domain.FailureAck, len(rows))
	for i, r := range rows {
		out[i] = core.FailureAck(
			dbsqlc.FailureAck{
				PlanID:      r.PlanID,
				Node:        r.Node,
				ErrorCode:   r.ErrorCode,
				Fingerprint: r.Fingerprint,
				Headline:    r.Headline,
				Message:     r.Message,
				Actor:       r.Actor,
				Note:        r.Note,
				Runs:        r.Runs,
				At:          r.At,
			},
			r.Key,
		)
	}
	return out, nil
}

// outcomesMax is the maximum number of rows that a chart reads.
const outcomesMax = 50_000

// Outcomes counts the ended runs since a time by final status, plan, and half hour.
func (s *SummaryReader) Outcomes(ctx context.Context, since time.Time) ([]domain.Outcome, error) {
	rows, err := s.db.Q.OutcomeList(ctx, core.SlotOf(since.UnixMicro()), outcomesMax)
	if err != nil {
		return nil, core.Translate(err, "read outcomes")
	}
	out := make([]domain.Outcome, len(rows))
	for i, r := range rows {
		out[i] = domain.Outcome{
			PlanKey: r.Key,
			From:    time.Unix(r.Slot*int64(domain.OutcomeSlot/time.Second), 0).UTC(),
			Status:  domain.RunStatus(r.Status),
			Runs:    r.N,
		}
	}
	return out, nil
}

// PlanOutcomes counts the ended runs of one plan since a time by final status.
func (s *SummaryReader) PlanOutcomes(ctx context.Context, plan string, since time.Time) (map[domain.RunStatus]int64, error) {
	n, err := s.db.Q.OutcomeOfPlan(ctx, plan, core.SlotOf(since.UnixMicro()))
	if err != nil {
		return nil, core.Translate(err, "read outcomes")
	}
	out := map[domain.RunStatus]int64{domain.RunCompleted: n.Completed, domain.RunFailed: n.Failed, domain.RunCancelled: n.Cancelled}
	maps.DeleteFunc(out, func(_ domain.RunStatus, n int64) bool { return n == 0 })
	return out, nil
}
