package run

import (
	"net/url"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/failure"
)

// This file says of a failed run that it is not alone, and what changed before it.

// failureLinks are what to look at beside a failure, and what can be done about all
// that are fingerprint: the same one in other runs, what changed, the last run that went
// well.
func (b *headPart) failureLinks(w *Why) error {
	run := b.d.Run
	ref, failed := run.Failure()
	if !failed {
		return nil
	}
	q := "status:failed " + filter.Failures(ref)
	link := func(text, href string) { w.Links = append(w.Links, kit.Link{Text: text, Href: href}) }
	n, whole, err := b.Reader.RunsCount(
		b.Context,
		domain.RunFilter{
			Statuses:    []domain.RunStatus{domain.RunFailed},
			PlanKey:     run.PlanKey,
			Node:        run.Error.Node,
			ErrorCode:   run.Error.Code,
			Fingerprint: run.Fingerprint,
		},
		sameFailureCap,
	)
	if err != nil {
		return err
	}
	if n > 1 {
		text := b.N(n, "Same failure: %s run", "Same failure: %s runs")
		if !whole {
			text = b.N(n, "Same failure: at least %s run", "Same failure: at least %s runs")
		}
		link(text, "/runs?q="+url.QueryEscape(q))
	}
	good, err := b.lastGood(run)
	if err != nil {
		return err
	}
	if good.ID != "" {
		link(b.T("Compare with the last success"), "/runs/compare?"+url.Values{"a": {run.ID}, "b": {good.ID}}.Encode())
	}
	if err := b.troubles(w); err != nil {
		return err
	}
	stands, err := b.App.Failures.Standing(b.Context, b.Who.Actor(), run)
	if err != nil {
		return err
	}
	if stands.Acknowledged != nil {
		b.acknowledged(w, *stands.Acknowledged)
	}
	if stands.FailureGroup == nil {
		return nil
	}
	g := *stands.FailureGroup
	if g.Runs > 1 {
		text := b.N(
			int(g.Runs),
			"The same failure needs attention in %s run: first at %s, last at %s.",
			"The same failure needs attention in %s runs: first at %s, last at %s.",
			b.Time(g.First).Text,
			b.Time(g.Last).Text,
		)
		w.Items = append(w.Items, text)
		b.sameFailure = text
	}
	row, err := failure.Ports{App: b.App, Reader: b.Reader}.NewSince(b.Context, g)
	if err != nil {
		return err
	}
	if row.New != "" {
		text := row.New
		if row.Good.Text != "" {
			text += "; " + row.Good.Text
		}
		w.Items = append(w.Items, text)
		b.since = text
		w.Links = append(w.Links, row.Compare)
	}
	if !b.Who.Role.Includes(domain.RoleOperator) {
		return nil
	}
	if g.Runs > 1 {
		link(b.N(int(g.Runs), "Resume %s…", "Resume all %s…"), "/bulk/new?"+url.Values{"do": {"resume"}, "q": {q}}.Encode())
	}
	if g.Runs > 1 { // the run by itself is acknowledged in its head
		w.Links = append(
			w.Links,
			kit.Link{
				Text:   b.N(int(g.Runs), "Acknowledge %s…", "Acknowledge all %s…"),
				Href:   "/failures/ack?" + failure.Query(g.Ref()),
				Dialog: true,
			},
		)
	}
	return nil
}

// acknowledged shows who took note of a failure, and what they said.
func (b *headPart) acknowledged(w *Why, a domain.FailureAck) {
	text := b.T("%s took note of it at %s", kit.Visible(a.Actor), b.Time(a.At).Text)
	if a.Note != "" {
		text += ": “" + kit.Visible(kit.Cut(a.Note, 500)) + "”"
	}
	w.Items = append(w.Items, text)
	b.sameFailure = text
}
