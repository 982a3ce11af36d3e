package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

const (
	// ResponseLifetime is how long an answer is kept for its Idempotency-Key.
	ResponseLifetime = 24 * time.Hour
	// claimTimeout is when a claim without an answer is taken to be left behind
	// by a crash.
	claimTimeout = time.Minute
)

// kept are the headers that belong to a stored answer.
var kept = []string{"Content-Type", "Location", "ETag"}

// once carries out a POST with an Idempotency-Key one time: the same request
// gets the same answer, another one with the key is refused (A43).
func (a *API) once(ctx huma.Context, next func(huma.Context)) {
	key := ctx.Header("Idempotency-Key")
	if key == "" || ctx.Method() != http.MethodPost {
		next(ctx)
		return
	}
	if p := checkKey(key); p != nil {
		a.answer(ctx, p)
		return
	}
	if a.Idempotency == nil {
		a.answer(ctx, invalid("idempotency.unavailable", "this server keeps no idempotency keys"))
		return
	}
	c := humaecho.Unwrap(ctx)
	// Whether the client stays or not, what was begun comes to an end, so that a
	// repetition learns how it ended (A44).
	detached, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), claimTimeout-time.Second)
	defer cancel()
	r := c.Request().WithContext(detached)
	c.SetRequest(r)
	actor := actorOf(ctx.Context())
	claim := domain.StoredResponse{
		Principal: actor.Surface + ":" + actor.Name, Route: r.Method + " " + r.URL.Path, Key: key,
		BodyHash: hashRequest(r), CreatedAt: time.Now().UTC().Truncate(time.Microsecond),
	}
	a.forget(ctx.Context(), claim.CreatedAt)
	stored, claimed, err := a.Idempotency.ReserveResponse(ctx.Context(), claim, claimTimeout)
	switch {
	case err != nil:
		a.answer(ctx, a.problem(ctx.Context(), err))
		return
	case stored.BodyHash != claim.BodyHash:
		p := problemOf(http.StatusUnprocessableEntity, "this Idempotency-Key belongs to another request")
		p.Reason, p.Suggestion = "idempotency.reused", "choose a new key for every request, and keep it only to repeat that one"
		a.answer(ctx, p)
		return
	case !claimed && stored.Status == 0:
		p := problemOf(http.StatusConflict, "the first request with this Idempotency-Key is still being answered")
		p.Reason, p.Suggestion, p.retryAfter = "idempotency.pending", "repeat the request in a moment", time.Second
		a.answer(ctx, p)
		return
	case !claimed:
		for k, v := range stored.Header {
			ctx.SetHeader(k, v)
		}
		ctx.SetHeader("Idempotency-Replayed", "true")
		ctx.SetStatus(stored.Status)
		if _, err := ctx.BodyWriter().Write(stored.Body); err != nil {
			a.Log.Debug("write a stored answer", "err", err)
		}
		return
	}
	info := infoOf(ctx.Context())
	info.claim = &stored
	// All that the request leads to is recorded under a name that a repetition has
	// too: the audit log then says what the first one did.
	info.actor.Request.ID = requestName(&stored)
	c.SetRequest(c.Request().WithContext(domain.WithRequest(c.Request().Context(), info.actor.Request)))
	writer := c.Response().Writer
	out := &held{ResponseWriter: writer, status: http.StatusOK}
	c.Response().Writer = out
	finished := false
	defer func() {
		c.Response().Writer = writer
		if !finished { // a panic: nobody knows what was done, so the same may be tried again
			a.release(ctx, claim)
		}
	}()
	if p := a.continued(ctx.Context(), ctx.Operation().Path, claim.CreatedAt); p != nil {
		a.answer(ctx, p)
	} else {
		next(ctx)
	}
	finished = true
	if repeatable(out.status) {
		stored.Status, stored.Body, stored.Header = out.status, out.body.Bytes(), map[string]string{}
		for _, k := range kept {
			if v := writer.Header().Get(k); v != "" {
				stored.Header[k] = v
			}
		}
		if err := a.Idempotency.CompleteResponse(ctx.Context(), stored); err != nil {
			a.Log.Error("keep an answer for its idempotency key", "err", err)
		}
	} else {
		a.release(ctx, claim)
	}
	writer.WriteHeader(out.status)
	if _, err := writer.Write(out.body.Bytes()); err != nil {
		a.Log.Debug("write an answer", "err", err)
	}
}

// keyed checks the Idempotency-Key of a request whose operation keeps it, and says in
// the answer that it was done before.
func (a *API) keyed(ctx huma.Context, next func(huma.Context)) {
	if key := ctx.Header("Idempotency-Key"); key != "" {
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

// meta is who sends a request to internal/app, and under which key.
func meta(ctx context.Context) app.Meta {
	info := infoOf(ctx)
	return app.Meta{By: info.actor, Key: info.request.Header.Get("Idempotency-Key"), Repeated: &info.repeated}
}

// forget removes answers that are older than their lifetime, once an hour.
func (a *API) forget(ctx context.Context, now time.Time) {
	last := a.forgot.Load()
	if now.Unix()-last < 3600 || !a.forgot.CompareAndSwap(last, now.Unix()) {
		return
	}
	if err := a.Idempotency.DeleteResponses(ctx, now.Add(-ResponseLifetime)); err != nil {
		a.Log.Error("forget old answers", "err", err)
	}
}

func (a *API) release(ctx huma.Context, claim domain.StoredResponse) {
	if err := a.Idempotency.ReleaseResponse(ctx.Context(), claim.Principal, claim.Route, claim.Key); err != nil {
		a.Log.Error("release an idempotency key", "err", err)
	}
}

// repeatable reports whether an answer is definite: the same request would be
// answered the same way, or has had its effect.
func repeatable(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return status < http.StatusInternalServerError
}

// held keeps an answer back until it is stored.
type held struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (h *held) WriteHeader(status int)      { h.status = status }
func (h *held) Write(b []byte) (int, error) { return h.body.Write(b) }

func checkKey(key string) *Problem {
	if len(key) > 128 {
		return invalid("idempotency.invalid", "an Idempotency-Key has at most 128 characters")
	}
	for _, c := range []byte(key) {
		if c <= ' ' || c > '~' {
			return invalid("idempotency.invalid", "an Idempotency-Key is printable ASCII without blanks")
		}
	}
	return nil
}

func hashRequest(r *http.Request) string {
	h := sha256.New()
	for _, part := range []string{r.Header.Get("Content-Type"), r.URL.RawQuery} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Write(bodyOf(r))
	return hex.EncodeToString(h.Sum(nil))
}

// resumed are the routes whose handlers find by themselves what the same request
// did before the daemon died, or may do the rest of it: they create a run, or act
// on many one by one.
var resumed = map[string]bool{"/runs": true, "/runs/{id}/rerun": true, "/runs/{id}/fork": true, "/ask": true, "/system/release": true}

// continued looks at a request that takes up a claim of one that was never
// answered: if the audit log says that it was carried out, it must not be once
// more. The record of an act is in the act's own transaction (G12), so that there
// is nothing between.
func (a *API) continued(ctx context.Context, route string, now time.Time) *Problem {
	info := infoOf(ctx)
	if info.claim.CreatedAt.Equal(now) { // it is the first
		return nil
	}
	// Nothing else is asked for: the answer of an index is whole, where that of a
	// filter may need several pages.
	list, err := a.Reader.AuditEvents(ctx, domain.AuditFilter{Requests: []string{info.actor.Request.ID}, Page: domain.Page{Limit: 50}})
	if err != nil {
		return a.problem(ctx, err)
	}
	info.done = slices.DeleteFunc(list.Items, func(e domain.AuditEvent) bool { return cmp.Or(e.Result, "ok") != "ok" })
	if len(info.done) == 0 || resumed[route] {
		return nil
	}
	return carriedOut(info.done)
}

// carriedOut answers a request that was carried out though nobody heard of it.
func carriedOut(done []domain.AuditEvent) *Problem {
	e := done[len(done)-1]
	p := problemOf(http.StatusConflict, fmt.Sprintf("this request was carried out (%s, audit event %d), and kairosd ended before it was answered", e.Action, e.Seq))
	p.Reason, p.Suggestion = "idempotency.done", "do not send it again; look at what it was about"
	return p
}

// requestName is the name of a claimed request in the audit log.
func requestName(claim *domain.StoredResponse) string {
	sum := sha256.Sum256([]byte("request\x00" + runKey(claim)))
	return hex.EncodeToString(sum[:8])
}

// runKey is the key of the run that a request with an Idempotency-Key starts:
// even if the daemon dies between starting the run and keeping the answer, the
// same request finds that run (A44).
func runKey(claim *domain.StoredResponse) string {
	if claim == nil {
		return ""
	}
	sum := sha256.Sum256([]byte(claim.Principal + "\x00" + claim.Route + "\x00" + claim.Key + "\x00" + claim.BodyHash +
		"\x00" + claim.CreatedAt.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)))
	return "request-" + base64.RawURLEncoding.EncodeToString(sum[:18])
}
