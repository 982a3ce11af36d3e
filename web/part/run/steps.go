package run

import (
	"fmt"
	"net/url"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// StepHit is an attempt of a step in a list across runs.
type StepHit struct {
	Node, Href     string
	Status         kit.Status
	Plan, PlanHref string
	Version        string
	Run, RunHref   string
	Attempt, Took  string
	Code, Message  string
	At             kit.Time
}

// StepHits converts attempts to rows of a list.
func StepHits(c *ui.Context, hits []domain.StepHit) []StepHit {
	rows := make([]StepHit, len(hits))
	for i, h := range hits {
		rows[i] = StepHit{
			Node:   kit.Escape(kit.StepName(h.Node, h.Visit)),
			Href:   fmt.Sprintf("/runs/%s?step=%d", h.Run, h.Seq),
			Status: ui.StepStatus(h.Status),
			Plan:   kit.Escape(h.PlanKey),
			PlanHref: "/plans/" + url.PathEscape(
				h.PlanKey,
			) + "?" + url.Values{
				"node": {h.Node},
			}.Encode(),
			Run:     domain.ShortID(h.Run),
			RunHref: "/runs/" + h.Run,
			Took:    kit.Duration(h.Took()),
			Code:    kit.Escape(h.Code),
			Message: kit.Escape(kit.Truncate(h.Message, 200)),
			At:      c.Time(h.At),
		}
		if h.Version > 0 {
			rows[i].Version = fmt.Sprintf("v%d", h.Version)
		}
		if h.Attempt > 1 {
			rows[i].Attempt = c.T("attempt %d", h.Attempt)
		}
		if h.Item >= 0 {
			rows[i].Node += fmt.Sprintf(" [%d]", h.Item)
		}
	}
	return rows
}
