package drafts

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// draftNotes returns the progress reports of planning.
func draftNotes(c *ui.Context, d domain.Draft) []DraftNote {
	var out []DraftNote
	for i, n := range d.Progress {
		row := DraftNote{At: c.Time(n.At), What: draftPhase(c, n), Text: kit.Escape(kit.Truncate(n.Text, 300)),
			Last: d.State == domain.DraftPlanning && i == len(d.Progress)-1}
		if n.Who != "" && n.Phase != domain.PhaseUnderstanding {
			row.Agent = kit.Escape(n.Who)
			if n.Who == "rules" {
				row.Agent = c.T("by rules")
			}
		}
		if n.Phase == domain.PhaseUnderstanding {
			row.Text = c.T(complexities[domain.Complexity(n.Who)])
		}
		for _, q := range n.Problems {
			row.Problems = append(row.Problems, kit.Truncate(c.Message(q), 300))
		}
		end := d.EndedAt
		if i+1 < len(d.Progress) {
			end = d.Progress[i+1].At
		}
		if !end.IsZero() {
			row.Took = kit.Duration(end.Sub(n.At))
		} else if row.Last {
			row.Start = n.At.UnixMilli()
			row.Took = kit.Duration(c.Site.Now().Sub(n.At).Truncate(time.Second))
		}
		out = append(out, row)
	}
	return out
}

func draftPhase(c *ui.Context, n domain.DraftNote) string {
	switch n.Phase {
	case domain.PhaseUnderstanding:
		return c.T("Analyzing the request")
	case domain.PhaseChoosing:
		if n.Attempt == 0 && n.Who != "rules" {
			return c.T("Choosing among the agents")
		}
		return c.T("Choosing tools")
	case domain.PhaseDrafting:
		switch {
		case n.Attempt > 1:
			return c.T("Drafting, attempt %d, because", n.Attempt)
		case len(n.Problems) > 0:
			return c.T("Not available because")
		}
		return c.T("Drafting")
	case domain.PhaseValidating:
		if len(n.Problems) > 0 {
			return c.T("Validating: it cannot be used")
		}
		return c.T("Validating")
	case domain.PhaseStoring:
		return c.T("Storing the plan")
	}
	return c.T("kairosd was restarted: planning starts again")
}
