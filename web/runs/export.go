package runs

import (
	"encoding/csv"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/ui"
)

// exportMax is the maximum number of runs in an export.
const exportMax = 100_000

// exportRuns streams the runs that match a filter as CSV. It reads them page by page, so that
// memory use does not depend on their number.
func (s *section) exportRuns(c *ui.Context) error {
	f, problem := filter.Parse(strings.TrimSpace(c.Query("q")), time.Now())
	if problem != nil {
		return problem
	}
	ctx := c.Echo.Request().Context() // without the deadline of pages
	f.Page = domain.Page{Limit: 200}
	list, err := s.Reader.Runs(ctx, f)
	if err != nil {
		return err
	}
	e := startExport(c)
	if e.write(exportColumns...) != nil {
		return nil // the client has disconnected
	}
	for n := 0; e.page(list.Items, &n, c.Display.Zone) && list.Next != ""; {
		f.Page.After = list.Next
		if list, err = s.Reader.Runs(ctx, f); err != nil {
			return endEarly(c, err)
		}
	}
	return nil
}

// endEarly aborts the response, so that the client detects the truncation.
func endEarly(c *ui.Context, err error) error {
	if c.Echo.Request().Context().Err() == nil {
		c.Site.Logger.Error("export of runs ended early", "err", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

var exportColumns = []string{"id", "plan", "version", "status", "waiting_for", "where_it_stands", "error", "step", "started_by",
	"trigger", "labels", "created", "started", "ended",
	"took_ms", "steps", "input_tokens", "output_tokens", "cost", "parent", "forked_from", "rerun_of"}

// startExport writes the header of the response.
func startExport(c *ui.Context) export {
	w := c.Echo.Response()
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="runs.csv"`)
	w.WriteHeader(http.StatusOK)
	return export{csv.NewWriter(w), http.NewResponseController(w)}
}

// export writes a CSV file to a response.
type export struct {
	out     *csv.Writer
	control *http.ResponseController
}

func (e export) write(cells ...string) error {
	for i := range cells {
		cells[i] = domain.CSVCell(cells[i])
	}
	return e.out.Write(cells)
}

// page writes the rows of runs, and counts them in n. It returns false after the last row that the
// file may have, and if the client has disconnected.
func (e export) page(runs []domain.Run, n *int, zone *time.Location) bool {
	for _, run := range runs {
		if *n++; *n > exportMax {
			_ = e.write("cut after " + strconv.Itoa(exportMax) + " runs; narrow the filter") // fails if the client has disconnected
			break
		}
		if e.write(exported(run, zone)...) != nil {
			return false
		}
	}
	e.out.Flush()
	return e.control.SetWriteDeadline(time.Now().Add(30*time.Second)) == nil && e.out.Error() == nil && e.control.Flush() == nil &&
		*n <= exportMax
}

// exported returns the CSV row of a run. Times are in the user's time zone and include its offset.
func exported(run domain.Run, zone *time.Location) []string {
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.In(zone).Format("2006-01-02T15:04:05.000Z07:00")
	}
	code, ended := "", run.EndedAt
	if run.Error != nil {
		code = run.Error.Code
	}
	if ended.IsZero() {
		ended = time.Now()
	}
	var labels []string
	for _, k := range slices.Sorted(maps.Keys(run.Labels)) {
		labels = append(labels, k+"="+run.Labels[k])
	}
	parent := ""
	if run.Parent != nil {
		parent = run.Parent.Run
	}
	reason := ""
	if run.Status == domain.RunWaiting {
		reason = string(run.WaitReason)
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []string{
		run.ID,
		run.PlanKey,
		strconv.Itoa(run.Version),
		string(run.Status),
		reason,
		run.Headline,
		code,
		run.Node,
		run.Actor,
		run.Origin,
		strings.Join(
			labels,
			" ",
		),
		at(run.CreatedAt),
		at(run.StartedAt),
		at(run.EndedAt),
		number(ended.Sub(run.CreatedAt).Milliseconds()),
		number(run.Steps),
		number(
			run.Usage.InputTokens,
		),
		number(run.Usage.OutputTokens),
		strconv.FormatFloat(run.Usage.Cost, 'f', -1, 64),
		parent,
		run.ForkedFrom,
		run.RerunOf,
	}
}
