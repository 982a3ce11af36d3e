package engine

import "context"

// reply carries one answer from a runner to the sender of a message: a value or an error. Any
// goroutine may call give. The first answer counts.
type reply[T any] chan answered[T]

type answered[T any] struct {
	value T
	err   error
}

func newReply[T any]() reply[T] { return make(reply[T], 1) }

// give sends an answer. Further answers are dropped.
func (r reply[T]) give(value T, err error) {
	select {
	case r <- answered[T]{value, err}:
	default:
	}
}

// done is the type of an answer without a value.
type done = struct{}

// ask posts a message and waits for the answer. It returns closed if the message cannot be posted,
// the cause of the context if that ends, and CodeUnavailable if stopped is closed before the
// answer.
func ask[T any](ctx context.Context, stopped <-chan struct{}, post func(message) bool, m message, r reply[T], closed error) (T, error) {
	var none T
	if !post(m) {
		return none, closed
	}
	select {
	case a := <-r:
		return a.value, a.err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-stopped:
	}
	select {
	case a := <-r: // an answer that arrived with the stop
		return a.value, a.err
	default:
		return none, errNotOpen()
	}
}

// askRun posts a message to the runner of a run and waits for the answer.
func askRun[T any](ctx context.Context, e *Engine, run string, m message, r reply[T]) (T, error) {
	return ask(ctx, e.stopped, func(m message) bool { return e.post(run, m) }, m, r, errNotOpen())
}
