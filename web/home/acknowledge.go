package home

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/failure"
	"github.com/kairosd/kairosd/web/ui"
)

// ackForm serves the form that acknowledges a failure group, or undoes that.
func (s *section) ackForm(c *ui.Context) error { return s.showAck(c, http.StatusOK, "") }

func (s *section) showAck(c *ui.Context, code int, problem string) error {
	if c.Field("all") != "" {
		p, err := s.ackAllForm(c)
		if err != nil {
			return err
		}
		p.Idem, p.Error, p.Post = kit.NewID(), problem, "/failures/ack"
		p.Text = c.T(
			"These runs stay failed but leave the home page and its counts. If one of them or a similar run fails again, " +
				"the failure returns.",
		)
		p.Shell = c.Shell("home", p.Heading)
		return c.Render(code, failure.Acknowledge(p))
	}
	ref := failureRef(c)
	if ref.PlanKey == "" {
		return domain.Errorf(domain.CodeNotFound, "this address names no failure")
	}
	p := failure.AckPage{Plan: ref.PlanKey, Node: ref.Node, Code: ref.Code, Fingerprint: ref.Fingerprint, Idem: kit.NewID(), Error: problem}
	groups, err := s.App.Failures.List(c, c.Principal.Actor(), failure.Groups)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if g.Ref() == ref {
			p.Headline = kit.Truncate(c.Message(g.Message), 500)
		}
	}
	p.Heading = c.T("Acknowledge %s at %s of %s",
		kit.Escape(ref.Code), kit.Escape(ref.Node), kit.Escape(ref.PlanKey))
	p.Text, p.Button, p.Post = c.T(
		"These runs stay failed but leave the home page and its counts. If one of them or a similar run fails again, the failure returns.",
	),
		c.T(
			"Acknowledge the failure",
		), "/failures/ack"
	if strings.HasSuffix(c.Echo.Path(), "/unack") {
		p.Back = true
		p.Heading, p.Text, p.Button, p.Post = c.T(
			"Withdraw: %s at %s of %s",
			kit.Escape(ref.Code),
			kit.Escape(ref.Node),
			kit.Escape(ref.PlanKey),
		),
			c.T(
				"The runs that are still failed need attention again.",
			), c.T(
				"Withdraw the acknowledgment",
			), "/failures/unack"
	}
	p.Note = c.Field("note")
	p.ResumeLater(c)
	p.Shell = c.Shell("home", p.Heading)
	return c.Render(code, failure.Acknowledge(p))
}

// ack handles the form that acknowledges a failure group, or undoes that.
func (s *section) ack(c *ui.Context) error {
	ref := failureRef(c)
	note := strings.TrimSpace(c.Field("note"))
	if len(note) > 2000 {
		return s.showAck(c, http.StatusUnprocessableEntity, c.T("A note has at most 2,000 characters."))
	}
	err := s.acknowledge(c, ref, note)
	switch domain.CodeOf(err) {
	case "":
		return c.RedirectTo("/")
	case domain.CodeConflict:
		return s.showAck(c, http.StatusConflict, c.Sentence(err))
	case domain.CodeInvalid:
		return s.showAck(c, http.StatusUnprocessableEntity, c.Sentence(err))
	}
	return err
}

func (s *section) acknowledge(c *ui.Context, ref domain.FailureRef, note string) error {
	switch {
	case strings.HasSuffix(c.Echo.Path(), "/unack"):
		_, err := s.App.Failures.Unacknowledge(c, app.FailureChange{Meta: c.Meta(), FailureRef: ref})
		return err
	case c.Field("all") != "":
		return s.ackChosen(c, c.Echo.Request().PostForm["group"], note)
	}
	at, err := failure.ResumeAt(c)
	if err == nil {
		_, err = s.App.Failures.Acknowledge(c, app.FailureChange{Meta: c.Meta(), FailureRef: ref, Note: note, ResumeAt: at})
	}
	return err
}

// failureRef reads the failure group from the form or the query.
func failureRef(c *ui.Context) domain.FailureRef {
	return domain.FailureRef{PlanKey: c.Field("plan"), Node: c.Field("node"), Code: c.Field("code"), Fingerprint: c.Field("fingerprint")}
}

// ackAllForm returns the form that acknowledges with one note all failure groups on home.
func (s *section) ackAllForm(c *ui.Context) (failure.AckPage, error) {
	groups, err := s.App.Failures.List(c, c.Principal.Actor(), homeGroups)
	if err != nil {
		return failure.AckPage{}, err
	}
	var p failure.AckPage
	for _, g := range groups {
		p.Groups = append(
			p.Groups,
			failure.AckGroup{
				Ref: failure.Query(g.Ref()),
				Text: c.T(
					"%s at %s of %s",
					kit.Escape(g.Code),
					kit.Escape(g.Node),
					kit.Escape(g.Plan.Key),
				) + ", " + c.N(
					int(g.Runs),
					"%s run",
					"%s runs",
				),
				Detail: kit.Truncate(c.Message(g.Message), 200),
			},
		)
	}
	if len(p.Groups) == 0 {
		return p, domain.Errorf(domain.CodeConflict, "no failure needs attention").
			Suggest("another user acknowledged them, or the runs were resumed")
	}
	p.Heading = c.N(len(p.Groups), "Acknowledge %s failure", "Acknowledge %s failures")
	p.Button = p.Heading
	return p, nil
}

// ackChosen acknowledges the failure groups in a form. A group that no longer exists does not
// prevent the others.
func (s *section) ackChosen(c *ui.Context, refs []string, note string) error {
	if len(refs) > homeGroups {
		return domain.Errorf(domain.CodeInvalid, "one form acknowledges at most %d failures", homeGroups)
	}
	var done int
	var last error
	for _, ref := range refs {
		v, err := url.ParseQuery(ref)
		if err != nil {
			return domain.Errorf(domain.CodeInvalid, "the form names no failure: %w", err)
		}
		req := app.FailureChange{
			Meta: c.Meta(),
			FailureRef: domain.FailureRef{
				PlanKey:     v.Get("plan"),
				Node:        v.Get("node"),
				Code:        v.Get("code"),
				Fingerprint: v.Get("fingerprint"),
			},
			Note: note,
		}
		if req.Key != "" {
			req.Key += " " + ref
		}
		_, err = s.App.Failures.Acknowledge(c, req)
		switch domain.CodeOf(err) {
		case "":
			done++
		case domain.CodeConflict, domain.CodeNotFound:
			last = err
		default:
			return err
		}
	}
	if done == 0 && last != nil {
		return last
	}
	return nil
}
