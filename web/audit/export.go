package audit

import (
	"net/http"
	"strings"
	"time"

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
	export, err := s.App.Audit.Export(ctx, c.Who.Actor(), f)
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
		panic(http.ErrAbortHandler) // what was sent stands; that it is not all must show
	}
	return nil
}
