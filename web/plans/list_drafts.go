package plans

import (
	"fmt"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/plan"
	"github.com/kairosd/kairosd/web/ui"
)

// draftsShown is the maximum number of open drafts in the list.
const draftsShown = 100

// draftRows returns the open drafts whose request contains q.
func (s *section) draftRows(c *ui.Context, q string) ([]DraftRow, error) {
	list, err := s.App.Drafts.List(c, c.Principal.Actor(), false, draftsShown)
	if err != nil {
		return nil, err
	}
	var out []DraftRow
	for _, d := range list {
		if q != "" && !strings.Contains(strings.ToLower(d.Query), strings.ToLower(q)) {
			continue
		}
		row := DraftRow{Status: plan.DraftStatus(d.State), Request: kit.Escape(kit.Truncate(d.Query, 160)), Href: "/plans/drafts/" + d.ID,
			Author: kit.Escape(d.Actor), At: c.Time(d.CreatedAt), Plan: kit.Escape(d.Plan.Key)}
		if d.Revision > 1 {
			row.Revision = c.T("revision %d", d.Revision)
		}
		if d.Plan.Version > 0 {
			row.Plan += fmt.Sprintf(" v%d", d.Plan.Version)
		}
		if d.Error != nil {
			row.Error = kit.Truncate(c.Message(d.Error.Text), 200)
		}
		out = append(out, row)
	}
	return out, nil
}

// hasDraft reports whether an open draft produced the newest version of a plan.
func hasDraft(c *ui.Context, drafts *app.Drafts, pl domain.Plan) (bool, error) {
	d, err := drafts.OfVersion(c, c.Principal.Actor(), pl.LatestHash)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return false, nil
	}
	return err == nil && d.State.Open(), err
}
