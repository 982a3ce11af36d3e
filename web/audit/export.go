package audit

import (
	"net/http"
	"strings"
	"time"

	"github.com/kairosd/kairosd/web/ui"
)

// exportAudit streams the events that match a filter as JSON lines, newest first. It reads them
// page by page, so that memory use does not depend on their number.
func (s *section) exportAudit(c *ui.Context) error {
	f, problem := s.auditFilter(c, strings.TrimSpace(c.Query("q")))
	if problem != nil {
		return problem
	}
	ctx := c.Echo.Request().Context() // without the deadline of pages
	export, err := s.App.Audit.Export(ctx, c.Principal.Actor(), f)
	if err != nil {
		return err
	}
	w := c.Echo.Response()
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
		panic(http.ErrAbortHandler) // abort the response, so that the client detects the truncation
	}
	return nil
}
