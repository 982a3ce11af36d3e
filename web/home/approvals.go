package home

import (
	"net/url"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/approval"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

// approvalsMost is how many open approvals are read for the groups of home.
const approvalsMost = 200

// approvalsBand is what waits for a decision: calls in doubt first, then approvals, alike ones as one
// request.
func (s *section) approvalsBand(c *ui.Context) (templ.Component, error) {
	var p ApprovalsBand
	doubts, err := s.Reader.Runs(c, domain.RunFilter{
		WaitReasons: []domain.WaitReason{domain.WaitInDoubt}, Page: domain.Page{Limit: homeRows},
	})
	if err != nil {
		return nil, err
	}
	for _, run := range doubts.Items {
		p.Requests = append(p.Requests, doubtRequest(c, run))
	}
	open, err := s.App.Approvals.List(c, c.Who.Actor(), domain.ApprovalFilter{Page: domain.Page{Limit: approvalsMost}})
	if err != nil {
		return nil, err
	}
	oldest := c.Site.Now()
	for _, a := range open.Items {
		if a.CreatedAt.Before(oldest) {
			oldest = a.CreatedAt
		}
	}
	groups := alike(open.Items)
	groups = groups[:min(len(groups), homeRows-len(p.Requests))]
	for _, g := range groups {
		r := approvalRequest(c, g)
		if len(g) == 1 {
			if err := s.oneClick(c, &r, g[0]); err != nil {
				return nil, err
			}
		}
		p.Requests = append(p.Requests, r)
	}
	if c.Query("decided") != "" && len(p.Requests) > 0 {
		p.Requests[0].Next = true
	}
	if n := len(open.Items); n > 0 {
		p.Sum = c.N(n, "%s approval", "%s approvals")
		p.Oldest = c.T("Oldest: %s", kit.About(c.Site.Now().Sub(oldest)))
		if open.Next != "" {
			p.Sum = c.T("more than %s", p.Sum)
		}
	}
	return ApprovalsOpen(p), nil
}

// alike groups open approvals of one step of a plan, in the order of the first of each group.
func alike(list []domain.Approval) [][]domain.Approval {
	var out [][]domain.Approval
	at := map[[2]string]int{}
	for _, a := range list {
		key := [2]string{a.PlanKey, a.Node}
		if i, ok := at[key]; ok {
			out[i] = append(out[i], a)
			continue
		}
		at[key] = len(out)
		out = append(out, []domain.Approval{a})
	}
	return out
}

const (
	// factsMost is how many facts a request on home shows.
	factsMost = 6
	// basisRows is how many journal rows are read for them.
	basisRows = 30
)

// oneClick lets the reader answer a request on home. An answer holds for the message, the input of the
// run, and the outputs before it: only a request that shows all of these is answered without its page.
func (s *section) oneClick(c *ui.Context, r *Request, a domain.Approval) error {
	card, err := s.Cards.Card(c, a)
	if err != nil {
		return err
	}
	facts, whole, err := s.basis(c, a)
	r.Facts = facts
	if err != nil || !whole || r.Text != card.Message || !card.Plain(c.Who.Name) {
		return err
	}
	for _, x := range card.Answers {
		r.Answers = append(r.Answers, kit.Link{
			Key: x.ID, Text: x.Label, Danger: x.Rejects,
			Href: link.With(card.Action, url.Values{"digest": {a.Digest}, "back": {"home"}}),
		})
	}
	r.Actions = []kit.Link{{Text: c.T("Open"), Href: r.Href}}
	return nil
}

// basis is what an answer holds for besides the message, as facts, and whether these are all of it.
func (s *section) basis(c *ui.Context, a domain.Approval) (facts []kit.Fact, whole bool, err error) {
	run, err := s.App.Runs.Find(c, c.Who.Actor(), a.Run)
	if domain.CodeOf(err) == domain.CodeCorrupt {
		return nil, false, nil // its page shows what is damaged
	}
	if err != nil {
		return nil, false, err
	}
	facts, whole = approval.Facts(run.Input, factsMost)
	journal, err := s.App.Runs.Journal(c, c.Who.Actor(), a.Run, 0, basisRows)
	if err != nil || journal.More || journal.Damage != "" {
		return facts, false, err
	}
	for _, e := range journal.Rows {
		if e.Ref == a.ID || !e.Final || e.Output == nil {
			continue
		}
		more, all := approval.Facts(e.Output, factsMost)
		for _, f := range more {
			f.Term = kit.Visible(e.Node) + "." + f.Term
			facts = append(facts, f)
		}
		whole = whole && all
	}
	if len(facts) > factsMost {
		return facts[:factsMost], false, nil
	}
	return facts, whole, nil
}

func approvalRequest(c *ui.Context, group []domain.Approval) Request {
	a := group[0]
	r := Request{
		Role:    "need",
		Kind:    kit.Link{Text: kit.Visible(a.PlanKey), Href: "/plans/" + url.PathEscape(a.PlanKey)},
		Text:    kit.Visible(kit.Cut(a.Message, 200)),
		Href:    "/approvals/" + a.ID,
		Risk:    kit.Visible(kit.Cut(a.Label, 80)),
		Remark:  c.T("Waiting for %s", kit.About(c.Site.Now().Sub(a.CreatedAt))),
		Actions: []kit.Link{{Text: c.T("Review"), Href: "/approvals/" + a.ID}},
	}
	if n := len(group); n > 1 {
		r.Remark = c.N(n, "%s request alike", "%s requests alike")
		r.Actions = []kit.Link{{
			Text: c.N(n, "Review %s", "Review %s"),
			Href: link.With("/approvals/"+a.ID, url.Values{"show": {"all"}, "plan": {a.PlanKey}}),
		}}
	}
	return r
}

func doubtRequest(c *ui.Context, run domain.Run) Request {
	at := "/runs/" + run.ID + "?step=" + url.QueryEscape(run.Node) + "#inspector"
	return Request{
		Role:    "doubt",
		Kind:    kit.Link{Text: c.T("In doubt · %s", kit.Visible(run.PlanKey)), Href: "/plans/" + url.PathEscape(run.PlanKey)},
		Text:    c.T("Did the call of %s happen?", kit.Visible(run.Node)),
		Href:    at,
		Remark:  part.Headline(c, run),
		Actions: []kit.Link{{Text: c.T("Look it up"), Href: at}},
	}
}
