package api

import (
	"encoding/json"
	"net/http"

	"github.com/kairosd/kairosd/internal/domain"
)

// Starting responds to every request with 503 while the API starts, with the progress of the start
// and the time of the next attempt. It does not read the request.
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
		_ = json.NewEncoder(w).Encode(p) // fails if the client is gone
	})
}
