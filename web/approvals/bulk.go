package approvals

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/approval"
	"github.com/kairosd/kairosd/web/ui"
)

// similar returns the pending approvals of a step that the user may decide and that require no
// values, and the answer in the form.
func (s *section) similar(c *ui.Context) (list []domain.Approval, answer string, err error) {
	plan, node := c.Field("plan"), c.Field("node")
	answer = c.Field("answer")
	if plan == "" || node == "" || answer == "" {
		return nil, "", domain.Errorf(domain.CodeInvalid, "select a plan, a step, and an answer")
	}
	all, err := s.App.Approvals.List(
		c,
		c.Principal.Actor(),
		domain.ApprovalFilter{Plan: plan, Node: node, For: c.Principal.Name, Page: domain.Page{Limit: approval.MaxGroup}},
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
	if len(list) > 0 { // ignore approvals of other versions of the plan
		err = nil
	}
	return list, answer, err
}

// bulkApprovals serves the preview of an answer to several approvals.
func (s *section) bulkApprovals(c *ui.Context) error {
	return s.showSimilar(c, http.StatusOK, "", nil)
}

// showSimilar renders the approvals that one answer would decide, and the outcomes of those already
// decided.
func (s *section) showSimilar(c *ui.Context, code int, problem string, outcomes []approval.Decided) error {
	list, answer, err := s.similar(c)
	if err != nil {
		return err
	}
	p := ApprovalsBulkPage{
		Plan:     c.Field("plan"),
		Node:     c.Field("node"),
		Answer:   answer,
		Idem:     kit.NewID(),
		Error:    problem,
		Outcomes: outcomes,
		Reason:   c.Field("comment"),
	}
	for _, a := range list {
		v, err := s.Cards.Card(c, a)
		if err != nil {
			return err
		}
		r := s.Cards.Request(c, []domain.Approval{a})
		if err := s.Cards.OneClick(c, &r, a, nil); err != nil {
			return err
		}
		v.Facts = append(v.Facts, r.Facts...)
		p.Items = append(p.Items, v)
		for _, x := range v.Answers {
			if x.ID == answer {
				p.Verb, p.Danger = x.Label, x.Rejects
			}
		}
		if v.Label != "" && !slices.Contains(p.Risks, v.Label) {
			p.Risks = append(p.Risks, v.Label)
		}
	}
	if p.Danger {
		p.Risks = nil // rejections require no confirmation
	}
	p.Heading = c.N(len(list), "%[2]s: %[1]s approval", "%[2]s: %[1]s approvals", p.Verb)
	if len(list) == 0 {
		p.Heading = c.T("No similar request is waiting.")
	}
	p.Shell = c.Shell("approvals", p.Heading)
	return c.Render(code, ApprovalsBulk(p))
}

// decideSimilar handles the form. It decides the previewed approvals one by one. It skips and
// reports those that have changed since.
func (s *section) decideSimilar(c *ui.Context) error {
	if err := c.Echo.Request().ParseForm(); err != nil {
		return domain.Errorf(domain.CodeInvalid, "the form cannot be read: %w", err)
	}
	form := c.Echo.Request().PostForm
	requests, err := readSimilar(c, form)
	if err != nil {
		return err
	}
	if form.Get("confirm") == "" {
		problem, err := s.risky(c, requests)
		if err != nil {
			return err
		}
		if problem != "" {
			return s.showSimilar(c, http.StatusUnprocessableEntity, problem, nil)
		}
	}
	return s.decideAll(c, form["item"], requests)
}

// decideAll makes the decisions, and shows those that were refused.
func (s *section) decideAll(c *ui.Context, items []string, requests []app.DecideRequest) error {
	outcomes, refused, err := s.decideEach(c, requests)
	if err != nil {
		return err
	}
	if refused > 0 {
		err := domain.Errorf(domain.CodeConflict, "%d of %d were not decided", refused, len(requests))
		return s.showSimilar(c, http.StatusConflict, c.Sentence(err), outcomes)
	}
	return s.next(c, url.Values{}, items)
}

// readSimilar reads one decision per selected approval from the form.
func readSimilar(c *ui.Context, form url.Values) ([]app.DecideRequest, error) {
	answer, comment := form.Get("answer"), strings.TrimSpace(form.Get("comment"))
	items, digests := form["item"], form["digest"]
	if answer == "" || len(items) == 0 || len(items) > approval.MaxGroup || len(items) != len(digests) {
		return nil, domain.Errorf(domain.CodeInvalid, "select approvals, at most %d, and an answer", approval.MaxGroup)
	}
	requests := make([]app.DecideRequest, len(items))
	for i, id := range items {
		requests[i] = app.DecideRequest{Meta: metaOf(c, id), DecideRequest: domain.DecideRequest{
			Approval: id, Answer: answer, Comment: comment, Digest: digests[i],
		}}
	}
	return requests, nil
}

// risky returns the message that requests a confirmation of the risk. It is empty if none of the
// approvals requires one.
func (s *section) risky(c *ui.Context, requests []app.DecideRequest) (string, error) {
	for _, r := range requests {
		a, err := s.App.Approvals.Get(c, c.Principal.Actor(), r.Approval)
		if domain.CodeOf(err) == domain.CodeNotFound {
			continue // the decision reports the error
		}
		if err != nil {
			return "", err
		}
		given, err := a.AnswerOf(r.DecideRequest)
		if err == nil && !given.Rejects() && needsConfirmation(a, r.DecideRequest) {
			return c.T("Confirm that you have checked the risk: %s", kit.Escape(kit.Truncate(a.Label, 80))), nil
		}
	}
	return "", nil
}

// decideEach decides approvals one by one, and returns the outcome of each.
func (s *section) decideEach(c *ui.Context, requests []app.DecideRequest) (out []approval.Decided, refused int, err error) {
	for _, r := range requests {
		a, err := s.App.Approvals.Decide(c, r)
		problem := ""
		switch domain.CodeOf(err) {
		case "":
		case domain.CodeConflict, domain.CodeStale, domain.CodeNotFound, domain.CodeForbidden:
			refused++
			problem = c.Sentence(err)
			a, err = s.App.Approvals.Get(c, c.Principal.Actor(), r.Approval)
			if domain.CodeOf(err) == domain.CodeNotFound {
				out = append(out, approval.Decided{
					Outcome: approval.NotDecided, Request: kit.Link{Text: kit.Escape(r.Approval)}, Problem: problem,
				})
				continue
			}
			if err != nil {
				return nil, 0, err
			}
		default:
			return nil, 0, err
		}
		d := approval.DecidedOf(c, a)
		if problem != "" {
			d.Outcome = approval.NotDecided
		}
		d.Problem = problem
		out = append(out, d)
	}
	return out, refused, nil
}
