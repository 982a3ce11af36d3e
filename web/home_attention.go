package web

import (
	"slices"
	"time"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/part/failure"
	"github.com/kairosd/kairosd/web/view"
)

const (
	// homeGroups is how many failures the home page lists.
	homeGroups = 15
	// homeRows is how many runs or approvals a band lists.
	homeRows = 10
	// ackedDays is for how long home shows failures that were acknowledged.
	ackedDays = 7
	// restartShown is for how long home speaks of a start after a crash.
	restartShown = 24 * time.Hour
)

// waitsForPerson are the reasons that are not asked as approvals.
var waitsForPerson = slices.DeleteFunc(slices.Clone(domain.WaitReasons), func(w domain.WaitReason) bool {
	return !w.NeedsPerson() || w == domain.WaitApproval
})

// attentionBand is what is wrong: failures that are alike as one line each, what
// a crash interrupted, and runs that only a person can let go on.
func (r *request) attentionBand() (templ.Component, error) {
	var p view.AttentionBand
	counts, err := r.s.Reader.RunCounts(r.ctx)
	if err != nil {
		return nil, err
	}
	groups, err := r.s.App.Failures.List(r.ctx, r.who.actor(), homeGroups+1)
	if err != nil {
		return nil, err
	}
	more := len(groups) > homeGroups
	if more {
		groups, p.More = groups[:homeGroups], r.t("All that failed")
	}
	for _, g := range groups {
		row := r.groupRow(g)
		since, err := failure.Ports{App: r.s.App, Reader: r.s.Reader}.NewSince(r.Context, g)
		if err != nil {
			return nil, err
		}
		row.New, row.Good, row.Compare = since.New, since.Good, since.Compare
		p.Groups = append(p.Groups, row)
	}
	if err := r.acked(&p, groups); err != nil {
		return nil, err
	}
	// What else only a person can end: interrupted, parked, over budget, paused;
	// and what is tried again and again.
	waiting, err := r.s.Reader.Runs(r.ctx, domain.RunFilter{WaitReasons: waitsForPerson, Page: domain.Page{Limit: homeRows}})
	if err != nil {
		return nil, err
	}
	p.Waiting = r.runRows(waiting.Items)
	if waiting.Next != "" {
		p.MoreWaiting = r.t("All that wait for a person")
	}
	retrying, err := r.s.Reader.Runs(r.ctx, domain.RunFilter{NeedsAttention: true, WaitReasons: []domain.WaitReason{domain.WaitRetry}, Page: domain.Page{Limit: homeRows}})
	if err != nil {
		return nil, err
	}
	p.Retrying = r.runRows(retrying.Items)
	if retrying.Next != "" {
		p.MoreRetrying = r.t("All that are tried again and again")
	}
	if counts.Silent > 0 {
		silent, err := r.s.Reader.Runs(r.ctx, domain.RunFilter{NeedsAttention: true, Statuses: []domain.RunStatus{domain.RunRunning}, Page: domain.Page{Limit: homeRows}})
		if err != nil {
			return nil, err
		}
		p.Silent = r.runRows(silent.Items)
		if silent.Next != "" {
			p.MoreSilent = r.t("All that give no sign of life")
		}
	}
	if p.Restart, err = r.restart(); err != nil {
		return nil, err
	}
	problems := len(p.Groups) + len(p.Waiting) + len(p.Retrying) + len(p.Silent)
	if problems == 0 {
		p.Nothing, err = r.lastFailure()
		return view.Attention(p), err
	}
	runs := counts.NeedsAttention - counts.Waiting[domain.WaitApproval]
	p.Sum = r.t("%s in %s", r.n(problems, "%s problem", "%s problems"), r.n(int(runs), "%s run", "%s runs"))
	if more || p.MoreWaiting != "" || p.MoreRetrying != "" || p.MoreSilent != "" {
		p.Sum = r.t("more than %s", p.Sum)
	}
	if len(groups) > 1 && r.who.Role.Includes(domain.RoleOperator) {
		p.AckAll = "/failures/ack?all=1"
	}
	return view.Attention(p), nil
}

// acked adds the failures that people took note of and that are not back.
func (r *request) acked(p *view.AttentionBand, groups []domain.FailureGroup) error {
	acks, err := r.s.App.Failures.Acknowledged(r.ctx, r.who.actor(), r.s.now().Add(-ackedDays*24*time.Hour), 50)
	if err != nil {
		return err
	}
	for _, a := range acks {
		if !slices.ContainsFunc(groups, func(g domain.FailureGroup) bool { return a.Covers(g.Ref()) }) {
			p.Acked = append(p.Acked, r.ackOf(a))
		}
	}
	if len(p.Acked) > 0 {
		p.AckedHead = r.n(len(p.Acked), "%s failure is acknowledged", "%s failures are acknowledged")
	}
	return nil
}

// lastFailure says when a run failed last.
func (r *request) lastFailure() (string, error) {
	list, err := r.s.Reader.Runs(r.ctx, domain.RunFilter{Statuses: []domain.RunStatus{domain.RunFailed}, Page: domain.Page{Limit: 1}})
	if err != nil || len(list.Items) == 0 {
		return "", err
	}
	return r.t("The last failure was %s.", r.ago(r.s.now().Sub(list.Items[0].EndedAt))), nil
}

// restart says what the last start after a crash found in flight, and what has
// become of it; nil: there was none of late.
func (r *request) restart() (*view.RestartLine, error) {
	starts, err := r.s.App.Audit.List(r.ctx, r.who.actor(), domain.AuditFilter{Action: "daemon.start", Page: domain.Page{Limit: 1}})
	if err != nil || len(starts.Items) == 0 {
		return nil, err
	}
	start := starts.Items[0]
	if start.Reason != "unclean" || r.s.now().Sub(start.At) > restartShown {
		return nil, nil
	}
	open, err := r.s.Reader.Runs(r.ctx, domain.RunFilter{HasCrash: true, Statuses: []domain.RunStatus{domain.RunQueued, domain.RunRunning, domain.RunWaiting}, Page: domain.Page{Limit: 200}})
	if err != nil {
		return nil, err
	}
	ended, whole, err := r.s.Reader.RunsCount(r.ctx, domain.RunFilter{HasCrash: true, Statuses: []domain.RunStatus{domain.RunCompleted, domain.RunFailed, domain.RunCancelled}, Since: start.At}, sinceCap)
	if err != nil {
		return nil, err
	}
	decide := 0
	for _, run := range open.Items {
		if run.Status == domain.RunWaiting && run.WaitReason.NeedsPerson() {
			decide++
		}
	}
	all := len(open.Items) + ended
	if all == 0 {
		return nil, nil
	}
	l := &view.RestartLine{At: r.time(start.At), Href: listAt("/runs", "has:crash since:24h")}
	l.Text = r.n(all, "%s run: ", "%s runs: ")
	if !whole {
		l.Text = r.t("at least %s", l.Text)
	}
	l.Text += r.n(all-decide, "%s recovered", "%s recovered")
	if decide > 0 {
		l.Text += r.n(decide, ", %s needs a decision", ", %s need a decision")
		l.Href = listAt("/runs", "has:crash waiting:in_doubt,quarantined")
	}
	return l, nil
}

// approvalsBand is what waits for a decision.
func (r *request) approvalsBand() (templ.Component, error) {
	var p view.ApprovalsBand
	open, err := r.s.App.Approvals.List(r.ctx, r.who.actor(), domain.ApprovalFilter{Page: domain.Page{Limit: 200}})
	if err != nil {
		return nil, err
	}
	oldest := r.s.now()
	for i, a := range open.Items {
		if i < homeRows {
			v, err := r.approvalView(a)
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
		p.Sum = r.n(n, "%s approval, oldest waits %s", "%s approvals, oldest waits %s", about(r.s.now().Sub(oldest)))
		if open.Next != "" {
			p.Sum = r.t("more than %s", p.Sum)
		}
	}
	return view.ApprovalsOpen(p), nil
}
