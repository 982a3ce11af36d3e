package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

func TestAsk(t *testing.T) {
	t.Parallel()
	closed := errors.New("closed")
	cause := errors.New("the caller left")
	gone, leave := context.WithCancelCause(t.Context())
	leave(cause)
	running, stopped := make(chan struct{}), make(chan struct{})
	close(stopped)
	silent := func(message, reply[int]) bool { return true }
	answer := func(_ message, r reply[int]) bool {
		r.give(7, nil)
		r.give(8, closed) // only the first answer counts
		return true
	}
	for name, tt := range map[string]struct {
		ctx   context.Context
		stop  chan struct{}
		post  func(message, reply[int]) bool
		value int
		check func(error) bool
	}{
		"an answer": {t.Context(), running, answer, 7, func(err error) bool { return err == nil }},
		"nobody takes it": {t.Context(), running, func(message, reply[int]) bool { return false }, 0,
			func(err error) bool { return errors.Is(err, closed) }},
		"the caller leaves": {gone, running, silent, 0, func(err error) bool { return errors.Is(err, cause) }},
		"the engine has stopped": {t.Context(), stopped, silent, 0,
			func(err error) bool { return domain.CodeOf(err) == domain.CodeUnavailable }},
		"it came with the stop": {t.Context(), stopped, answer, 7, func(err error) bool { return err == nil }},
	} {
		r := newReply[int]()
		got, err := ask(tt.ctx, tt.stop, func(m message) bool { return tt.post(m, r) }, timerMsg{}, r, closed)
		if got != tt.value || !tt.check(err) {
			t.Errorf("%s: got %d, %v", name, got, err)
		}
	}
}
