package home

import (
	"net/url"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/approval"
	"github.com/kairosd/kairosd/web/ui"
)

// approvalsMost is the maximum number of pending approvals that home reads and groups.
const approvalsMost = 200

// approvalsSection builds the section of pending decisions: steps in doubt first, then approvals.
// Similar approvals form one request.
func (s *section) approvalsSection(c *ui.Context) (templ.Component, error) {
	var p ApprovalsSection
	doubts, err := s.Reader.Runs(c, domain.RunFilter{
		WaitReasons: []domain.WaitReason{domain.WaitInDoubt}, Page: domain.Page{Limit: homeRows},
	})
	if err != nil {
		return nil, err
	}
	asked, err := s.App.Runs.Requested(c, c.Principal.Actor())
	if err != nil {
		return nil, err
	}
	for _, q := range asked[:min(len(asked), homeRows/2)] {
		p.Requests = append(p.Requests, approval.RequestedAction(c, q, c.May(app.ConfirmAction)))
	}
	for _, group := range approval.Doubts(doubts.Items) {
		p.Requests = append(p.Requests, approval.DoubtRequest(c, group))
	}
	open, err := s.App.Approvals.List(c, c.Principal.Actor(), domain.ApprovalFilter{Page: domain.Page{Limit: approvalsMost}})
	if err != nil {
		return nil, err
	}
	oldest := c.Site.Now()
	for _, a := range open.Items {
		if a.CreatedAt.Before(oldest) {
			oldest = a.CreatedAt
		}
	}
	groups := approval.Groups(open.Items)
	groups = groups[:min(len(groups), max(homeRows-len(p.Requests), 0))]
	for _, g := range groups {
		r := s.Cards.Request(c, g)
		if len(g) == 1 {
			if err := s.Cards.OneClick(c, &r, g[0], url.Values{"back": {"home"}}); err != nil {
				return nil, err
			}
		}
		r.Remark, r.Similar = r.GroupAnswers, nil
		r.Actions = []kit.Link{reviewLink(c, r, g)}
		p.Requests = append(p.Requests, r)
	}
	if c.Query("decided") != "" && len(p.Requests) > 0 {
		p.Requests[0].Next = true
	}
	if n := len(open.Items); n > 0 {
		p.Sum = c.N(n, "%s approval", "%s approvals")
		p.Oldest = c.T("Oldest: %s", kit.ApproxDuration(c.Site.Now().Sub(oldest)))
		if open.Next != "" {
			p.Sum = c.T("more than %s", p.Sum)
		}
	}
	return ApprovalsOpen(p), nil
}

// reviewLink links to a request, or to the list of its group.
func reviewLink(c *ui.Context, r approval.Request, group []domain.Approval) kit.Link {
	switch n := len(group); {
	case n > 1:
		return kit.Link{
			Text: c.N(n, "Review %s", "Review %s"),
			Href: link.With(r.Href, url.Values{"show": {"all"}, "plan": {group[0].PlanKey}}),
		}
	case len(r.Answers) > 0:
		return kit.Link{Text: c.T("Open"), Href: r.Href}
	}
	return kit.Link{Text: c.T("Review"), Href: r.Href}
}
