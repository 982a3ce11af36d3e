package hook

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// CallbackPrefix begins the callback addresses of runs.
const CallbackPrefix = "/callbacks/"

// serveCallback receives a request at /callbacks/TOKEN. It reads the body only if the token is valid.
func (r *Receiver) serveCallback(w http.ResponseWriter, q *http.Request) {
	run := domain.CallbackRun(r.CallbackKey, strings.TrimPrefix(q.URL.Path, CallbackPrefix))
	if run == "" {
		r.respond(w, Outcome{}, domain.UnknownCallback())
		return
	}
	body, err := r.body(w, q)
	if err == nil {
		err = r.Callback(context.WithoutCancel(q.Context()), run, q.Header.Get("Content-Type"), body)
	}
	out := Outcome{}
	if err == nil {
		out.State = domain.DeliveryAccepted
	}
	r.respond(w, out, err)
}

// body reads the body of a request.
func (r *Receiver) body(w http.ResponseWriter, q *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, domain.MaxHookBody))
	if isTooLarge(err) {
		return nil, tooLarge()
	} else if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "the body cannot be read")
	}
	return body, nil
}

// Callback sends the signal of a callback to a run. It returns CodeNotFound if the run has ended, or its
// address was used before.
func (r *Receiver) Callback(ctx context.Context, run, contentType string, body []byte) error {
	content, err := read(contentType, body)
	if err != nil {
		return refuse(domain.CodeInvalid, "callback.body", domain.Errorf(domain.CodeInvalid, "the body: %w", err))
	}
	data, err := jsonvalue.Encode(content)
	if err != nil {
		return refuse(domain.CodeInvalid, "callback.body", domain.Errorf(domain.CodeInvalid, "the body: %w", err))
	}
	if len(data) > domain.MaxSignalData {
		return refuse(domain.CodeTooLarge, "callback.size", domain.Errorf(domain.CodeTooLarge, "the data of the signal exceeds %d KiB",
			domain.MaxSignalData>>10))
	}
	now := r.Now().UTC().Truncate(time.Microsecond)
	s := domain.Signal{ID: domain.NewID(), Name: domain.CallbackEvent, Key: run, Data: data, Source: domain.CallbackEvent,
		Actor: domain.CallbackEvent, CreatedAt: now, ExpiresAt: now.Add(domain.MaxSignalLifetime)}
	by := domain.Actor{Name: domain.CallbackEvent, Role: domain.RoleOperator, Source: domain.CallbackEvent,
		Request: domain.RequestOf(ctx)}
	if err := r.Store.SendCallback(ctx, by, s); err != nil {
		return err
	}
	r.Engine.SignalStored(ctx, s.Name, s.Key)
	return nil
}
