package home

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/failure"
	"github.com/kairosd/kairosd/web/ui"
)

// groups serves the page of failure groups.
func (s *section) groups(c *ui.Context) error {
	p := FailuresPage{Shell: c.Shell("home", "Failures")}
	p.Live = true
	var err error
	if p.Groups, err = s.groupList(c); err != nil {
		return err
	}
	if len(p.Groups.Rows) > 1 && c.Principal.Role.Includes(domain.RoleOperator) {
		p.AckAll = "/failures/ack?all=1"
	}
	return c.Render(http.StatusOK, Failures(p))
}

// groupList lists failure groups or acknowledged failures, filtered by the plan and the code in the
// query.
func (s *section) groupList(c *ui.Context) (GroupList, error) {
	v := GroupList{Address: c.Echo.Request().URL.RequestURI()}
	groups, err := s.App.Failures.List(c, c.Principal.Actor(), failure.Groups)
	if err != nil {
		return v, err
	}
	acks, err := s.acknowledgments(c, groups)
	if err != nil {
		return v, err
	}
	acked := c.Query("show") == "acknowledged"
	v.Chips = []kit.Link{
		{Text: c.T("Open"), Count: c.Number(int64(len(groups))), Href: "/failures", Current: !acked},
		{Text: c.T("Acknowledged"), Count: c.Number(int64(len(acks))), Href: "/failures?show=acknowledged", Current: acked},
	}
	if acked {
		for _, a := range acks {
			v.Acked = append(v.Acked, ackOf(c, a))
		}
		return v, nil
	}
	v.choose(c, groups)
	for i, g := range groups {
		if plan, code := c.Query("plan"), c.Query("code"); plan != "" && plan != g.Plan.Key || code != "" && code != g.Code {
			continue
		}
		row, err := s.group(c, g, i < homeGroups)
		if err != nil {
			return v, err
		}
		row.Seen = true
		v.Rows = append(v.Rows, row)
	}
	return v, nil
}

// group returns a failure group with its failures over time. For the first groups of a list
// (early), it also searches for the change that preceded the failures.
func (s *section) group(c *ui.Context, g domain.FailureGroup, early bool) (row Group, err error) {
	row = groupRow(c, g)
	if row.Spark, err = s.failedOver(c, g); err != nil || !early {
		return row, err
	}
	since, err := failure.Ports{App: s.App, Reader: s.Reader}.NewSince(c, g)
	row.New, row.Good, row.Compare = since.New, since.Good, since.Compare
	return row, err
}

// choose fills in links that filter by plan and code. The link of an active filter removes it.
func (v *GroupList) choose(c *ui.Context, groups []domain.FailureGroup) {
	add := func(key string, of func(domain.FailureGroup) string) {
		var names []string
		for _, g := range groups {
			names = append(names, of(g))
		}
		slices.Sort(names)
		if names = slices.Compact(names); len(names) < 2 && c.Query(key) == "" {
			return
		}
		keep := url.Values{}
		for _, k := range []string{"plan", "code"} {
			if x := c.Query(k); x != "" {
				keep.Set(k, x)
			}
		}
		for _, n := range names {
			l := kit.Link{Text: kit.Escape(n), Href: link.With("/failures", keep, key, n), Current: c.Query(key) == n}
			if l.Current {
				l.Href = link.With("/failures", keep, key, "")
			}
			v.Terms = append(v.Terms, l)
		}
	}
	add("plan", func(g domain.FailureGroup) string { return g.Plan.Key })
	add("code", func(g domain.FailureGroup) string { return g.Code })
}
