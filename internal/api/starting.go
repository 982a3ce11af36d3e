package api

import (
	"encoding/json"
	"net/http"

	"github.com/kairosd/kairosd/internal/domain"
)

// Starting answers every request while the API starts: 503 with the progress of the start and the
// time of the next attempt. It reads nothing of the request.
func Starting(progress func() domain.Startup) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := problemOf(http.StatusServiceUnavailable, "kairosd is starting: "+progress().String())
		p.Reason, p.Suggestion, p.retryAfter = "starting", "try again in a few seconds; nothing changed", domain.StartRetryAfter
		h := w.Header()
		for k, v := range p.GetHeaders() {
			h[k] = v
		}
		if unread(r) {
			h.Set("Connection", "close")
		}
		h.Set("Content-Type", p.ContentType(""))
		w.WriteHeader(p.Status)
		_ = json.NewEncoder(w).Encode(p) // the client is gone if this fails
	})
}
