package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

const (
	// alikeMax is how many approvals one act decides.
	alikeMax = 50
	// historyMax is how many earlier decisions are counted.
	historyMax = 10
	othersMax  = 1000
	// questionsMax is how many runs of a kind stand below the approvals.
	questionsMax = 50
)

// inboxFilter is what the address says of the list: which approvals, of which plan
// or agent.
func (r *request) inboxFilter() (f domain.ApprovalFilter, show string, keep url.Values) {
	q := r.c.Request().URL.Query()
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
		f.Overdue = r.s.now()
	case show == "assigned":
		f.Assignee = r.who.Name
	case show != "all":
		show, f.For = "mine", r.who.Name
	}
	return f, show, keep
}

// approvals is the inbox: what waits, by deadline, then age, beside the
// first decision.
func (r *request) approvals() error { return r.inbox(http.StatusOK, nil, "") }

// approval is one decision beside the inbox.
func (r *request) approval() error {
	a, err := r.s.App.Approvals.Get(r.ctx, r.who.actor(), r.c.Param("approval"))
	if err != nil {
		return err
	}
	return r.inbox(http.StatusOK, &a, "")
}

// inbox renders list and decision; chosen is the decision that was asked for.
func (r *request) inbox(code int, chosen *domain.Approval, problem string) error {
	title := "Approvals"
	if chosen != nil {
		title = "Approval"
	}
	p := view.ApprovalsPage{Shell: r.shell("approvals", title), Topic: "runs", Chosen: chosen != nil}
	if p.Pending > 0 {
		p.Favicon = "waiting"
	}
	p.Live = true
	f, show, keep := r.inboxFilter()
	f.Page = r.page()
	list, err := r.s.App.Approvals.List(r.ctx, r.who.actor(), f)
	if err != nil {
		return err
	}
	for i, a := range list.Items {
		v, err := r.approvalView(a)
		if err != nil {
			return err
		}
		v.Href = with(v.Href, keep)
		v.Current = chosen != nil && chosen.ID == a.ID || chosen == nil && i == 0
		p.Items = append(p.Items, v)
	}
	r.inboxLinks(&p, show, keep)
	r.inboxFields(&p, f, list.Items)
	at := func(key, cursor string) string {
		if cursor == "" {
			return ""
		}
		return with("/approvals", keep, key, cursor)
	}
	p.Newer, p.Older = at("before", list.Prev), at("after", list.Next)
	p.List = with("/approvals", keep)
	if len(list.Items) == 0 {
		if err := r.nothingWaits(&p, show); err != nil {
			return err
		}
	}
	if show == "mine" || show == "all" {
		if err := r.openQuestions(&p, f); err != nil {
			return err
		}
	}
	if chosen == nil && len(list.Items) > 0 {
		chosen = &list.Items[0]
	}
	if chosen != nil {
		v, err := r.decision(*chosen)
		if err != nil {
			return err
		}
		v.FormError, v.Keep = problem, keep.Encode()
		if code == http.StatusConflict {
			v.Changed = true
		}
		p.Decision = &v
	}
	return r.render(code, view.Approvals(p))
}

// openQuestions are runs that wait for a person though nothing of theirs asks: with a
// call in doubt, or over what they may use. Agents ask none of them.
func (r *request) openQuestions(p *view.ApprovalsPage, f domain.ApprovalFilter) error {
	if f.Agent != "" {
		return nil
	}
	for _, q := range []struct {
		reason domain.WaitReason
		rows   *[]view.RunRow
		more   *string
	}{{domain.WaitInDoubt, &p.Doubts, &p.MoreDoubts}, {domain.WaitBudget, &p.Over, &p.MoreOver}} {
		list, err := r.s.Reader.Runs(r.ctx, domain.RunFilter{WaitReasons: []domain.WaitReason{q.reason}, PlanKey: f.Plan, Page: domain.Page{Limit: questionsMax}})
		if err != nil {
			return err
		}
		if *q.rows = r.runRows(list.Items); list.Next != "" {
			at := "waiting:" + string(q.reason)
			if f.Plan != "" {
				at += " plan:" + quoted(f.Plan)
			}
			*q.more = listAt("/runs", at)
		}
	}
	return nil
}

// inboxFields fill the form that narrows the inbox: with what was chosen, and the
// plans and agents that the list speaks of.
func (r *request) inboxFields(p *view.ApprovalsPage, f domain.ApprovalFilter, list []domain.Approval) {
	p.Plan, p.Agent, p.Show, p.Status = f.Plan, f.Agent, r.c.QueryParam("show"), r.c.QueryParam("status")
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

func (r *request) inboxLinks(p *view.ApprovalsPage, show string, keep url.Values) {
	for _, s := range []struct{ show, word string }{{"mine", r.t("Mine")}, {"all", r.t("All open")}, {"assigned", r.t("Given to me")}, {"overdue", r.t("Overdue")}, {"decided", r.t("Decided")}} {
		value := s.show
		if value == "mine" {
			value = ""
		}
		p.States = append(p.States, view.Link{Text: s.word, Href: with("/approvals", keep, "show", value, "status", ""), Current: show == s.show})
	}
	for _, k := range []string{"plan", "agent", "status"} {
		if v := keep.Get(k); v != "" {
			p.Terms = append(p.Terms, view.Link{Text: r.t("%s without its filter", k+": "+visible(v)), Count: k + ": " + visible(v), Href: with("/approvals", keep, k, "")})
		}
	}
}

// nothingWaits says why the list is empty, and who has something to do.
func (r *request) nothingWaits(p *view.ApprovalsPage, show string) error {
	if p.Plan != "" || p.Agent != "" {
		p.Empty = r.t("No approval of this plan or agent is here.")
		return nil
	}
	if r.c.QueryParam("status") != "" {
		p.Empty = r.t("No approval is in this state.")
		return nil
	}
	p.Empty = r.t("Nothing waits for a decision.")
	if show != "mine" && show != "assigned" {
		return nil
	}
	n, err := r.s.Reader.ApprovalsCount(r.ctx, domain.ApprovalFilter{NotFor: r.who.Name}, othersMax)
	if err != nil {
		return err
	}
	p.Empty = r.t("Nothing waits for you.")
	if n > 0 {
		p.Empty += " " + r.n(n, "%s waits for others.", "%s wait for others.")
		p.Others = "/approvals?show=all"
	}
	return nil
}
