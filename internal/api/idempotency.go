package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/kairosd/kairosd/internal/app"
)

// keyed checks the Idempotency-Key of a request whose operation stores it, and marks the response
// to a repetition.
func (a *API) keyed(ctx huma.Context, next func(huma.Context)) {
	if key := ctx.Header("Idempotency-Key"); key != "" && ctx.Method() != http.MethodGet {
		if p := checkKey(key); p != nil {
			a.answer(ctx, p)
			return
		}
		info, response := infoOf(ctx.Context()), humaecho.Unwrap(ctx).Response()
		response.Before(func() {
			if info.repeated {
				response.Header().Set("Idempotency-Replayed", "true")
			}
		})
	}
	next(ctx)
}

// meta returns the principal and the idempotency key of a request, for internal/app.
func meta(ctx context.Context) app.Meta {
	info := infoOf(ctx)
	return app.Meta{By: info.actor, Key: info.request.Header.Get("Idempotency-Key"), Repeated: &info.repeated}
}

// maxKey is the maximum length of an Idempotency-Key.
const maxKey = 128

func checkKey(key string) *Problem {
	if len(key) > maxKey {
		return invalid("idempotency.invalid", "an Idempotency-Key has at most 128 characters")
	}
	for _, c := range []byte(key) {
		if c <= ' ' || c > '~' {
			return invalid("idempotency.invalid", "an Idempotency-Key consists of printable ASCII characters without spaces")
		}
	}
	return nil
}
