package run

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// Row is a run in a list.
type Row struct {
	ID, Short, Href string
	Status          kit.Status
	Plan, PlanHref  string
	Version         string
	Headline        string
	Took            string
	Since           int64 // start in Unix milliseconds while the run is active, otherwise 0
	Typical         *Typical
	Started         kit.Time
	Strip           []Cell
	Peek            string // address of the peek
	// Addresses of the list, filtered by the value of the cell, or empty.
	StatusHref, VersionHref string
	Terms                   []kit.Link
	Cells                   []CellText // cells of the chosen columns
}

// Typical compares the duration of a run with the median of its plan: as a bar with a mark, and as
// text if it is unusually long.
type Typical struct{ Ratio, Title, Bar, Mark string }

// Class returns the CSS class of the bar.
func (t Typical) Class() string {
	if t.Ratio != "" {
		return "g-need"
	}
	return "g-idle"
}

// CellText is the value of a chosen column for a run.
type CellText struct {
	ID, Text string     // ID is set if the cell is updated live
	Links    []kit.Link // links that narrow the filter
	At       kit.Time
	Number   bool
}

// Cell is one step in the path summary of a run.
type Cell struct {
	X     string // in percent
	W     string
	Y, H  string
	Class string
}

// Rows converts runs to rows.
type Rows struct{ Programs Programs }

// Programs provides compiled versions of plans.
type Programs interface {
	Program(ctx context.Context, ref domain.ProgramRef) (*walk.Program, error)
}

// Of converts runs to rows.
func (r Rows) Of(c *ui.Context, list []domain.Run) []Row {
	rows, known := make([]Row, len(list)), map[string]int{}
	for i, run := range list {
		rows[i] = r.row(c, run, known)
	}
	return rows
}

// row converts one run. known caches the number of steps by version.
func (r Rows) row(c *ui.Context, run domain.Run, known map[string]int) Row {
	row := Row{ID: run.ID, Short: domain.ShortID(run.ID), Href: "/runs/" + run.ID, Status: Status(c, run),
		Plan: run.PlanKey, PlanHref: "/plans/" + url.PathEscape(run.PlanKey), Version: fmt.Sprintf("v%d", run.Version),
		Headline: damagedHeadline(c, run), Started: c.Time(run.CreatedAt)}
	switch {
	case !run.EndedAt.IsZero():
		row.Took = kit.Duration(run.EndedAt.Sub(run.CreatedAt))
	case run.Status == domain.RunRunning:
		row.Took, row.Since = kit.Duration(time.Since(run.CreatedAt)), run.CreatedAt.UnixMilli()
	default:
		row.Took = kit.Duration(time.Since(run.CreatedAt))
	}
	row.Strip = strip(run, row.Status, r.nodes(c, known, run))
	return row
}

// nodes returns the number of steps in the plan of a run, from a cache. If the plan cannot be read,
// it returns 0, and the path summary omits the steps that have not started.
func (r Rows) nodes(c *ui.Context, known map[string]int, run domain.Run) int {
	if run.Status == domain.RunCompleted || run.Hash == "" {
		return 0
	}
	n, ok := known[run.Hash]
	if !ok {
		if p, err := r.Programs.Program(c, run.ProgramRef); err == nil {
			n = len(p.Nodes)
		}
		known[run.Hash] = n
	}
	return n
}

// damagedHeadline returns the status message of a run, or the damage of a run that has ended.
func damagedHeadline(c *ui.Context, run domain.Run) string {
	if len(run.Damaged) > 0 && run.Status.Final() {
		return c.T(Damaged[run.Damaged[0].Part])
	}
	return Headline(c, run)
}
