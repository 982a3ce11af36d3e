package web

import (
	"net/http"
	"strings"
	"time"
)

// exportAudit streams the events that a filter matches, one JSON object per line,
// newest first, page by page: neither the server nor a long log holds anything up.
func (r *request) exportAudit() error {
	f, problem := r.auditFilter(strings.TrimSpace(r.c.QueryParam("q")))
	if problem != nil {
		return problem
	}
	ctx := r.c.Request().Context() // a page's deadline is not an export's
	export, err := r.s.App.Audit.Export(ctx, r.who.actor(), f)
	if err != nil {
		return err
	}
	w := r.c.Response()
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("Content-Disposition", `attachment; filename="audit.jsonl"`)
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	if export.Write(ctx, w, func() error {
		if err := control.SetWriteDeadline(time.Now().Add(exportDeadline)); err != nil {
			return err
		}
		return control.Flush()
	}) != nil {
		panic(http.ErrAbortHandler) // what was sent stands; that it is not all must show
	}
	return nil
}
