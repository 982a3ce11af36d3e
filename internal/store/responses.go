package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// ReserveResponse claims a principal, route and key for one request; see
// api.IdempotencyStore. A claim that an earlier process left behind, or nobody
// answered for long, keeps its
// CreatedAt when the same request claims it again: what the request derives
// from it stays the same, so that what it began is found and not begun twice.
func (s responses) ReserveResponse(_ context.Context, r domain.StoredResponse, staleAfter time.Duration) (stored domain.StoredResponse, claimed bool, err error) {
	stale := core.Micros(r.CreatedAt.Add(-staleAfter))
	insert := dbsqlc.ResponseInsertParams{Principal: r.Principal, Route: r.Route, Key: r.Key, BodyHash: r.BodyHash, CreatedAt: core.Micros(r.CreatedAt)}
	var row dbsqlc.Response
	err = s.store.exec("reserve response", func(ctx context.Context, q *dbsqlc.Queries) error {
		n, err := q.ResponseInsert(ctx, insert)
		if claimed = n == 1; err != nil || claimed {
			return err
		}
		if row, err = q.ResponseGet(ctx, r.Principal, r.Route, r.Key); err != nil || row.Status != 0 {
			return err
		}
		// Nobody answers any more what an earlier process began.
		if _, alive := s.store.claims.Load(claimOf(r)); alive && row.CreatedAt >= stale {
			return nil
		}
		claimed = true
		if row.BodyHash == r.BodyHash {
			r.CreatedAt = core.FromMicros(row.CreatedAt)
			return nil
		}
		if err := q.ResponseDeleteStale(ctx, dbsqlc.ResponseDeleteStaleParams{Principal: r.Principal, Route: r.Route, Key: r.Key, StaleBefore: stale}); err != nil {
			return err
		}
		_, err = q.ResponseInsert(ctx, insert)
		return err
	})
	if err == nil && claimed {
		s.store.claims.Store(claimOf(r), nil)
	}
	if err != nil || claimed {
		return r, claimed && err == nil, err
	}
	stored = domain.StoredResponse{Principal: row.Principal, Route: row.Route, Key: row.Key, BodyHash: row.BodyHash, Status: int(row.Status),
		Body: row.Body, CreatedAt: core.FromMicros(row.CreatedAt)}
	if err := json.Unmarshal([]byte(row.Header), &stored.Header); err != nil {
		return stored, false, domain.Errorf(domain.CodeCorrupt, "stored response: %w", err)
	}
	return stored, false, nil
}

// CompleteResponse stores the answer of a claimed request.
func (s responses) CompleteResponse(_ context.Context, r domain.StoredResponse) error {
	defer s.store.claims.Delete(claimOf(r))
	return s.store.exec("store response", func(ctx context.Context, q *dbsqlc.Queries) error {
		body := r.Body
		if body == nil {
			body = []byte{}
		}
		return q.ResponseComplete(ctx, dbsqlc.ResponseCompleteParams{Status: int64(r.Status), Header: core.EncodeJSON(r.Header), Body: body,
			Principal: r.Principal, Route: r.Route, Key: r.Key})
	})
}

// ReleaseResponse gives a claim up, so that the request may be tried again.
func (s responses) ReleaseResponse(_ context.Context, principal, route, key string) error {
	defer s.store.claims.Delete([3]string{principal, route, key})
	return s.store.exec("release response", func(ctx context.Context, q *dbsqlc.Queries) error {
		return q.ResponseRelease(ctx, principal, route, key)
	})
}

// DeleteResponses removes records created before a time.
func (s responses) DeleteResponses(_ context.Context, before time.Time) error {
	return s.store.exec("delete stored responses", func(ctx context.Context, q *dbsqlc.Queries) error {
		return q.ResponseDeleteBefore(ctx, core.Micros(before))
	})
}
