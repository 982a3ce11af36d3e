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
	Since           int64 // ms of its start while it runs, else 0
	Typical         *Typical
	Started         kit.Time
	Strip           []Cell
	Peek            string // address of a look at it
	// Where the list may be filtered by the value of a cell; empty: nowhere.
	StatusHref, VersionHref string
	Terms                   []kit.Link
	Cells                   []CellText // of the columns that were chosen
}

// Typical is a duration beside the median of its plan: as a bar with a mark, and in words where it
// stands out.
type Typical struct{ Ratio, Title, Bar, Mark string }

// Class is the fill of the bar.
func (t Typical) Class() string {
	if t.Ratio != "" {
		return "g-need"
	}
	return "g-idle"
}

// CellText is the value of a chosen column for a run.
type CellText struct {
	ID, Text string     // ID names a cell that follows the run
	Links    []kit.Link // terms that the filter may be narrowed by
	At       kit.Time
	Number   bool
}

// Cell is one step in the strip of a run's shape.
type Cell struct {
	X     string // percent
	W     string
	Y, H  string
	Class string
}

// Rows shows runs as rows of a list.
type Rows struct{ Programs Programs }

// Programs compiles stored versions of plans.
type Programs interface {
	Program(ctx context.Context, hash string) (*walk.Program, error)
}

// Of are several runs as lists show them.
func (r Rows) Of(c *ui.Context, list []domain.Run) []Row {
	rows, known := make([]Row, len(list)), map[string]int{}
	for i, run := range list {
		rows[i] = r.row(c, run, known)
	}
	return rows
}

// row is one of several; known are the sizes of their plans.
func (r Rows) row(c *ui.Context, run domain.Run, known map[string]int) Row {
	row := Row{ID: run.ID, Short: domain.ShortID(run.ID), Href: "/runs/" + run.ID, Status: Status(c, run),
		Plan: run.PlanKey, PlanHref: "/plans/" + url.PathEscape(run.PlanKey), Version: fmt.Sprintf("v%d", run.Version),
		Headline: damagedHeadline(c, run), Started: c.Time(run.CreatedAt)}
	switch {
	case !run.EndedAt.IsZero():
		row.Took = kit.Took(run.EndedAt.Sub(run.CreatedAt))
	case run.Status == domain.RunRunning:
		row.Took, row.Since = kit.Took(time.Since(run.CreatedAt)), run.CreatedAt.UnixMilli()
	default:
		row.Took = kit.Took(time.Since(run.CreatedAt))
	}
	row.Strip = strip(run, row.Status, r.nodes(c, known, run))
	return row
}

// nodes is how many nodes the plan of a run has, each version read once. If a plan cannot be read here, the
// picture omits the steps that have not started.
func (r Rows) nodes(c *ui.Context, known map[string]int, run domain.Run) int {
	if run.Status == domain.RunCompleted || run.Hash == "" {
		return 0
	}
	n, ok := known[run.Hash]
	if !ok {
		if p, err := r.Programs.Program(c, run.Hash); err == nil {
			n = len(p.Nodes)
		}
		known[run.Hash] = n
	}
	return n
}

// damagedHeadline is where a run stands in one line; of one that is over and of which
// something is damaged, that.
func damagedHeadline(c *ui.Context, run domain.Run) string {
	if len(run.Damaged) > 0 && run.Status.Final() {
		return c.T(Damaged[run.Damaged[0].Part])
	}
	return Headline(c, run)
}
