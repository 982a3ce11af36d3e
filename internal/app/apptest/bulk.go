package apptest

import (
	"context"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/bulk"
	"github.com/kairosd/kairosd/internal/domain"
)

// Bulk are the operations on bulk operations, and what carries them out, for tests that
// are about neither the requests nor their keys.
type Bulk struct {
	*bulk.Service
	Of     *app.Bulk
	Reader interface {
		Bulk(ctx context.Context, id string) (domain.Bulk, error)
		BulkItems(ctx context.Context, id string, after int64, limit int) ([]domain.BulkItem, error)
	}
}

// BulkOn is an App's with another service.
func BulkOn(c app.Config, s *bulk.Service, reader interface {
	Bulk(ctx context.Context, id string) (domain.Bulk, error)
	BulkItems(ctx context.Context, id string, after int64, limit int) ([]domain.BulkItem, error)
}) Bulk {
	c.Bulk = s
	return Bulk{Service: s, Of: app.New(c).Bulk, Reader: reader}
}

// Start starts a bulk operation.
func (b Bulk) Start(ctx context.Context, who domain.Actor, r domain.BulkRequest) (domain.Bulk, error) {
	return b.Of.Start(ctx, app.BulkStart{Meta: by(who), BulkRequest: r})
}

// Stop stops one.
func (b Bulk) Stop(ctx context.Context, who domain.Actor, id, reason string) (domain.Bulk, error) {
	return b.Of.Stop(ctx, app.BulkChange{Meta: by(who), Bulk: id, Reason: reason})
}

// Bulk finds one.
func (b Bulk) Bulk(ctx context.Context, id string) (domain.Bulk, error) {
	return b.Reader.Bulk(ctx, id)
}

// Items gives the runs of one.
func (b Bulk) Items(ctx context.Context, id string, after int64, limit int) ([]domain.BulkItem, error) {
	return b.Reader.BulkItems(ctx, id, after, limit)
}
