package home

import (
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/event"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	// away is the minimum time between two visits of home. visitKey is the preference that stores
	// the times of visits.
	away     = 30 * time.Minute
	visitKey = "home visit"
	// sinceActs is the maximum number of listed actions.
	sinceActs = 8
	sinceCap  = 1000
)

// notable are the actions of other users that home lists.
var notable = []string{
	"run.resume",
	"run.rerun",
	"run.fork",
	"run.undo",
	"run.cancel",
	"run.delete",
	"node.resolve",
	"approval.decide",
	"plan.version",
	"plan.archive",
	"plan.unarchive",
	"bulk.resume",
	"bulk.rerun",
	"bulk.cancel",
	"bulk.delete",
	"failure.acknowledge",
	"store.released",
	"store.failed",
	"tool.accept",
	"user.create",
	"token.create",
}

// visit records that the user views home now, and returns when the previous visit ended. It returns
// the zero time on the first visit.
func (s *section) visit(c *ui.Context, now time.Time) (left time.Time, err error) {
	kept, err := s.App.Preferences.Get(c, c.Principal.Actor(), visitKey)
	if err != nil {
		return left, err
	}
	seenText, leftText, _ := strings.Cut(kept, " ")
	at := func(s string) time.Time {
		if us, err := strconv.ParseInt(s, 10, 64); err == nil && us > 0 {
			return time.UnixMicro(us)
		}
		return time.Time{} // no visit
	}
	seen, left := at(seenText), at(leftText)
	if !seen.IsZero() && now.Sub(seen) > away {
		left = seen
	}
	if now.Sub(seen) < time.Minute {
		return left, nil
	}
	text := strconv.FormatInt(now.UnixMicro(), 10)
	if !left.IsZero() {
		text += " " + strconv.FormatInt(left.UnixMicro(), 10)
	}
	err = s.App.Preferences.Set(c, app.Preference{Meta: app.Meta{By: c.Principal.Actor()}, Key: visitKey, Value: text})
	if domain.CodeOf(err) == domain.CodeNoSpace {
		err = nil // the same activity is shown again
	}
	return left, err
}

// sinceSection builds the section with activity since the user's last visit.
func (s *section) sinceSection(c *ui.Context) (templ.Component, error) {
	left, err := s.visit(c, c.Site.Now())
	if err != nil || left.IsZero() {
		return nil, err
	}
	p := SinceSection{Left: c.Time(left)}
	stamp := left.UTC().Format(time.RFC3339)
	for _, st := range []struct {
		status domain.RunStatus
		say    func(int) string
	}{{domain.RunCompleted, func(n int) string { return c.N(n, "%s run completed", "%s runs completed") }},
		{domain.RunFailed, func(n int) string { return c.N(n, "%s failed", "%s failed") }},
		{domain.RunCancelled, func(n int) string { return c.N(n, "%s run was cancelled", "%s runs were cancelled") }}} {
		n, _, err := s.Reader.RunsCount(c, domain.RunFilter{Statuses: []domain.RunStatus{st.status}, Since: left}, sinceCap+1)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			continue
		}
		l := kit.Link{Text: st.say(n), Href: link.List("/runs", "status:"+string(st.status)+" since:"+stamp)}
		if st.status == domain.RunFailed {
			l.Class = "fail"
		}
		if n > sinceCap {
			l.Text = c.T("more than %s", st.say(sinceCap))
		}
		p.Since = append(p.Since, l)
	}
	groups, err := s.App.Failures.List(c, c.Principal.Actor(), homeGroups)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if g.First.After(left) {
			p.Since = append(
				p.Since,
				kit.Link{
					Text: c.T("new: %s at %s of %s",
						kit.Escape(g.Code), kit.Escape(g.Node), kit.Escape(g.Plan.Key)),
					Href: link.List("/runs", filter.FailuresToHandle(g.Ref())),
				},
			)
		}
	}
	acts, err := s.App.Audit.List(
		c,
		c.Principal.Actor(),
		domain.AuditFilter{
			Actions: notable,
			Exclude: domain.AuditExclusion{Actors: []string{c.Principal.Name}},
			Since:   left,
			Page:    domain.Page{Limit: sinceActs},
		},
	)
	if err != nil {
		return nil, err
	}
	for _, e := range acts.Items {
		p.Acts = append(p.Acts, event.Row(c, e))
	}
	if acts.Next != "" {
		p.MoreActs = link.List("/audit", "since:"+stamp)
	}
	notes, err := s.App.Runs.RecentNotes(c, c.Principal.Actor(), left, 2*sinceActs)
	if err != nil {
		return nil, err
	}
	for _, n := range notes {
		if n.Actor != c.Principal.Name && len(p.Notes) < sinceActs {
			p.Notes = append(
				p.Notes,
				RunNote{Run: kit.Link{Text: domain.ShortID(n.Run), Href: "/runs/" + n.Run}, Plan: kit.Link{Text: kit.Escape(n.Plan.Key)},
					Author: kit.Escape(n.Actor), Text: kit.Escape(kit.Truncate(n.Text, 500)), At: c.Time(n.At)},
			)
		}
	}
	p.ActsHead = c.N(len(p.Acts), "%s action by others", "%s actions by others")
	return Since(p), nil
}
