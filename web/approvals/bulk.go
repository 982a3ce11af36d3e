package approvals

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/ui"
)

// similar are open approvals of one step of a plan that the reader may answer and
// that ask for no values.
func (s *section) similar(c *ui.Context) (list []domain.Approval, answer string, err error) {
	plan, node := c.Field("plan"), c.Field("node")
	answer = c.Field("answer")
	if plan == "" || node == "" || answer == "" {
		return nil, "", domain.Errorf(domain.CodeInvalid, "say which plan, which step and which answer")
	}
	all, err := s.App.Approvals.List(
		c,
		c.Who.Actor(),
		domain.ApprovalFilter{Plan: plan, Node: node, For: c.Who.Name, Page: domain.Page{Limit: similarMax}},
	)
	if err != nil {
		return nil, "", err
	}
	for _, a := range all.Items {
		if _, wrong := a.AnswerOf(domain.DecideRequest{Answer: answer}); wrong != nil {
			err = wrong
		} else if len(a.Form) == 0 {
			list = append(list, a)
		}
	}
	if len(list) > 0 { // the others are of another version of the plan
		err = nil
	}
	return list, answer, err
}

// bulkApprovals lists each approval that one answer would decide; it is safe to open.
func (s *section) bulkApprovals(c *ui.Context) error { return s.showSimilar(c, http.StatusOK, "", nil) }

func (s *section) showSimilar(c *ui.Context, code int, problem string, refused []string) error {
	list, answer, err := s.similar(c)
	if err != nil {
		return err
	}
	p := ApprovalsBulkPage{
		Plan:    c.Field("plan"),
		Node:    c.Field("node"),
		Answer:  answer,
		Idem:    kit.NewID(),
		Error:   problem,
		Refused: refused,
		Reason:  c.Field("comment"),
	}
	for _, a := range list {
		v, err := s.Cards.Card(c, a)
		if err != nil {
			return err
		}
		p.Items = append(p.Items, v)
		for _, x := range v.Answers {
			if x.ID == answer {
				p.Verb, p.Danger = x.Label, x.Rejects
			}
		}
	}
	p.Heading = c.N(len(list), "%[2]s: %[1]s approval", "%[2]s: %[1]s approvals", p.Verb)
	if len(list) == 0 {
		p.Heading = c.T("Nothing like this waits any more.")
	}
	p.Shell = c.Shell("approvals", p.Heading)
	return c.Render(code, ApprovalsBulk(p))
}

// decideSimilar decides what was previewed, one after the other; what has changed
// since is left and named.
func (s *section) decideSimilar(c *ui.Context) error {
	if err := c.Echo.Request().ParseForm(); err != nil {
		return domain.Errorf(domain.CodeInvalid, "the form cannot be read: %w", err)
	}
	form := c.Echo.Request().PostForm
	answer, comment := form.Get("answer"), strings.TrimSpace(form.Get("comment"))
	items, digests := form["item"], form["digest"]
	if answer == "" || len(items) == 0 || len(items) > similarMax || len(items) != len(digests) {
		return domain.Errorf(domain.CodeInvalid, "say which approvals, at most %d, and which answer", similarMax)
	}
	var refused []string
	for i, id := range items {
		m := c.Meta()
		if m.Key != "" {
			m.Key += ":" + id
		}
		_, err := s.App.Approvals.Decide(
			c,
			app.DecideRequest{
				Meta:          m,
				DecideRequest: domain.DecideRequest{Approval: id, Answer: answer, Comment: comment, Digest: digests[i]},
			},
		)
		switch domain.CodeOf(err) {
		case "":
		case domain.CodeConflict, domain.CodeStale, domain.CodeNotFound, domain.CodeForbidden:
			refused = append(refused, c.Sentence(err))
		default:
			return err
		}
	}
	if len(refused) > 0 {
		err := domain.Errorf(domain.CodeConflict, "%d of %d were not decided", len(refused), len(items))
		return s.showSimilar(c, http.StatusConflict, c.Sentence(err), refused)
	}
	return c.To(link.With("/approvals", url.Values{"show": {"decided"}, "plan": {form.Get("plan")}}))
}
