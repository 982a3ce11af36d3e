package apptest

import (
	"context"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/bulk"
	"github.com/kairosd/kairosd/internal/domain"
)

// Bulk contains the operations on bulk operations and their worker, for tests that concern neither
// requests nor their keys.
type Bulk struct {
	*bulk.Service
	Of     *app.Bulk
	Reader interface {
		Bulk(ctx context.Context, id string) (domain.Bulk, error)
		BulkItems(ctx context.Context, f domain.BulkItemFilter) ([]domain.BulkItem, error)
	}
}

// BulkOn returns the operations of an App with another service.
func BulkOn(c app.Config, s *bulk.Service, reader interface {
	Bulk(ctx context.Context, id string) (domain.Bulk, error)
	BulkItems(ctx context.Context, f domain.BulkItemFilter) ([]domain.BulkItem, error)
}) Bulk {
	c.Bulk = s
	return Bulk{Service: s, Of: app.New(c).Bulk, Reader: reader}
}

// Start starts a bulk operation.
func (b Bulk) Start(ctx context.Context, who domain.Actor, r domain.BulkRequest) (domain.Bulk, error) {
	return b.Of.Start(ctx, app.BulkStart{Meta: by(who), BulkRequest: r})
}

// Stop stops a bulk operation.
func (b Bulk) Stop(ctx context.Context, who domain.Actor, id, reason string) (domain.Bulk, error) {
	return b.Of.Stop(ctx, app.BulkChange{Meta: by(who), Bulk: id, Reason: reason})
}

// Bulk finds a bulk operation.
func (b Bulk) Bulk(ctx context.Context, id string) (domain.Bulk, error) {
	return b.Reader.Bulk(ctx, id)
}

// Items returns the runs of a bulk operation.
func (b Bulk) Items(ctx context.Context, id string, after int64, limit int) ([]domain.BulkItem, error) {
	return b.Reader.BulkItems(ctx, domain.BulkItemFilter{Bulk: id, After: after, Limit: limit})
}
