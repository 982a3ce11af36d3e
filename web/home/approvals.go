package home

import (
	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// approvalsBand is what waits for a decision.
func (s *section) approvalsBand(c *ui.Context) (templ.Component, error) {
	var p ApprovalsBand
	open, err := s.App.Approvals.List(c, c.Who.Actor(), domain.ApprovalFilter{Page: domain.Page{Limit: 200}})
	if err != nil {
		return nil, err
	}
	oldest := c.Site.Now()
	for i, a := range open.Items {
		if i < homeRows {
			v, err := s.Cards.Card(c, a)
			if err != nil {
				return nil, err
			}
			p.Items = append(p.Items, v)
		}
		if a.CreatedAt.Before(oldest) {
			oldest = a.CreatedAt
		}
	}
	if n := len(open.Items); n > 0 {
		p.Sum = c.N(n, "%s approval, oldest waits %s", "%s approvals, oldest waits %s", kit.About(c.Site.Now().Sub(oldest)))
		if open.Next != "" {
			p.Sum = c.T("more than %s", p.Sum)
		}
	}
	return ApprovalsOpen(p), nil
}
