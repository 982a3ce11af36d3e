package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/view"
)

// ackedDays is for how long home shows failures that were acknowledged.
const ackedDays = 7

// lastFailure says when a run failed last.
func (r *request) lastFailure() (string, error) {
	list, err := r.s.Reader.Runs(r.ctx, kairos.RunFilter{Statuses: []kairos.RunStatus{kairos.RunFailed}, Page: kairos.Page{Limit: 1}})
	if err != nil || len(list.Items) == 0 {
		return "", err
	}
	return r.t("The last failure was %s.", r.ago(r.s.now().Sub(list.Items[0].EndedAt))), nil
}

// homeGroups is how many failures the home page lists.
const homeGroups = 15

// waitsForPerson are the reasons that are not asked as approvals.
var waitsForPerson = slices.DeleteFunc(slices.Clone(kairos.WaitReasons), func(w kairos.WaitReason) bool {
	return !w.NeedsPerson() || w == kairos.WaitApproval
})

// home answers in five seconds: is anything wrong, what needs me, what runs.
func (r *request) home() error {
	p := view.HomePage{Shell: r.shell("home", "Home"), Topic: "runs"}
	p.Live = true
	counts, err := r.s.Reader.RunCounts(r.ctx)
	if err != nil {
		return err
	}
	p.Empty = counts.Total == 0
	groups, err := r.s.Reader.FailureGroups(r.ctx, homeGroups+1)
	if err != nil {
		return err
	}
	if len(groups) > homeGroups {
		groups, p.More = groups[:homeGroups], r.t("All that failed")
	}
	for _, g := range groups {
		p.Groups = append(p.Groups, r.groupRow(g))
	}
	now := r.s.now()
	if err := r.sinceLeft(&p, groups, now); err != nil {
		return err
	}
	if err := r.strips(&p, now); err != nil {
		return err
	}
	acks, err := r.s.Reader.FailureAcks(r.ctx, now.Add(-ackedDays*24*time.Hour), 50)
	if err != nil {
		return err
	}
	for _, a := range acks {
		if !slices.ContainsFunc(groups, func(g kairos.FailureGroup) bool { return g.Ref() == a.FailureRef }) {
			p.Acked = append(p.Acked, r.ackOf(a))
		}
	}
	if len(p.Acked) > 0 {
		p.AckedHead = r.n(len(p.Acked), "%s failure is acknowledged", "%s failures are acknowledged")
	}
	if len(groups) == 0 {
		p.LastFailure, err = r.lastFailure()
		if err != nil {
			return err
		}
	}
	p.Failed = r.number(counts.ByStatus[kairos.RunFailed])
	// What else only a person can end: interrupted, parked, over budget, paused.
	attention, err := r.s.Reader.Runs(r.ctx, kairos.RunFilter{WaitReasons: waitsForPerson, Page: kairos.Page{Limit: 10}})
	if err != nil {
		return err
	}
	p.Attention = r.runRows(attention.Items)
	if attention.Next != "" {
		p.MoreWaiting = r.t("All that wait for a person")
	}
	open, err := r.s.Reader.Approvals(r.ctx, kairos.ApprovalFilter{Page: kairos.Page{Limit: 10}})
	if err != nil {
		return err
	}
	for _, a := range open.Items {
		p.Approvals = append(p.Approvals, r.approvalView(a))
	}
	running, err := r.s.Reader.Runs(r.ctx, kairos.RunFilter{Statuses: []kairos.RunStatus{kairos.RunRunning}, Page: kairos.Page{Limit: 10}})
	if err != nil {
		return err
	}
	p.Running = r.runRows(running.Items)
	for _, s := range kairos.RunStatuses {
		st := runStatus(s, kairos.WaitTimer)
		p.Counts = append(p.Counts, view.Fact{Term: r.t(st.Word), Text: r.number(counts.ByStatus[s]), Href: "/runs?q=" + url.QueryEscape("status:"+string(s))})
	}
	if r.htmx() && !p.Empty {
		return r.render(http.StatusOK, view.HomeBands(p))
	}
	return r.render(http.StatusOK, view.Home(p))
}

func (r *request) help() error {
	return r.render(http.StatusOK, view.Help(r.shell("", "Help")))
}

// audit is the log of every act.
func (r *request) audit() error {
	form := view.AuditForm{Actor: r.c.QueryParam("actor"), Action: r.c.QueryParam("action"), Object: r.c.QueryParam("object"), Run: r.c.QueryParam("run"),
		Result: r.c.QueryParam("result"), Since: r.c.QueryParam("since")}
	f := kairos.AuditFilter{Actor: form.Actor, Action: form.Action, Object: form.Object, Result: form.Result, Page: r.page()}
	if form.Run != "" {
		run, err := r.s.Reader.FindRun(r.ctx, form.Run)
		if err != nil {
			return err
		}
		f.Run = run.ID
	}
	if form.Since != "" {
		at, err := filter.Moment(form.Since, time.Now())
		if err != nil {
			return kairos.Errorf(kairos.CodeInvalid, "since: %w", err).Suggest("write 24h, 7d or 2030-01-31T08:00")
		}
		f.Since = at
	}
	list, err := r.s.Reader.AuditEvents(r.ctx, f)
	if err != nil {
		return err
	}
	p := view.AuditPage{Shell: r.shell("audit", "Audit"), Form: form}
	for _, e := range list.Items {
		p.Rows = append(p.Rows, r.auditRow(e))
	}
	at := func(key, cursor string) string {
		if cursor == "" {
			return ""
		}
		q := r.c.Request().URL.Query()
		q.Del("before")
		q.Del("after")
		q.Set(key, cursor)
		return "/audit?" + q.Encode()
	}
	p.Newer, p.Older = at("before", list.Prev), at("after", list.Next)
	return r.render(http.StatusOK, view.Audit(p))
}

// auditRow is an event of the audit log as lists show it.
func (r *request) auditRow(e kairos.AuditEvent) view.EventRow {
	row := view.EventRow{Seq: strconv.FormatInt(e.Seq, 10), At: r.time(e.At), Who: visible(e.Actor), What: e.Action, Where: visible(e.Object), Text: visible(e.Reason)}
	if e.Run != "" {
		row.Where, row.Href = strings.TrimSpace(r.t("run %s", kairos.ShortID(e.Run))+" "+visible(e.Object)), "/runs/"+e.Run
	} else if key, ok := strings.CutPrefix(e.Object, "plan:"); ok {
		row.Href = "/plans/" + url.PathEscape(key)
	} else if id, ok := strings.CutPrefix(e.Object, "bulk:"); ok {
		row.Href = "/bulk/" + url.PathEscape(id)
	}
	if e.Result != "ok" {
		row.What += " (" + e.Result + ")"
	}
	return row
}
