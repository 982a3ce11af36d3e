package home

import (
	"slices"
	"time"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	// homeGroups is the maximum number of failure groups on home.
	homeGroups = 15
	// homeRows is the maximum number of runs or approvals in a section.
	homeRows = 10
	// ackedDays is the number of days for which home shows acknowledged failures.
	ackedDays = 7
	// restartShown is the time for which home shows a restart after a crash.
	restartShown = 24 * time.Hour
)

// waitsForPerson are the wait reasons that need a person. Approvals and steps in doubt are
// excluded, because they have their own section.
var waitsForPerson = slices.DeleteFunc(slices.Clone(domain.WaitReasons), func(w domain.WaitReason) bool {
	return !w.NeedsPerson() || w == domain.WaitApproval || w == domain.WaitInDoubt
})

// attentionSection builds the section of problems: failure groups, runs interrupted by a crash, and
// runs that only a person can continue.
func (s *section) attentionSection(c *ui.Context) (templ.Component, error) {
	var p AttentionSection
	counts, err := s.Reader.RunCounts(c)
	if err != nil {
		return nil, err
	}
	groups, err := s.App.Failures.List(c, c.Principal.Actor(), homeGroups+1)
	if err != nil {
		return nil, err
	}
	more := len(groups) > homeGroups
	if more {
		groups = groups[:homeGroups]
	}
	for _, g := range groups {
		row, err := s.group(c, g, true)
		if err != nil {
			return nil, err
		}
		p.Groups = append(p.Groups, row)
	}
	if err := s.acked(c, &p, groups); err != nil {
		return nil, err
	}
	// Other runs that only a person can continue: quarantined, held, paused, or over a limit.
	waiting, err := s.Reader.Runs(c, domain.RunFilter{WaitReasons: waitsForPerson, Page: domain.Page{Limit: homeRows}})
	if err != nil {
		return nil, err
	}
	p.Waiting = s.rows.Of(c, waiting.Items)
	if waiting.Next != "" {
		p.MoreWaiting = c.T("All runs that wait for a person")
	}
	retrying, err := s.Reader.Runs(
		c,
		domain.RunFilter{NeedsAttention: true, WaitReasons: []domain.WaitReason{domain.WaitRetry}, Page: domain.Page{Limit: homeRows}},
	)
	if err != nil {
		return nil, err
	}
	p.Retrying = s.rows.Of(c, retrying.Items)
	if retrying.Next != "" {
		p.MoreRetrying = c.T("All runs that are retried repeatedly")
	}
	if counts.Silent > 0 {
		silent, err := s.Reader.Runs(
			c,
			domain.RunFilter{NeedsAttention: true, Statuses: []domain.RunStatus{domain.RunRunning}, Page: domain.Page{Limit: homeRows}},
		)
		if err != nil {
			return nil, err
		}
		p.Silent = s.rows.Of(c, silent.Items)
		if silent.Next != "" {
			p.MoreSilent = c.T("All stale runs")
		}
	}
	if p.Restart, err = s.restart(c); err != nil {
		return nil, err
	}
	problems := len(p.Groups) + len(p.Waiting) + len(p.Retrying) + len(p.Silent)
	switch {
	case problems == 0 && p.Restart == nil && len(p.Acked) == 0:
		return templ.NopComponent, nil // the situation section covers this
	case problems == 0:
		return Attention(p), nil
	}
	runs := counts.NeedsAttention - counts.Waiting[domain.WaitApproval] - counts.Waiting[domain.WaitInDoubt]
	p.Sum = c.T("%s in %s", c.N(problems, "%s problem", "%s problems"), c.N(int(runs), "%s run", "%s runs"))
	if more || p.MoreWaiting != "" || p.MoreRetrying != "" || p.MoreSilent != "" {
		p.Sum = c.T("more than %s", p.Sum)
	}
	if len(groups) > 1 && c.Principal.Role.Includes(domain.RoleOperator) {
		p.AckAll = "/failures/ack?all=1"
	}
	return Attention(p), nil
}

// failedOver returns the failures of a group in the last 24 hours, a bar per half hour.
func (s *section) failedOver(c *ui.Context, g domain.FailureGroup) ([]part.Cell, error) {
	times, err := s.Reader.FailureTimes(c, g.Ref())
	if err != nil {
		return nil, err
	}
	from := firstSlot(c.Site.Now())
	var failed [stripSlots]int
	for _, at := range times {
		if i := int(at.Sub(from) / domain.OutcomeSlot); !at.Before(from) && i < stripSlots {
			failed[i]++
		}
	}
	const w = 100.0 / stripSlots
	most := max(slices.Max(failed[:]), 1)
	var out []part.Cell
	for i, n := range failed {
		if n == 0 {
			continue
		}
		h := 25 + 75*float64(n)/float64(most)
		out = append(out, part.Cell{
			X: kit.Percent(float64(i) * w), W: kit.Percent(w * .8), Y: kit.Percent(100 - h), H: kit.Percent(h), Class: "g-fail",
		})
	}
	return out, nil
}

// acked fills in the acknowledged failures that have not recurred.
func (s *section) acked(c *ui.Context, p *AttentionSection, groups []domain.FailureGroup) error {
	acks, err := s.acknowledgments(c, groups)
	if err != nil {
		return err
	}
	for _, a := range acks {
		p.Acked = append(p.Acked, ackOf(c, a))
	}
	if len(p.Acked) > 0 {
		p.AckedHead = c.N(len(p.Acked), "%s failure is acknowledged", "%s failures are acknowledged")
	}
	return nil
}

// acknowledgments returns the recent acknowledgments whose failures have not recurred.
func (s *section) acknowledgments(c *ui.Context, groups []domain.FailureGroup) ([]domain.FailureAck, error) {
	acks, err := s.App.Failures.Acknowledged(c, c.Principal.Actor(), c.Site.Now().Add(-ackedDays*24*time.Hour), 50)
	return slices.DeleteFunc(acks, func(a domain.FailureAck) bool {
		return slices.ContainsFunc(groups, func(g domain.FailureGroup) bool { return a.Covers(g.Ref()) })
	}), err
}

// lastFailure returns a sentence with the time of the last failure. It is empty if no run failed.
func (s *section) lastFailure(c *ui.Context) (string, error) {
	list, err := s.Reader.Runs(c, domain.RunFilter{Statuses: []domain.RunStatus{domain.RunFailed}, Page: domain.Page{Limit: 1}})
	if err != nil || len(list.Items) == 0 {
		return "", err
	}
	return c.T("The last failure was %s.", c.Ago(c.Site.Now().Sub(list.Items[0].EndedAt))), nil
}

// restart returns the number of runs that the last crash interrupted, and their current state. It
// is nil if kairosd did not restart after a crash in the last 24 hours.
func (s *section) restart(c *ui.Context) (*RestartLine, error) {
	starts, err := s.App.Audit.List(c, c.Principal.Actor(), domain.AuditFilter{Action: "daemon.start", Page: domain.Page{Limit: 1}})
	if err != nil || len(starts.Items) == 0 {
		return nil, err
	}
	start := starts.Items[0]
	if start.Reason != "unclean" || c.Site.Now().Sub(start.At) > restartShown {
		return nil, nil
	}
	open, err := s.Reader.Runs(
		c,
		domain.RunFilter{
			HasCrash: true,
			Statuses: []domain.RunStatus{domain.RunQueued, domain.RunRunning, domain.RunWaiting},
			Page:     domain.Page{Limit: 200},
		},
	)
	if err != nil {
		return nil, err
	}
	ended, whole, err := s.Reader.RunsCount(
		c,
		domain.RunFilter{
			HasCrash: true,
			Statuses: []domain.RunStatus{domain.RunCompleted, domain.RunFailed, domain.RunCancelled},
			Since:    start.At,
		},
		sinceCap,
	)
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
	l := &RestartLine{At: c.Time(start.At), Href: link.List("/runs", "has:crash since:24h")}
	l.Text = c.N(all, "%s run: ", "%s runs: ")
	if !whole {
		l.Text = c.T("at least %s", l.Text)
	}
	l.Text += c.N(all-decide, "%s recovered", "%s recovered")
	if decide > 0 {
		l.Text += c.N(decide, ", %s needs a decision", ", %s need a decision")
		l.Href = link.List("/runs", "has:crash waiting:in_doubt,quarantined")
	}
	return l, nil
}
