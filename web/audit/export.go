package audit

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/ui"
)

// exportAudit streams the events that a filter matches, one JSON object per line,
// newest first, page by page: neither the server nor a long log holds anything up.
func (s *section) exportAudit(c *ui.Context) error {
	f, problem := s.auditFilter(c, strings.TrimSpace(c.Query("q")))
	if problem != nil {
		return problem
	}
	ctx := c.Echo.Request().Context() // a page's deadline is not an export's
	f.Page = domain.Page{Limit: 200}
	list, err := s.Reader.AuditEvents(ctx, f)
	if err != nil {
		return err
	}
	w := c.Echo.Response()
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
			if by, ok := s.Reader.(domain.ExportSigner); ok {
				if err := lines.Sign(ctx, by); err != nil {
					c.Site.Logger.Error("an export of the audit log is not signed", "err", err)
				}
			}
			return nil
		}
		f.Page.After = list.Next
		if list, err = s.Reader.AuditEvents(ctx, f); err != nil {
			if ctx.Err() == nil { // what was sent stands; that it is not all must show
				c.Site.Logger.Error("export of the audit log ended early", "err", err)
				panic(http.ErrAbortHandler)
			}
			return nil
		}
	}
}
