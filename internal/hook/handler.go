package hook

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
)

// Prefix begins the addresses of hooks.
const Prefix = "/hooks/"

// statuses of refusals. Senders repeat an event after a status of 500 or more.
var statuses = map[domain.Code]int{domain.CodeInvalid: http.StatusUnprocessableEntity, domain.CodeNotFound: http.StatusServiceUnavailable,
	domain.CodeUnauthorized: http.StatusUnauthorized, domain.CodeTooLarge: http.StatusRequestEntityTooLarge,
	domain.CodeTooMany: http.StatusTooManyRequests, domain.CodeUnavailable: http.StatusServiceUnavailable,
	domain.CodeConflict: http.StatusServiceUnavailable, domain.CodeNoSpace: http.StatusInsufficientStorage}

// answer is the body of a response.
type answer struct {
	Status    domain.DeliveryState `json:"status"`
	Delivery  string               `json:"delivery,omitempty"`
	Run       string               `json:"run,omitempty"`
	Signal    string               `json:"signal,omitempty"`
	Reason    string               `json:"reason,omitempty"`
	Message   string               `json:"message,omitempty"`
	Challenge string               `json:"challenge,omitempty"`
}

// ServeHTTP receives a delivery at /hooks/KEY, or a callback at /callbacks/TOKEN. The address of the sender is in the context.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	in := Request{Hook: strings.TrimPrefix(q.URL.Path, Prefix), Header: q.Header, Remote: domain.RequestOf(q.Context()).Address}
	if !r.limits.sender(in.Remote, r.Now()) {
		r.respond(w, Outcome{}, tooManyDeliveries(r.Rate()))
		return
	}
	if strings.HasPrefix(q.URL.Path, CallbackPrefix) {
		r.serveCallback(w, q)
		return
	}
	var err error
	if in.Body, err = io.ReadAll(http.MaxBytesReader(w, q.Body, domain.MaxHookBody)); err != nil {
		if in.TooLarge = isTooLarge(err); !in.TooLarge {
			r.respond(w, Outcome{}, domain.Errorf(domain.CodeInvalid, "the body cannot be read"))
			return
		}
	}
	out, err := r.Receive(q.Context(), in)
	r.respond(w, out, err)
	r.keepRefusal(out)
}

func isTooLarge(err error) bool {
	_, is := errors.AsType[*http.MaxBytesError](err)
	return is
}

// respond writes the response. The response to a sender that is not verified does not depend on whether
// the hook exists.
func (r *Receiver) respond(w http.ResponseWriter, out Outcome, err error) {
	a, status := answer{Status: out.State, Run: out.Run, Signal: out.Signal, Reason: out.Reason, Challenge: out.Challenge}, http.StatusOK
	if out.State == domain.DeliveryAccepted {
		status = http.StatusAccepted
	}
	if err != nil {
		a, status = answer{Message: "internal error"}, http.StatusInternalServerError
		if e, ok := errors.AsType[*domain.Error](err); ok && statuses[e.Code] != 0 {
			if a.Reason, a.Message, status = e.Reason, e.Message, statuses[e.Code]; e.Reason == "callback.unknown" {
				status = http.StatusNotFound
			}
		} else {
			r.Log.Error("a delivery failed", "hook", out.Hook, "err", err)
		}
		a.Status = domain.DeliveryRefused
	}
	if out.Verified {
		a.Delivery = out.ID
	}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "60")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(a) // the sender may be gone
}
