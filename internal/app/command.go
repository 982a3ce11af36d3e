package app

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
)

// command carries out an operation of the engine: a message to the runner of a run, or the creation
// of a run. It checks the policy, then calls f with the receipt of the idempotency key, or nil. The
// engine commits the receipt with the effect.
//
// Requests with the same key wait for each other. With a key, the end of ctx does not stop an
// operation that has started. A repeated request gets its result.
func command[T any](
	ctx context.Context,
	k *kernel,
	op Operation,
	m Meta,
	request any,
	find func(ctx context.Context, id string) (T, error),
	f func(ctx context.Context, receipt *domain.Receipt) (T, error),
) (T, error) {
	var none T
	if err := k.allow(ctx, op, m.By, string(op)); err != nil {
		return none, err
	}
	if m.Key == "" {
		return f(ctx, nil)
	}
	intent, err := k.intent(op, m, request)
	if err != nil {
		return none, err
	}
	receipt := intent.Receipt("")
	defer k.keys.Lock(receipt.Principal + "\x00" + receipt.Operation + "\x00" + receipt.Key)() //seed:key-lock
	id, done, err := k.store.Done(ctx, intent)
	switch {
	case err != nil:
		return none, err
	case done:
		m.repeat()
		return find(ctx, id)
	}
	return f(context.WithoutCancel(ctx), receipt)
}
