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
	// maxHistory is the maximum number of earlier decisions that are counted.
	maxHistory = 10
	maxOthers  = 1000
	// maxQuestions is the maximum number of runs in doubt, and of runs over a limit, in the list.
	maxQuestions = 50
	// maxOneClick is the maximum number of requests on a page that can be decided in the list.
	maxOneClick = 20
)

// inboxFilter reads the filter from the query: which approvals, of which plan or agent.
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
	case f.Status != "" && f.Status != "pending":
		show = f.Status
	case show == "decided":
		f.Decided = true
	case show == "overdue":
		f.Overdue = c.Site.Now()
	case show == "assigned":
		f.Assignee = c.Principal.Name
	case show != "all":
		show, f.For = "mine", c.Principal.Name
	}
	return f, show, keep
}

// approvals serves the inbox, sorted by deadline, then age, next to the first decision.
func (s *section) approvals(c *ui.Context) error { return s.inbox(c, http.StatusOK, nil, "") }

// approval serves the inbox next to the approval in the address.
func (s *section) approval(c *ui.Context) error {
	a, err := s.App.Approvals.Get(c, c.Principal.Actor(), c.Param("approval"))
	if err != nil {
		return err
	}
	return s.inbox(c, http.StatusOK, &a, "")
}

// inbox renders the list and a decision. chosen is the approval in the address, or nil.
func (s *section) inbox(c *ui.Context, code int, chosen *domain.Approval, problem string) error {
	title, id := "Inbox", ""
	if chosen != nil {
		title, id = "Approval", chosen.ID
	}
	p := ApprovalsPage{Shell: c.Shell("approvals", title), Chosen: chosen != nil}
	if p.InboxCount > 0 {
		p.Favicon = "waiting"
	}
	p.Live = true
	p.Once = []kit.Once{{ID: approval.AnswersForm, Action: "/approvals", Idem: kit.NewID()}}
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

// list returns the list, sorted by deadline, then age. chosen is the ID of the approval shown next
// to it.
func (s *section) list(c *ui.Context, chosen string) (Inbox, []domain.Approval, error) {
	v := Inbox{Topic: "runs", Address: c.Echo.Request().URL.RequestURI()}
	f, show, keep := s.inboxFilter(c)
	f.Page = c.Page()
	list, err := s.App.Approvals.List(c, c.Principal.Actor(), f)
	if err != nil {
		return v, nil, err
	}
	if chosen == "" && len(list.Items) > 0 {
		chosen = list.Items[0].ID
	}
	cards := make(map[string]approval.Card, len(list.Items))
	for _, a := range list.Items {
		card, err := s.Cards.Card(c, a)
		if err != nil {
			return v, nil, err
		}
		card.Href = link.With(card.Href, keep)
		card.Current = chosen == a.ID
		cards[a.ID] = card
		if !listsPending(show) {
			v.Items = append(v.Items, card)
		}
	}
	if listsPending(show) {
		if err := s.requests(c, &v, list.Items, cards, keep); err != nil {
			return v, nil, err
		}
	}
	at := func(key, cursor string) string {
		if cursor == "" {
			return ""
		}
		return link.With("/approvals", keep, key, cursor)
	}
	v.Newer, v.Older = at("before", list.Prev), at("after", list.Next)
	if (show == "mine" || show == "all") && f.Page.After == "" && f.Page.Before == "" {
		if err := s.openQuestions(c, &v, f); err != nil {
			return v, nil, err
		}
	}
	if len(list.Items) == 0 {
		if err := s.nothingWaits(c, &v, f, show); err != nil {
			return v, nil, err
		}
	}
	return v, list.Items, nil
}

// listsPending reports whether a list contains pending approvals.
func listsPending(show string) bool {
	return show == "mine" || show == "all" || show == "assigned" || show == "overdue" || show == "pending"
}

// requests fills in the pending approvals. Similar ones form one request.
func (s *section) requests(c *ui.Context, v *Inbox, list []domain.Approval, cards map[string]approval.Card, keep url.Values) error {
	for i, group := range approval.Groups(list) {
		first := cards[group[0].ID]
		r := s.Cards.Request(c, group)
		r.Kind = kit.Link{Text: first.Plan + " › " + first.Node, Href: first.PlanHref}
		r.Href, r.Remark, r.Current = first.Href, remarkOf(c, first, len(group)), first.Current
		for i := range r.Similar {
			card := cards[group[i].ID]
			r.Similar[i].Request.Href, r.Similar[i].Request.Current = card.Href, card.Current
			if card.Current && i > 0 {
				r.Current, r.Open = true, true
			}
		}
		if len(group) > 1 {
			r.Actions = groupAnswers(c, group, cards)
		} else if i < maxOneClick {
			if err := s.Cards.OneClick(c, &r, group[0], url.Values{"keep": {keep.Encode()}}); err != nil {
				return err
			}
		}
		v.Requests = append(v.Requests, r)
	}
	return nil
}

// remarkOf returns the agent, the assignee, and the deadline of a request. A group has no common
// deadline, so it is omitted.
func remarkOf(c *ui.Context, a approval.Card, n int) string {
	var out []string
	if a.Agent != "" {
		out = append(out, a.By)
	}
	if a.Assignee != "" {
		out = append(out, c.T("for %s", a.Assignee))
	}
	if n == 1 && a.HasDeadline {
		out = append(out, a.Due)
	}
	return strings.Join(out, " · ")
}

// groupAnswers returns the answers that decide all approvals of a group, if the user may decide at
// least two of them without values.
func groupAnswers(c *ui.Context, group []domain.Approval, cards map[string]approval.Card) (out []kit.Link) {
	n := 0
	for _, a := range group {
		if v := cards[a.ID]; v.Status == "pending" && v.CanAct && !v.OwnRun && len(v.Fields) == 0 {
			n++
		}
	}
	if n < 2 {
		return nil
	}
	first := cards[group[0].ID]
	for _, x := range first.Answers {
		out = append(out, kit.Link{
			Text: c.T("%s all…", x.Label), Danger: x.Rejects, Dialog: true,
			Href: link.With("/approvals/bulk", url.Values{"plan": {first.Plan}, "node": {first.Node}, "answer": {x.ID}}),
		})
	}
	return out
}

// openQuestions adds runs that wait for a person without an approval: runs with a step in doubt
// first, and runs that reached a limit last. It adds none if the list is filtered by agent.
func (s *section) openQuestions(c *ui.Context, p *Inbox, f domain.ApprovalFilter) error {
	if f.Agent != "" {
		return nil
	}
	read := func(reason domain.WaitReason, all string) ([]domain.Run, error) {
		list, err := s.Reader.Runs(
			c,
			domain.RunFilter{WaitReasons: []domain.WaitReason{reason}, PlanKey: f.Plan, Page: domain.Page{Limit: maxQuestions}},
		)
		if list.Next != "" {
			at := "waiting:" + string(reason)
			if f.Plan != "" {
				at += " plan:" + filter.Quote(f.Plan)
			}
			p.More = append(p.More, kit.Link{Text: all, Href: link.List("/runs", at)})
		}
		return list.Items, err
	}
	doubts, err := read(domain.WaitInDoubt, c.T("All runs in doubt"))
	if err != nil {
		return err
	}
	over, err := read(domain.WaitBudget, c.T("All runs that wait for budget"))
	if err != nil {
		return err
	}
	first, err := s.requestedActions(c, f.Plan)
	if err != nil {
		return err
	}
	missed, err := s.missedSlots(c, f.Plan)
	if err != nil {
		return err
	}
	first = append(first, missed...)
	for _, group := range approval.Doubts(doubts) {
		first = append(first, approval.DoubtRequest(c, group))
	}
	p.Requests = append(first, p.Requests...)
	for _, run := range over {
		p.Requests = append(p.Requests, overRequest(c, run))
	}
	return nil
}

// overRequest returns the entry of a run that reached a limit.
func overRequest(c *ui.Context, run domain.Run) approval.Request {
	at := "/runs/" + run.ID
	return approval.Request{
		Role: "need",
		Kind: kit.Link{Text: c.T("Waiting for budget · %s",
			kit.Escape(run.PlanKey)), Href: "/plans/" + url.PathEscape(run.PlanKey)},
		Text:    c.T("May it continue?"),
		Href:    at,
		Since:   c.Time(run.StartedAt),
		Remark:  part.Headline(c, run),
		Actions: []kit.Link{{Text: c.T("Raise the limit…"), Href: at}},
	}
}

// inboxFields fills in the filter form, with the selected values, and the plans and agents in the
// list.
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
					Text:  c.T("%s without its filter", k+": "+kit.Escape(v)),
					Count: k + ": " + kit.Escape(v),
					Href:  link.With("/approvals", keep, k, ""),
				},
			)
		}
	}
}

// nothingWaits explains why the list is empty, and whether approvals wait for other users.
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
	n, err := s.Reader.ApprovalsCount(c, domain.ApprovalFilter{NotFor: c.Principal.Name}, maxOthers)
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
