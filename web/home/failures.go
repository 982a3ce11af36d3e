package home

import (
	"fmt"
	"net/url"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/failure"
	"github.com/kairosd/kairosd/web/ui"
)

// groupRow returns a failure group for the list on home.
func groupRow(c *ui.Context, g domain.FailureGroup) Group {
	q := filter.FailuresToHandle(g.Ref())
	row := Group{
		Code:     kit.Escape(g.Code),
		Node:     kit.Escape(g.Node),
		Plan:     kit.Escape(g.Plan.Key),
		Version:  fmt.Sprintf("v%d", g.Plan.Version),
		Href:     "/runs?q=" + url.QueryEscape(q),
		Runs:     c.Number(g.Runs),
		Count:    c.N(int(g.Runs), "%s run", "%s runs"),
		First:    c.Time(g.First),
		Last:     c.Time(g.Last),
		Headline: c.Message(g.Message),
		Newest:   kit.Link{Text: domain.ShortID(g.Newest), Href: "/runs/" + g.Newest},
	}
	if c.Principal.Role.Includes(domain.RoleOperator) {
		row.Resume = "/bulk/new?" + url.Values{"do": {"resume"}, "q": {q}}.Encode()
		row.Ack = "/failures/ack?" + failure.Query(g.Ref())
	}
	if a := g.Ack; a != nil {
		row.Acked, row.Note = c.T("It failed again after %s acknowledged it on %s.", kit.Escape(a.Actor), c.Time(a.At).Text),
			kit.Escape(a.Note)
	}
	if g.Runs == 1 {
		row.One, row.Href = true, row.Newest.Href
		if row.Resume != "" {
			row.Resume = row.Newest.Href + "/resume"
		}
	}
	return row
}

// ackOf returns an acknowledged failure for the list on home.
func ackOf(c *ui.Context, a domain.FailureAck) AckRow {
	row := AckRow{
		What:  c.T("%s at %s", kit.Escape(a.Code), kit.Escape(a.Node)),
		Plan:  kit.Escape(a.PlanKey),
		Actor: kit.Escape(a.Actor),
		Note:  kit.Escape(a.Note),
		At:    c.Time(a.At),
		Runs: c.N(
			int(a.Runs),
			"%s run",
			"%s runs",
		),
		Href: link.List("/runs", "is:acknowledged "+filter.Failures(a.FailureRef)),
		Text: kit.Truncate(c.Message(a.Message), 200),
	}
	if c.Principal.Role.Includes(domain.RoleOperator) {
		row.Back = "/failures/unack?" + failure.Query(a.FailureRef)
	}
	return row
}
