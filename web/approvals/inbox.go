package approvals

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/approval"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	// similarMax is how many approvals one act decides.
	similarMax = 50
	// historyMax is how many earlier decisions are counted.
	historyMax = 10
	othersMax  = 1000
	// questionsMax is how many runs of a kind stand below the approvals.
	questionsMax = 50
)

// inboxFilter reads the address of the list: which approvals, of which plan or agent.
func (s *section) inboxFilter(c *ui.Context) (f domain.ApprovalFilter, show string, keep url.Values) {
	q := c.Echo.Request().URL.Query()
	keep = url.Values{}
	for _, k := range []string{"show", "status", "plan", "agent"} {
		if v := strings.TrimSpace(q.Get(k)); v != "" {
			keep.Set(k, v)
		}
	}
	f = domain.ApprovalFilter{Status: keep.Get("status"), Plan: keep.Get("plan"), Agent: keep.Get("agent")}
	show = cmp.Or(keep.Get("show"), "mine")
	switch {
	case f.Status != "" && f.Status != "open":
		show = f.Status
	case show == "decided":
		f.Decided = true
	case show == "overdue":
		f.Overdue = c.Site.Now()
	case show == "assigned":
		f.Assignee = c.Who.Name
	case show != "all":
		show, f.For = "mine", c.Who.Name
	}
	return f, show, keep
}

// approvals is the inbox: what waits, by deadline, then age, beside the
// first decision.
func (s *section) approvals(c *ui.Context) error { return s.inbox(c, http.StatusOK, nil, "") }

// approval is one decision beside the inbox.
func (s *section) approval(c *ui.Context) error {
	a, err := s.App.Approvals.Get(c, c.Who.Actor(), c.Param("approval"))
	if err != nil {
		return err
	}
	return s.inbox(c, http.StatusOK, &a, "")
}

// inbox renders list and decision; chosen is the decision that was requested.
func (s *section) inbox(c *ui.Context, code int, chosen *domain.Approval, problem string) error {
	title, id := "Approvals", ""
	if chosen != nil {
		title, id = "Approval", chosen.ID
	}
	p := ApprovalsPage{Shell: c.Shell("approvals", title), Chosen: chosen != nil}
	if p.Pending > 0 {
		p.Favicon = "waiting"
	}
	p.Live = true
	f, show, keep := s.inboxFilter(c)
	var list []domain.Approval
	var err error
	if p.Confirmation, err = s.Cards.Confirmation(c); err != nil {
		return err
	}
	if p.Confirmation != nil {
		p.Done = ""
	}
	if p.Inbox, list, err = s.list(c, id); err != nil {
		return err
	}
	s.inboxLinks(c, &p, show, keep)
	s.inboxFields(c, &p, f, list)
	p.List = link.With("/approvals", keep)
	if chosen == nil && len(list) > 0 {
		chosen = &list[0]
	}
	if chosen != nil {
		v, err := s.decision(c, *chosen)
		if err != nil {
			return err
		}
		v.FormError, v.Keep = problem, keep.Encode()
		if code == http.StatusConflict {
			v.Changed = true
		}
		p.Decision = &v
	}
	return c.Render(code, Approvals(p))
}

// list is what waits, by deadline, then age; chosen is the one that is shown beside it.
func (s *section) list(c *ui.Context, chosen string) (Inbox, []domain.Approval, error) {
	v := Inbox{Topic: "runs", Address: c.Echo.Request().URL.RequestURI()}
	f, show, keep := s.inboxFilter(c)
	f.Page = c.Page()
	list, err := s.App.Approvals.List(c, c.Who.Actor(), f)
	if err != nil {
		return v, nil, err
	}
	for i, a := range list.Items {
		card, err := s.Cards.Card(c, a)
		if err != nil {
			return v, nil, err
		}
		card.Href = link.With(card.Href, keep)
		card.Current = chosen == a.ID || chosen == "" && i == 0
		v.Items = append(v.Items, card)
	}
	v.Similar = groups(c, v.Items)
	at := func(key, cursor string) string {
		if cursor == "" {
			return ""
		}
		return link.With("/approvals", keep, key, cursor)
	}
	v.Newer, v.Older = at("before", list.Prev), at("after", list.Next)
	if len(list.Items) == 0 {
		if err := s.nothingWaits(c, &v, f, show); err != nil {
			return v, nil, err
		}
	}
	if show == "mine" || show == "all" {
		if err := s.openQuestions(c, &v, f); err != nil {
			return v, nil, err
		}
	}
	return v, list.Items, nil
}

// groups are the listed requests that the reader may decide together: several of one step of a plan
// that ask for no values.
func groups(c *ui.Context, items []approval.Card) []SimilarGroup {
	count := map[[2]string]int{}
	for _, v := range items {
		if v.Status == "open" && v.CanAct && !v.OwnRun && len(v.Fields) == 0 {
			count[[2]string{v.Plan, v.Node}]++
		}
	}
	var out []SimilarGroup
	for _, v := range items {
		key := [2]string{v.Plan, v.Node}
		n := count[key]
		if n < 2 {
			continue
		}
		delete(count, key)
		g := SimilarGroup{Text: c.N(n, "%s request alike: %s › %s", "%s requests alike: %s › %s", v.Plan, v.Node)}
		for _, x := range v.Answers {
			g.Answers = append(g.Answers, kit.Link{
				Text: c.T("%s all…", x.Label), Danger: x.Rejects,
				Href: link.With("/approvals/bulk", url.Values{"plan": {v.Plan}, "node": {v.Node}, "answer": {x.ID}}),
			})
		}
		out = append(out, g)
	}
	return out
}

// openQuestions are runs that wait for a person though nothing of theirs asks: with a
// call in doubt, or over what they may use. Agents ask none of them.
func (s *section) openQuestions(c *ui.Context, p *Inbox, f domain.ApprovalFilter) error {
	if f.Agent != "" {
		return nil
	}
	for _, q := range []struct {
		reason domain.WaitReason
		rows   *[]part.Row
		more   *string
	}{{domain.WaitInDoubt, &p.Doubts, &p.MoreDoubts}, {domain.WaitBudget, &p.Over, &p.MoreOver}} {
		list, err := s.Reader.Runs(
			c,
			domain.RunFilter{WaitReasons: []domain.WaitReason{q.reason}, PlanKey: f.Plan, Page: domain.Page{Limit: questionsMax}},
		)
		if err != nil {
			return err
		}
		if *q.rows = s.rows.Of(c, list.Items); list.Next != "" {
			at := "waiting:" + string(q.reason)
			if f.Plan != "" {
				at += " plan:" + filter.Quote(f.Plan)
			}
			*q.more = link.List("/runs", at)
		}
	}
	return nil
}

// inboxFields fill the form that narrows the inbox: with what was chosen, and the
// plans and agents that the list speaks of.
func (s *section) inboxFields(c *ui.Context, p *ApprovalsPage, f domain.ApprovalFilter, list []domain.Approval) {
	p.Plan, p.Agent, p.Show, p.Status = f.Plan, f.Agent, c.Query("show"), c.Query("status")
	for _, a := range list {
		if !slices.Contains(p.Plans, a.PlanKey) {
			p.Plans = append(p.Plans, a.PlanKey)
		}
		if a.Agent != "" && !slices.Contains(p.Agents, a.Agent) {
			p.Agents = append(p.Agents, a.Agent)
		}
	}
	slices.Sort(p.Plans)
	slices.Sort(p.Agents)
}

func (s *section) inboxLinks(c *ui.Context, p *ApprovalsPage, show string, keep url.Values) {
	for _, s := range []struct{ show, word string }{{"mine", c.T("Mine")}, {"all", c.T("All open")},
		{"assigned", c.T("Assigned to me")}, {"overdue", c.T("Overdue")}, {"decided", c.T("Decided")}} {
		value := s.show
		if value == "mine" {
			value = ""
		}
		p.States = append(
			p.States,
			kit.Link{Text: s.word, Href: link.With("/approvals", keep, "show", value, "status", ""), Current: show == s.show},
		)
	}
	for _, k := range []string{"plan", "agent", "status"} {
		if v := keep.Get(k); v != "" {
			p.Terms = append(
				p.Terms,
				kit.Link{
					Text:  c.T("%s without its filter", k+": "+kit.Visible(v)),
					Count: k + ": " + kit.Visible(v),
					Href:  link.With("/approvals", keep, k, ""),
				},
			)
		}
	}
}

// nothingWaits explains why the list is empty, and whether requests wait for others.
func (s *section) nothingWaits(c *ui.Context, p *Inbox, f domain.ApprovalFilter, show string) error {
	if f.Plan != "" || f.Agent != "" {
		p.Empty = c.T("No approval of this plan or agent is here.")
		return nil
	}
	if c.Query("status") != "" {
		p.Empty = c.T("No approval is in this state.")
		return nil
	}
	p.Empty = c.T("Nothing waits for a decision.")
	if show != "mine" && show != "assigned" {
		return nil
	}
	n, err := s.Reader.ApprovalsCount(c, domain.ApprovalFilter{NotFor: c.Who.Name}, othersMax)
	if err != nil {
		return err
	}
	p.Empty = c.T("Nothing waits for you.")
	if n > 0 {
		p.Empty += " " + c.N(n, "%s waits for others.", "%s wait for others.")
		p.Others = "/approvals?show=all"
	}
	return nil
}
