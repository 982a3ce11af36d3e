package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// exportAudit streams the events that a filter matches, one JSON object per line,
// newest first, page by page: neither the server nor a long log holds anything up.
func (r *request) exportAudit() error {
	f, problem := r.auditFilter(strings.TrimSpace(r.c.QueryParam("q")))
	if problem != nil {
		return problem
	}
	ctx := r.c.Request().Context() // a page's deadline is not an export's
	f.Page = domain.Page{Limit: 200}
	list, err := r.s.Reader.AuditEvents(ctx, f)
	if err != nil {
		return err
	}
	w := r.c.Response()
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("Content-Disposition", `attachment; filename="audit.jsonl"`)
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	lines := domain.NewSignedLines(w)
	out := json.NewEncoder(lines)
	out.SetEscapeHTML(false)
	for {
		for _, e := range list.Items {
			if out.Encode(domain.ViewAudit(e)) != nil {
				return nil // the browser has gone
			}
		}
		if control.SetWriteDeadline(time.Now().Add(exportDeadline)) != nil || control.Flush() != nil {
			return nil
		}
		if list.Next == "" {
			if by, ok := r.s.Reader.(domain.ExportSigner); ok {
				if err := lines.Sign(ctx, by); err != nil {
					r.s.Logger.Error("an export of the audit log is not signed", "err", err)
				}
			}
			return nil
		}
		f.Page.After = list.Next
		if list, err = r.s.Reader.AuditEvents(ctx, f); err != nil {
			if ctx.Err() == nil { // what was sent stands; that it is not all must show
				r.s.Logger.Error("export of the audit log ended early", "err", err)
				panic(http.ErrAbortHandler)
			}
			return nil
		}
	}
}
