package app

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Bulk contains the operations on bulk operations, which apply one action to many runs. Start
// stores a bulk operation, and a worker in internal/bulk executes it.
type Bulk struct{ *kernel }

type bulkStore interface {
	Bulk(ctx context.Context, id string) (domain.Bulk, error)
	Bulks(ctx context.Context, limit int) ([]domain.Bulk, error)
	BulkItems(ctx context.Context, f domain.BulkItemFilter) ([]domain.BulkItem, error)
}

// List returns the newest bulk operations.
//
// Errors: forbidden.
func (b *Bulk) List(ctx context.Context, by domain.Actor, limit int) ([]domain.Bulk, error) {
	if err := b.allow(ctx, ListBulks, by, ""); err != nil {
		return nil, err
	}
	return b.store.Bulks(ctx, limit)
}

// Get returns one bulk operation.
//
// Errors: not_found, forbidden.
func (b *Bulk) Get(ctx context.Context, by domain.Actor, id string) (domain.Bulk, error) {
	if err := b.allow(ctx, GetBulk, by, ""); err != nil {
		return domain.Bulk{}, err
	}
	return b.store.Bulk(ctx, id)
}

// Items returns runs of a bulk operation, in order.
//
// Errors: forbidden.
func (b *Bulk) Items(ctx context.Context, by domain.Actor, f domain.BulkItemFilter) ([]domain.BulkItem, error) {
	if err := b.allow(ctx, GetBulk, by, ""); err != nil {
		return nil, err
	}
	return b.store.BulkItems(ctx, f)
}

// Preview returns what a request would do now, and to how many runs.
//
// Errors: invalid (the request), forbidden.
func (b *Bulk) Preview(ctx context.Context, by domain.Actor, r domain.BulkRequest) (domain.BulkPreview, error) {
	if err := b.allow(ctx, PreviewBulk, by, ""); err != nil {
		return domain.BulkPreview{}, err
	}
	return b.bulk.Preview(ctx, by, r)
}

func (b *Bulk) object() object[domain.Bulk] {
	return object[domain.Bulk]{id: func(b domain.Bulk) string { return b.ID }, find: b.store.Bulk}
}

// BulkStart is a request to start a bulk operation.
type BulkStart struct {
	Meta `json:"-"`
	domain.BulkRequest
}

// Start stores a bulk operation with all its runs. A worker then executes it.
//
// Errors: invalid (the request), stale (Digest is of other runs), conflict (none of the runs can be
// acted on), forbidden.
func (b *Bulk) Start(ctx context.Context, req BulkStart) (domain.Bulk, error) {
	known, done, err := before(ctx, b.kernel, StartBulk, req.Meta, req.BulkRequest, b.object())
	if err != nil || done {
		return known, err
	}
	stored, items, err := b.bulk.Prepare(ctx, req.By, req.BulkRequest)
	if err != nil {
		return domain.Bulk{}, err
	}
	out, repeated, err := performWithWork(
		ctx,
		b.kernel,
		StartBulk,
		req.Meta,
		req.BulkRequest,
		b.object(),
		func(tx *store.Tx) (domain.Bulk, error) {
			return stored, tx.CreateBulk(stored, items)
		},
	)
	if err == nil && !repeated {
		b.bulk.Launch(stored)
	}
	return out, err
}

// BulkChange identifies a bulk operation.
type BulkChange struct {
	Meta   `json:"-"`
	Bulk   string
	Reason string // kept in the audit log, and shown with the bulk operation
}

// Stop ends a bulk operation. The remaining runs are not changed. A stopped operation is returned
// unchanged.
//
// Errors: not_found, conflict (it is done), forbidden.
func (b *Bulk) Stop(ctx context.Context, req BulkChange) (domain.Bulk, error) {
	note := "stopped by " + req.By.Name
	if req.Reason != "" {
		note += ": " + req.Reason
	}
	out, repeated, err := performWithWork(ctx, b.kernel, StopBulk, req.Meta, req, b.object(), func(tx *store.Tx) (domain.Bulk, error) {
		stopped, err := tx.StopBulk(req.Bulk, note)
		if stopped.State == domain.BulkStopped && domain.CodeOf(err) == domain.CodeConflict {
			err = nil // it was stopped before
		}
		return stopped, err
	})
	if err == nil && !repeated {
		b.bulk.Cancel(req.Bulk)
	}
	return out, err
}

// later is a bulk operation that another operation starts. If it is nil, there is none.
type later struct {
	bulk  domain.Bulk
	items []domain.BulkItem
}

// resumeAt prepares a bulk operation that resumes runs at a time.
func (k *kernel) resumeAt(ctx context.Context, by domain.Actor, at time.Time, r domain.BulkRequest) (*later, error) {
	if err := k.allow(ctx, StartBulk, by, string(StartBulk)); err != nil {
		return nil, err
	}
	if !at.After(k.now()) {
		return nil, domain.Errorf(domain.CodeInvalid, "%s is past", at.UTC().Format(time.RFC3339)).
			Suggest("resume the run now, or enter a time in the future")
	}
	r.Action, r.NotBefore = domain.ActionResume, at
	b, items, err := k.bulk.Prepare(ctx, by, r)
	return &later{b, items}, err
}

// store stores it in the transaction of the operation.
func (l *later) store(tx *store.Tx) error {
	if l == nil {
		return nil
	}
	return tx.CreateBulk(l.bulk, l.items)
}

// launch starts the stored bulk operation.
func (k *kernel) launch(l *later) {
	if l != nil {
		k.bulk.Launch(l.bulk)
	}
}
