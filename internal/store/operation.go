package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// operationLifetime is how long an idempotency key is kept.
const operationLifetime = 24 * time.Hour

// Operation is a requested change: who, what, and, with a key, that it is carried out once.
type Operation struct {
	Name   string // its name in the policy
	Action string // its action in the audit log
	By     domain.Actor
	At     time.Time
	// Key is chosen by the client. Within 24 hours, the same principal, name, and key are carried
	// out once. If it is empty, every request is carried out.
	Key string
	// EvenFull allows the operation on a full disk, because it is small and an operator needs it
	// then.
	EvenFull bool
	// Digest is the digest of the request. A known key with another digest is rejected.
	Digest string
}

func keyReused() error {
	err := domain.Errorf(domain.CodeInvalid, "this idempotency key was used for another request").
		Suggest("use a new key for each request, and the same key only to retry it")
	err.Reason = "idempotency.reused"
	return err
}

// Done finds the object of an operation that was carried out before with its key. It returns
// CodeInvalid for a key of another request.
func (s *Store) Done(ctx context.Context, o Operation) (object string, done bool, err error) {
	if o.Key == "" {
		return "", false, nil
	}
	known, err := s.q.OperationGet(ctx, o.principal(), o.Name, o.Key)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", false, nil
	case err == nil && known.Digest != o.Digest:
		return "", false, keyReused()
	}
	return known.Object, err == nil, core.Translate(err, "look up an idempotency key")
}

func (o Operation) principal() string { return o.By.Source + ":" + o.By.Name }

// Do carries out an operation in one transaction, with its audit records and the record of its key.
// f returns the ID of the object that it changed. f may be called more than once, and must change
// nothing except through tx. If it returns an error, its changes are rolled back. When Do returns,
// everything is durable.
//
// If the key is known, f is not called: Do returns the object of the first call, and repeated is
// true. The errors are those of f, CodeInvalid with the reason "idempotency.reused" for a key of
// another request, and CodeUnavailable.
func (s *Store) Do(o Operation, f func(tx *Tx) (object string, err error)) (object string, repeated bool, err error) {
	if s.writer == nil {
		return "", false, errReadOnly()
	}
	err = s.writer.do(op{savepoint: true, evenFull: o.EvenFull, apply: func(w *writer) ([]auditRow, error) {
		repeated = false
		if o.Key != "" {
			known, err := w.q.OperationGet(w.ctx, o.principal(), o.Name, o.Key)
			switch {
			case err == nil && known.Digest != o.Digest:
				return nil, keyReused()
			case err == nil:
				object, repeated = known.Object, true
				return nil, nil
			case !errors.Is(err, sql.ErrNoRows):
				return nil, err
			}
		}
		tx := &Tx{w: w, op: o}
		var err error
		if object, err = f(tx); err != nil {
			return nil, err
		}
		if err := tx.sealAccess(); err != nil {
			return nil, err
		}
		defer tx.settle()
		if o.Key == "" {
			return tx.records, nil
		}
		return tx.records, w.keepReceipt(*o.Receipt(object))
	}})
	return object, repeated, core.Translate(err, cmp.Or(o.Action, o.Name))
}

// Receipt is the stored record of a completed operation with a key, or nil if it has no key.
func (o Operation) Receipt(object string) *domain.Receipt {
	if o.Key == "" {
		return nil
	}
	return &domain.Receipt{Principal: o.principal(), Operation: o.Name, Key: o.Key, Digest: o.Digest, Object: object, At: o.At}
}

// keepReceipt stores a receipt and removes expired ones.
func (w *writer) keepReceipt(r domain.Receipt) error {
	if err := w.q.OperationsDeleteBefore(w.ctx, core.Micros(r.At.Add(-operationLifetime))); err != nil {
		return err
	}
	return w.q.OperationInsert(w.ctx, dbsqlc.OperationInsertParams{Principal: r.Principal, Operation: r.Operation, Key: r.Key,
		Digest: r.Digest, Object: r.Object, CreatedAt: core.Micros(r.At)})
}
