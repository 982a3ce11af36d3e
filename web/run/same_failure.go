package run

import (
	"net/url"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/failure"
)

// failureLinks adds information about a failure: other runs with the same fingerprint, the change
// before it, the acknowledgment, and bulk actions.
func (b *headPart) failureLinks(w *Why) error {
	run := b.Detail.Run
	ref, failed := run.Failure()
	if !failed {
		return nil
	}
	q := "status:failed " + filter.Failures(ref)
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
		many := b.Number(int64(n))
		if !whole {
			many = b.T("at least %s", many)
		}
		b.similar = kit.Link{Text: b.T("%s runs failed like this", many), Href: "/runs?q=" + url.QueryEscape(q)}
	}
	if err := b.troubles(); err != nil {
		return err
	}
	stands, err := b.App.Failures.Standing(b.Context, b.Principal.Actor(), run)
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
		b.sameFailure = text
		b.similar.Text = b.N(
			int(g.Runs), "%s run failed like this since %s", "%s runs failed like this since %s", b.Time(g.First).Text,
		)
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
		b.since = text
	}
	if !b.Principal.Role.Includes(domain.RoleOperator) {
		return nil
	}
	if g.Runs > 1 { // the head has the actions for a single run
		n := int(g.Runs)
		b.all = []kit.Link{
			{Text: b.N(n, "Resume %s…", "Resume all %s…"), Href: "/bulk/new?" + url.Values{"do": {"resume"}, "q": {q}}.Encode()},
			{Text: b.N(n, "Acknowledge %s…", "Acknowledge all %s…"), Href: "/failures/ack?" + failure.Query(g.Ref()), Dialog: true},
		}
	}
	return nil
}

// acknowledged adds who acknowledged a failure, and the note.
func (b *headPart) acknowledged(w *Why, a domain.FailureAck) {
	text := b.T("%s acknowledged it at %s", kit.Escape(a.Actor), b.Time(a.At).Text)
	if a.Note != "" {
		text += ": “" + kit.Escape(kit.Truncate(a.Note, 500)) + "”"
	}
	w.Items = append(w.Items, text)
	b.sameFailure = text
}
